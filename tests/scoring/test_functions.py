"""Plain functions as metrics: from a module of the current folder, from Python, one pair at a time or in lists."""

import functools
import importlib
import json
import sqlite3
import sys
from collections import Counter

import pytest

import metaeval
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.core.files import sha256_file
from metaeval.runs.metrics import load_metric
from metaeval.runs.score import score_metrics
from metaeval.scoring.contract import Status
from metaeval.scoring.functions import files_hash
from metaeval.scoring.score_store import ScoreStore, pair_key

MODULE = """
import metaeval

CUT = 3


def contain(source, statement):
    '''Share of the statement's trigrams in the source.'''
    grams = {statement[place : place + CUT] for place in range(len(statement) - CUT + 1)}
    return sum(gram in source for gram in grams) / len(grams) if grams else None


@metaeval.metric(direction=-1, low=0)
def distance(sources, statements):
    return [abs(len(source) - len(statement)) for source, statement in zip(sources, statements)]
"""
NAMES = ("Metric", "MetricCard", "PairScore")
TEXTS = [
    (f"The {word} was {place} of the town.", f"A {word} is {place}.")
    for word in ("dam", "bridge")
    for place in ("east", "in a wood")
]


@pytest.fixture(scope="module")
def quick(ten_documents):
    """Settings of a quick run."""
    protocol = {"interval": {"resamples": 0}, "controls": False, "protocols": ["classification"]}
    return {**protocol, "dataset": "jsonl", "data": ten_documents, "chunk": {"size": 20}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module of two functions."""
    (tmp_path / "trigram.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def contains(source, statement):
    return float(statement in source)


def test_a_function_of_a_module_is_named_as_a_class_is(folder):
    metric = load_metric("trigram:contain", RunConfig())
    # "ab" has no trigram; "abc" and "bcd" of "abcd" are two, of which "abc" stands in "xabc".
    answers = metric.score(["xabc", "a", "a"], ["abcd", "ab", " ."])
    assert [answer.score for answer in answers] == [0.5, None, None]
    assert [answer.status for answer in answers[1:]] == [Status.NOTHING_TO_SCORE, Status.EMPTY]
    assert (metric.card.name, metric.card.summary) == ("contain", "Share of the statement's trigrams in the source.")
    assert metric.origin.startswith("trigram:contain@sha256:")


def test_direction_and_range_are_those_of_the_decorator_and_lists_are_taken_by_the_parameters(folder):
    metric = load_metric("trigram:distance", RunConfig())
    assert (metric.card.direction, metric.card.low, metric.card.high) == (-1, 0, None)
    answers = metric.score(["abc", "", "a"], ["a", "a", "a"])
    assert [answer.score for answer in answers] == [2, None, 0]


def test_python_gives_functions_where_names_stand(tmp_path, quick):
    calls = []

    def shares(source, statement):
        calls.append((source, statement))
        words = set(statement.split())
        return len(words & set(source.split())) / len(words)

    results = metaeval.run(metrics=[shares, contains, "overlap"], results=tmp_path, **quick)
    assert {row.metric for row in results[0].rows} >= {"shares", "overlap"}
    assert any(row.metric.endswith("contains") for row in results[0].rows)
    assert len(calls) == len(set(calls))
    del calls[:]
    metaeval.run(metrics=[shares], results=tmp_path, **quick)
    assert len(calls) == len(set(calls)) > 50, "scored anew"
    assert {row["name"] for row in stored(tmp_path)} == {"overlap"}
    assert metaeval.score(contains, ["a b"], ["b"])[0].score == 1.0
    assert [repr(metaeval.score(contains, ["a b"] * n, ["b"] * n))[0] for n in (5, 6)] == ["[", "<"]  # 6 are counted


EDITS = {
    "a helper behind a cache": """
from functools import lru_cache
@lru_cache
def length(text):
    return ({k} - 4) * len(text)
def own(source, statement):
    return length(statement)
""",
    "an attribute of a base class": """
class Base(Metric):
    weight = {k} - 4
class own(Base):
    card = MetricCard(name="own", family="own", summary="length", paper="", licence="own")
    def __init__(self, options=None):
        super(own, self).__init__(options)
    def score(self, sources, statements):
        return [PairScore(self.weight * len(statement)) for statement in statements]
""",
}
"""Cells of a notebook, in which a number is changed."""


def cell(code, k):
    names = {"__name__": "__main__", **{name: getattr(metaeval, name) for name in NAMES}}
    exec(code.format(k=k), names)
    return names["own"]


def value(metric, folder, **settings):
    """The sum of a metric's scores, with the store in this folder."""
    name = metric if isinstance(metric, str) else registry.name_of("metric", metric)
    with ScoreStore(folder / "scores.sqlite") as store:
        ((_, _, found),) = score_metrics(TEXTS, [name], RunConfig(**settings), store)
    return sum(answer.score for answer in found.answers)


def stored(folder):
    """The identities in the score store of a folder of results."""
    with sqlite3.connect(folder / "scores.sqlite") as store:
        return [json.loads(text) for (text,) in store.execute("SELECT identity FROM metrics")]


@pytest.mark.parametrize("code", EDITS.values(), ids=EDITS)
def test_code_of_a_session_is_scored_anew_after_any_edit(tmp_path, code):
    before, after = value(cell(code, 2), tmp_path), value(cell(code, 6), tmp_path, executor={"workers": 2})
    assert before != after == value(cell(code, 6), tmp_path / "new")
    assert stored(tmp_path) == []


def test_a_module_that_a_session_changed_is_scored_anew(folder):
    trigram = importlib.import_module("trigram")
    for metric in (trigram.contain, "trigram:contain"):
        trigram.CUT = 3
        before = value(metric, folder)
        trigram.CUT = 9
        assert value(metric, folder) != before
    assert stored(folder) == []


def test_an_identity_is_the_key_of_stored_scores(tmp_path):
    def made(sign, **fields):
        @metaeval.metric(**fields)
        def own(source, statement):
            return sign * len(statement)

        return own

    first = value(made(1, identity="lengths 1"), tmp_path)
    assert value(made(-1, identity="lengths 1"), tmp_path) == first, "the user said that nothing changed"
    other = value(made(-1, identity="lengths 2"), tmp_path)
    assert other == -first
    assert value(made(-1, identity="lengths 1", low=-1000), tmp_path) == other, "another range"
    assert [row["origin"] for row in stored(tmp_path)] == [
        "identity:lengths 1",
        "identity:lengths 2",
        "identity:lengths 1 (-1000 to None)",
    ]

    @functools.wraps(kept := made(1, identity="lengths 1"))
    def own(source, statement):
        return -kept(source, statement)

    assert value(own, tmp_path) == other, "a wrapper has other code"
    assert len(stored(tmp_path)) == 3


def test_an_identity_of_a_class_is_not_that_of_its_subclass(tmp_path):
    base = metaeval.metric(identity="base 1")(cell(EDITS["an attribute of a base class"], 2))
    assert value(base, tmp_path) == -value(type("own", (base,), {"weight": 2}), tmp_path)
    assert [row["origin"] for row in stored(tmp_path)] == ["identity:base 1"]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("imported", "place"),
    [
        ("import deep", "."),
        ("from deep import K", "."),
        ("from own.deep import *", "own"),
        ("from . import deep", "own"),
        ("from .deep import K", "own"),
        ("__import__('deep')", "."),
    ],
)
def test_the_hash_of_a_module_takes_in_what_it_imports(folder, imported, place, inside):
    (folder / "own").mkdir()
    body = f"def f(source, statement):\n    {imported}\n" if inside and "*" not in imported else f"{imported}\n"
    leaf = "import leaf" if place == "." else "from own import leaf"
    for name, code in {"deep": f"import json\n{leaf}\nK = 1", "leaf": "K = 1", "top": body, "unused": ""}.items():
        (folder / place / f"{name}.py").write_text(code)
    module, loaded = "top" if place == "." else "own.top", {*sys.modules}
    importlib.import_module(module)
    before = files_hash(module)
    (folder / place / "unused.py").write_text("K = 2")
    assert files_hash(module) == before
    (folder / place / "leaf.py").write_text("K = 2")
    assert files_hash(module) != before
    hashes = []
    for number in (1, 2):  # of two files
        (folder / place / "deep.py").write_text(f"K = {number}")
        hashes.append(files_hash(module))
    assert hashes[0] != hashes[1]
    importlib.import_module("trigram")
    assert files_hash("trigram") == sha256_file(folder / "trigram.py")[:12], "as earlier versions stored it"
    for name in {*sys.modules} - loaded:
        del sys.modules[name]


