"""From scores to result rows: what is flagged, what is counted, and the Python interface that leads there."""

from dataclasses import replace

import pandas
import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.runs import evaluate
from metrics_zoo.support_mini import SupportMini

QUICK = {"interval": {"resamples": 30}}
BEATABLE = {"constant", "random", "statement length", "document length", "statement only", "chunk position"}


@pytest.fixture(scope="module")
def pairs():
    return metaeval.pairs(dataset="mini")


def evaluated(scores, **settings):
    results = metaeval.evaluate_scores({"mine": scores}, **{"dataset": "mini", **QUICK, **settings})
    return {result.protocol: result.rows[0] for result in results}


def test_scores_in_a_table_are_those_by_metric_and_id():
    ids = [pair.pair_id for pair in metaeval.pairs(dataset="mini")]
    one, other = ({name: float(number % most) for number, name in enumerate(ids)} for most in (3, 5))
    rows = [{"pair": name, "one": one[name], "other": other[name] if other[name] else None} for name in ids]
    known = {name: value or None for name, value in other.items()}
    settings = {"dataset": "mini", "protocols": ["classification"], "controls": False, **QUICK}

    results = metaeval.evaluate_scores({"one": one, "other": known}, **settings)
    assert metaeval.evaluate_scores(rows, **settings) == results
    (mapped,) = metaeval.evaluate_scores(rows, columns={"score": "other"}, **settings)
    assert mapped.rows[0].values == results[0].rows[1].values
    assert metaeval.evaluate_scores(pandas.DataFrame(rows), **settings) == results


def test_a_perfect_metric_is_above_every_control(pairs):
    rows = evaluated({pair.pair_id: float(pair.level) for pair in pairs})
    assert rows["classification"].values["overall"].value == 1
    assert rows["correlation"].values["kendall"].value == pytest.approx(1, abs=1e-12)
    assert rows["retrieval"].values["ndcg@5"].value == 1
    assert [row.not_above for row in rows.values()] == [{}, {}, {}]


def test_a_metric_below_a_control_is_flagged_like_one_that_overlaps_it(pairs, monkeypatch):
    monkeypatch.setattr(evaluate, "MAX_CONTROL_PAIRS", 1_054)
    rows = evaluated({pair.pair_id: -float(pair.level) for pair in pairs})
    assert rows["classification"].values["overall"].value == 0
    assert set(rows["classification"].not_above["overall"]) == BEATABLE | {"overlap", "support-mini"}


def test_there_is_no_learnt_control_on_what_it_was_fitted_on_or_where_it_would_take_minutes(monkeypatch, caplog):
    found = {}
    for name, change in {
        "fitted": (SupportMini, "card", replace(SupportMini.card, fitted_on=("mini/all",))),
        "minutes": (evaluate, "MAX_CONTROL_PAIRS", 1_000),
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(*change)
            (result,) = metaeval.evaluate_scores({"mine": {}}, dataset="mini", protocols=["classification"], **QUICK)
        found[name] = {row.metric for row in result.rows}, caplog.messages[-1]
        assert "support-mini" not in found[name][0]
    assert "support-mini: it was fitted on mini all" in found["fitted"][1]
    assert "support-mini: 1,054 pairs would take minutes" in found["minutes"][1]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (lambda ids: {ids[0]: float("nan")}, "give None for a missing score"),
        (lambda ids: {"no such pair": 0.5}, "'no such pair'.*metaeval pairs"),
    ],
)
def test_scores_that_cannot_be_used_are_one_sentence(pairs, scores, words):
    with pytest.raises(UserError, match=words):
        evaluated(scores([pair.pair_id for pair in pairs]))


def test_judged_data_of_ones_own_need_no_file(tmp_path, caplog):
    documents = {f"d{n}": Document(f"d{n}", f"Rain fell on day {n}. The river rose.") for n in range(6)}
    statements = {f"s{n}": Statement(f"s{n}", f"Rain fell on day {n}.", group=f"g{n}") for n in range(6)}
    levels = [SupportLevel(n % 3) for n in range(6)]
    citations = tuple(Citation(f"c{n}", f"s{n}", f"d{n}", levels[n], Evidence()) for n in range(6))
    corpus = Corpus("rainy", documents, statements, citations)

    results = metaeval.run(corpus, metrics=["overlap"], results=tmp_path, **QUICK)

    # Each statement has one page of one chunk: there is nothing to rank.
    assert {result.protocol for result in results} == {"classification", "correlation"}
    assert "Left out" not in caplog.text  # a warning only to those who name it
    metaeval.run(corpus, metrics=["overlap"], protocols=["classification", "retrieval"], results=tmp_path, **QUICK)
    assert "Left out: retrieval on rainy: the candidates of each statement are of one level" in caplog.text
    assert results[0].data.name == "rainy"
    assert results[0].data.levels == {"full": 2, "partial": 2, "none": 2}
    # All six statements stand in their page word for word: overlap is constant.
    assert results[0].rows[0].values["fs_ns"].value == 0.5


def test_texts_of_ones_own_are_scored_by_name():
    answers = metaeval.score("overlap", ["the river rose", ""], ["river rising", "river"])
    assert [answer.score for answer in answers] == [0.5, 0.0]
    with pytest.raises(UserError, match=r"'overlp'.*Did you mean 'overlap'"):
        metaeval.score("overlp", [""], [""])
    with pytest.raises(UserError, match="2 sources and 1 statements"):
        metaeval.score("overlap", ["the river", "the bridge"], ["river"])
