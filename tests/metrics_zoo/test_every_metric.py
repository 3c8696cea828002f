"""What every registered metric keeps to, whatever it computes."""

import importlib.util
import json

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


def made(name):
    kind = registry.find("metric", name)
    missing = [module for module in kind.card.modules if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{name} needs {', '.join(missing)} (extra {kind.card.extra!r})")
    return kind()


@pytest.fixture(scope="module", params=registry.names("metric"))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def scored(name):
    metric = made(name)
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


def test_no_pair_depends_on_the_others(scored, name):
    metric, together = scored
    if metric.card.corpus_dependent:
        alone = [metric.score([source], [statement])[0] for source, statement in PAIRS]
    else:
        fresh = made(name)
        fresh.prepare(SOURCES, STATEMENTS)
        alone = [fresh.score([source], [statement])[0] for source, statement in PAIRS]
    for one, other in zip(together.answers, alone, strict=True):
        assert one.status is other.status
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert (one.tokens, one.cut) == (other.tokens, other.cut)


def test_order_and_repetition_change_nothing(scored, name):
    _, together = scored
    order = [*reversed(range(len(PAIRS))), 3, 3, 0]
    other = score_pairs(made(name), [PAIRS[number] for number in order])
    for number, answer in zip(order, other.answers, strict=True):
        assert answer.score == pytest.approx(together.answers[number].score, abs=1e-6)


def test_the_source_and_the_statement_are_not_interchangeable_in_what_is_asked(scored):
    """A statement that the source holds scores higher than one about something else."""
    _, result = scored
    answers = dict(zip(PAIRS, result.answers, strict=True))
    assert answers[SOURCES[0], STATEMENTS[0]].score > answers[SOURCES[1], STATEMENTS[0]].score


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
    assert (long.cut > 0) == (metric.card.input_limit is not None)
    assert answers[SOURCES[0], STATEMENTS[0]].cut == 0
