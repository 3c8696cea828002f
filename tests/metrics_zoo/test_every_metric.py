"""What every registered metric keeps to, whatever it computes."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from metaeval import registry
from metaeval.scoring.contract import Metric, MetricCard, Status
from metaeval.scoring.engine import score_pairs

SOURCES = [
    "The lighthouse was built in 1873 by the harbour board. It stands 41 metres tall.",
    "Kettles with a steel body get hot during use, so hold them by the handle.",
    "Überraschung! Ein Café in São Paulo — naïve façade, 東京 and Москва, 🙂 emoji.",
    "word " * 700,
    "x",
    "",
    "   \n\t ",
]
STATEMENTS = [
    "The lighthouse is 41 metres tall.",
    "In São Paulo there is a café.",
    "word",
    "It was not built in 1873; the board refused.",
    "",
    " \n ",
]
PAIRS = [(source, statement) for source in SOURCES for statement in STATEMENTS]


WITHOUT_TEXTS = {"ensemble": "combines other metrics' scores"}
SERVED = f"{sys.executable} -m metaeval metrics serve overlap"
HERE = Path(__file__).parent


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """No reply of an earlier run is served."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def options(request, load_module, tmp_path_factory):
    """Options by metric: tiny models for the published ones, a judge on loopback that counts shared words."""
    found = {}
    if importlib.util.find_spec("torch"):
        tiny = request.getfixturevalue("tiny")
        found |= load_module(HERE / "stand_ins.py").stand_ins(tiny, tmp_path_factory.mktemp("stand-ins"))
    fake = load_module(HERE.parent / "llm" / "server.py")
    with fake.ChatServer(answer=fake.counting_judge) as server:
        yield {
            **found,
            "worker": {"command": SERVED},
            "llm-discrete": {"base_url": server.url},
            "llm-continuous": {"base_url": server.url},
        }


@pytest.fixture(scope="module", params=registry.names("metric"))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def made(name, options):
    """Makes the metric anew."""
    if name in WITHOUT_TEXTS:
        pytest.skip(f"{name} {WITHOUT_TEXTS[name]}: it has tests of its own")
    kind = registry.find("metric", name)
    missing = [module for module in kind.card.modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{name} needs {', '.join(missing)} (extra {kind.card.extra!r})")
    return lambda: kind(kind.Options(**options.get(name, {})))


@pytest.fixture(scope="module")
def scored(made):
    metric = made()
    return metric, score_pairs(metric, PAIRS)


def test_it_is_a_metric_with_a_full_card(name):
    kind = registry.find("metric", name)
    assert issubclass(kind, Metric)
    card = kind.card
    assert isinstance(card, MetricCard)
    assert card.name == name
    assert all((card.family, card.summary, card.paper, card.licence))
    assert (card.truncation == "none") == (card.input_limit is None)


def test_scores_lie_in_the_declared_range(scored):
    metric, result = scored
    low = float("-inf") if metric.card.low is None else metric.card.low - 1e-6
    high = float("inf") if metric.card.high is None else metric.card.high + 1e-6
    scores = [answer.score for answer in result.answers if answer.score is not None]
    assert len(scores) >= 12
    assert all(low <= score <= high for score in scores)
    assert len(set(scores)) >= 3


def test_a_statement_without_words_has_no_score(scored):
    _, result = scored
    for (_, statement), answer in zip(PAIRS, result.answers, strict=True):
        if not statement.strip():
            assert answer.score is None
            assert answer.status is Status.EMPTY


def test_no_pair_depends_on_the_others(scored, made):
    metric, together = scored
    if metric.corpus_dependent:
        alone = [metric.score([source], [statement])[0] for source, statement in PAIRS]
    else:
        fresh = made()
        fresh.prepare(SOURCES, STATEMENTS)
        alone = [fresh.score([source], [statement])[0] for source, statement in PAIRS]
    for one, other in zip(together.answers, alone, strict=True):
        assert one.status is other.status
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert (one.tokens, one.cut) == (other.tokens, other.cut)


def test_order_and_repetition_change_nothing(scored, made):
    _, together = scored
    order = [*reversed(range(len(PAIRS))), 3, 3, 0]
    other = score_pairs(made(), [PAIRS[number] for number in order])
    for number, answer in zip(order, other.answers, strict=True):
        assert answer.score == pytest.approx(together.answers[number].score, abs=1e-6)


def test_a_statement_that_the_source_holds_scores_higher_than_one_about_something_else(scored, name, options):
    metric, result = scored
    if "folder" in options.get(name, {}):
        pytest.skip("a random model knows nothing")
    answers = dict(zip(PAIRS, result.answers, strict=True))
    held, other = answers[SOURCES[0], STATEMENTS[0]].score, answers[SOURCES[1], STATEMENTS[0]].score
    assert metric.card.direction * (held - other) > 0


def test_its_identity_is_json_and_names_what_it_is(scored):
    metric, result = scored
    identity = json.loads(json.dumps(result.identity))
    assert identity["name"] == metric.card.name
    assert identity["version"] == metric.card.version
    assert metric.options.runtime.isdisjoint(identity["options"])


def test_what_is_cut_is_counted(scored):
    metric, result = scored
    answers = dict(zip(PAIRS, result.answers, strict=True))
    long = answers[SOURCES[3], "word"]
    assert long.tokens > 700
    limit = metric.card.input_limit
    assert (long.cut > 0) == (limit is not None and long.tokens > limit)
    assert answers[SOURCES[0], STATEMENTS[0]].cut == 0