def test_two_metrics_of_one_name_are_refused(folder, quick):
    def own(source, statement):
        return 1.0

    first, published = own, importlib.import_module("trigram").contain

    def own(source, statement):
        return 2.0

    places = [f"line {each.__code__.co_firstlineno} of {__file__}" for each in (first, own)]
    calls = (
        lambda: metaeval.run(metrics=[first, "overlap", own], results=folder, **quick),
        lambda: metaeval.compare(first, own, results=folder, **quick),
        lambda: metaeval.cite.alce([{"question": "q", "answer": "a [1].", "docs": []}], nli=[first, own]),
    )
    for call in calls:
        with pytest.raises(UserError, match="Two metrics have the name 'own'") as refused:
            call()
        assert all(place in str(refused.value) for place in places)
    with pytest.raises(UserError, match='"1" appears twice'):
        metaeval.load_ratings(data=[{"id": f"{n}", "gold": n % 3, 1: n, "1": 0} for n in range(9)])
    metaeval.run(metrics=[published, published], results=folder, **quick)


def named_as_a_registered_one():
    def overlap(source, statement):
        return 1.0

    return overlap


def alone(source):
    return 1.0


def few(sources, statements):
    return [1.0]


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda source, statement: 1.0, "<function <lambda>"),
        (functools.partial(contains, "a"), "functools.partial"),
        ("text".count, "has none"),
        (alone, "too many positional arguments"),
        (few, "1 results"),
        (named_as_a_registered_one(), "'overlap'"),
    ],
)
def test_what_is_not_a_metric_is_refused(function, named, tmp_path, quick):
    with pytest.raises(UserError, match=named):
        metaeval.run(metrics=[function], results=tmp_path, **quick)


