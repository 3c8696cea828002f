"""Plain functions as metrics: from a module of the current folder, from Python, one pair at a time or in lists."""

import sys

import pytest

import metaeval
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.runs.loaded_metrics import load_metric
from metaeval.scoring.contract import Status

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
SETTINGS = {"interval": {"resamples": 0}, "controls": False, "protocols": ["classification"]}


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


def test_python_gives_functions_where_names_stand(tmp_path):
    calls = []

    def shares(source, statement):
        calls.append(statement)
        words = set(statement.split())
        return len(words & set(source.split())) / len(words)

    results = metaeval.run(metrics=[shares, contains, "overlap"], results=tmp_path, **SETTINGS)
    assert {row.metric for row in results[0].rows} >= {"shares", "overlap"}
    assert any(row.metric.endswith("contains") for row in results[0].rows)
    assert calls
    del calls[:]
    metaeval.run(metrics=[shares], results=tmp_path, **SETTINGS)
    assert not calls, "its scores are stored"
    assert metaeval.score(contains, ["a b"], ["b"])[0].score == 1.0


def test_another_body_is_another_metric(tmp_path):
    def made(factor):
        def scaled(source, statement):
            return factor * len(statement)

        return scaled

    hashes = [source_hash(metric_of_function(made(factor))) for factor in (1, 1, -1)]
    assert hashes[0] == hashes[1] != hashes[2]
    values = []
    for factor in (1, -1):
        result = metaeval.run(metrics=[made(factor)], results=tmp_path, **SETTINGS)[0]
        values += [row.values["overall"].value for row in result.rows if row.metric == "scaled"]
    assert sum(values) == pytest.approx(1)
    assert values[0] != values[1]


def test_a_class_that_loads_its_model_at_once_is_built_once_for_a_run(tmp_path):
    built = []

    class Loaded(metaeval.Metric):
        card = metaeval.MetricCard(name="loaded", family="own", summary="length", paper="", licence="own")

        def __init__(self, options=None):
            super().__init__(options)
            built.append(self)

        def score(self, sources, statements):
            return [metaeval.PairScore(float(len(statement))) for statement in statements]

    metaeval.run(metrics=[Loaded], results=tmp_path, **SETTINGS)
    assert len(built) == 1


def of_prompt(factor):
    """A metric class as a prompt or a notebook defines it, in no file."""
    code = f"""
class Scaled(Metric):
    card = MetricCard(name="scaled", family="own", summary="length", paper="", licence="own")

    def score(self, sources, statements):
        return [PairScore({factor} * float(len(statement))) for statement in statements]
"""
    names = {
        "__name__": "__main__",
        **{name: getattr(metaeval, name) for name in ("Metric", "MetricCard", "PairScore")},
    }
    exec(code, names)
    return names["Scaled"]


def test_code_without_a_file_has_the_same_hash_each_time():
    assert source_hash(of_prompt(1)) == source_hash(of_prompt(1)) != source_hash(of_prompt(2))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_class_of_a_prompt_that_is_changed_is_scored_again(tmp_path, workers):
    values = []
    for factor in (1, -1):
        settings = {**SETTINGS, "executor": {"workers": workers}}
        result = metaeval.run(metrics=[of_prompt(factor)], results=tmp_path, **settings)[0]
        values += [row.values["overall"].value for row in result.rows if row.metric == "Scaled"]
    assert len(values) == 2
    assert sum(values) == pytest.approx(1)
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda source, statement: 1.0, "A metric needs a name, and <lambda> is none"),
        (lambda source: 1.0, "A metric needs a name"),
    ],
)
def test_a_function_without_a_name_is_refused(function, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        metaeval.run(metrics=[function], results=tmp_path)


def test_what_is_not_a_metric_is_told_what_to_do(tmp_path):
    def alone(source):
        return 1.0

    def word(source, statement):
        return "high"

    def few(sources, statements):
        return [1.0]

    def overlap(source, statement):
        return 1.0

    for function, sentence in (
        (alone, "should take two texts"),
        (word, r'returned "high": return a number, or None'),
        (few, "returned 1 scores for"),
        (overlap, "A registered metric has the name 'overlap'"),
    ):
        with pytest.raises(UserError, match=sentence):
            metaeval.run(metrics=[function], results=tmp_path, **SETTINGS)


@pytest.mark.parametrize(
    ("fields", "sentence"), [({"direction": 0}, "direction is 0"), ({"low": 1, "high": 1}, "low is 1 and high is 1")]
)
def test_a_decorator_says_what_is_wrong(fields, sentence):
    with pytest.raises(UserError, match=sentence):
        metaeval.metric(**fields)


def test_a_decorated_function_stays_a_function():
    @metaeval.metric
    def plain(source, statement):
        return 1.0

    assert plain("a", "b") == 1.0
    assert metric_of_function(plain) is metric_of_function(plain)


def test_functions_are_compared_with_each_other_and_with_registered_metrics():
    def length(source, statement):
        return float(len(statement))

    def shared(source, statement):
        return float(len(set(source) & set(statement)))

    settings = {"interval": {"resamples": 20}, "comparison": {"permutations": 20}, "protocols": ["classification"]}
    compared = metaeval.compare(length, shared, "overlap", **settings)
    names = {(row["one"], row["other"]) for row in compared["classification-pairs"].records}
    assert {frozenset(pair) for pair in names} == {
        frozenset(pair) for pair in (("length", "shared"), ("length", "overlap"), ("shared", "overlap"))
    }