@pytest.mark.parametrize(("workers", "failing"), [(0, 1), (0, 19), (0, 20), (2, 20)])
def test_what_a_function_raises_is_a_failed_pair_and_twenty_in_a_row_end_the_run(folder, caplog, workers, failing):
    """In one block: the ten longest statements are scored first, and what they are scored is kept in every case."""
    texts = [("a", "w" * (50 - n)) for n in range(40)]
    (folder / "breaks.py").write_text(
        f"def own(source, statement):\n    return 1 / (len(statement) not in {[*range(41 - failing, 41)]})\n"
    )
    config = RunConfig(metrics=("breaks:own",), executor={"workers": workers})
    with ScoreStore(folder / "scores.sqlite") as store:
        if failing == 20 and not workers:  # a worker knows of no other's calls
            with pytest.raises(UserError, match="20 times in a row"):
                list(score_metrics(texts, config.metrics, config, store))
            assert "All of what own scored before" in caplog.text
        else:
            ((_, _, found),) = score_metrics(texts, config.metrics, config, store)
            assert Counter(answer.status for answer in found.answers) == {
                Status.OK: 40 - failing,
                Status.FAILED: failing,
            }
        assert "ZeroDivisionError: division by zero (breaks.py, line 2)" in caplog.text
        (identity,) = stored(folder)
        kept = store.find(identity, [pair_key(*text) for text in texts])
    assert len(kept) == (40 - failing if workers or failing < 20 else 10)
    assert {answer.status for answer in kept.values()} == {Status.OK}


def test_a_gate_names_only_a_function_whose_version_it_can_tell(tmp_path):
    items = [{"id": f"{n}", "statement": f"s{n}", "source": f"t{n}", "label": n % 2} for n in range(40)]
    with pytest.raises(UserError, match=":contains declares no version"):
        metaeval.fit_gate(items, metrics=[contains], results=tmp_path)
