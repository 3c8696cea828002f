"""A hand-made result with everything that a table must cope with."""

from dataclasses import replace

import pytest

from metaeval.report.result import Column, Comparison, Data, Interval, Ledger, Result, Row, Significance, placed
from metaeval.stats.estimate import Estimate

NASTY = "judge[bold]_3|x%"
UNDEFINED = "the score is constant"

SIGNATURE_A = (
    "data:x_y%[wice]@1f3a|unit:chunk|metric:minilm-bertscore@c9745ed1|proto:retrieval|gains:linear|B:1000|seed:0"
)
SIGNATURE_B = "data:x_y%[wice]@1f3a|unit:chunk|metric:judge[bold]_3@none|proto:retrieval|gains:linear|B:1000|seed:0"


@pytest.fixture(scope="session")
def result():
    """Two metrics, three controls; the discrete judge leads in NDCG@5 only if its ties fall well."""
    return Result(
        protocol="retrieval",
        title="Retrieval of supporting chunks",
        unit="chunk",
        settings={"pool": "own", "gains": "linear"},
        data=Data(
            name="x_y%[wice]",
            split="test",
            fingerprint="1f3a" * 16,
            statements=358,
            documents=1,
            citations=1358,
            groups=326,
            levels={"full": 111, "none": 3666, "partial": 72},
            dropped={"no document": 12},
            evidence={"unmatched": 3, "matched": 0},
        ),
        interval=Interval(resamples=1000, seed=0, level=0.95),
        columns=[
            Column(key="ndcg5", label="NDCG@5"),
            Column(key="auc", label="AUC full/none", scale=100.0, digits=2),
            Column(key="pearson", label="Pearson r"),
        ],
        rows=[_minilm(), _judge(), *CONTROLS],
    )


@pytest.fixture(scope="session")
def same_rows(result):
    """The same with two metrics that scored the same rows, and are ranked."""
    minilm, judge, *controls = result.rows
    counts = {name: getattr(judge, name) for name in ("scored", "unscored", "excluded", "statuses")}
    return result.model_copy(update={"rows": [minilm.model_copy(update=counts), judge, *controls]})


def _minilm():
    return Row(
        metric="minilm-bertscore",
        kind="metric",
        values={
            "ndcg5": Estimate(0.7125, low=0.6831, high=0.7419, effective=200.0),
            "auc": Estimate(0.91554, low=0.9021, high=0.9288, effective=200.0),
            "pearson": Estimate(0.0421, low=-0.0213, high=0.1043, effective=200.0, ties=(0.04211, 0.04209)),
        },
        total=3849,
        scored=3849,
        unscored=0,
        ledger=Ledger(pairs=3800, tokens=1_000_000, cut_pairs=129, cut_tokens=12_000),
        not_above={"pearson": ["random", "constant"], "ndcg5": []},
        signature=SIGNATURE_A,
    )


def _judge():
    return Row(
        metric=NASTY,
        kind="metric",
        values={
            "ndcg5": Estimate(
                value=0.7398, low=0.7012, high=0.7774, effective=200.0, ties=(0.587, 0.922), worst=0.7301, best=0.7402
            ),
            "auc": Estimate(0.9155449, low=0.8911, high=0.93, effective=200.0, worst=0.91, best=0.92),
            "pearson": Estimate(0.5421, low=0.5014, high=0.5832, effective=200.0),
        },
        total=3849,
        scored=3797,
        unscored=40,
        excluded={"pool without a positive": 12},
        statuses={"timeout": 9, "unparsed": 31},
        ledger=Ledger(pairs=3800, tokens=900_000, cut_pairs=0, cut_tokens=0),
        not_above={"ndcg5": ["random"]},
        warnings=["40 pairs have no score: see [worst..best]."],
        signature=SIGNATURE_B,
    )


def _control(name, **values):
    row = {"metric": name, "kind": "control", "values": values, "signature": f"control:{name}"}
    return Row.model_validate({**row, "total": 3849, "scored": 3849, "unscored": 0})


CONTROLS = [
    _control(
        "constant",
        ndcg5=Estimate(0.4444, low=0.4301, high=0.4588, ties=(0.0, 1.0)),
        auc=Estimate(0.5, low=0.5, high=0.5),
        pearson=Estimate(None, note=UNDEFINED),
    ),
    _control(
        "random",
        ndcg5=Estimate(0.4419, low=0.41, high=0.7101),
        auc=Estimate(0.4987, low=0.481, high=0.5166),
        pearson=Estimate(-0.0001, low=-0.031, high=0.0307),
    ),
    _control("oracle", **dict.fromkeys(("ndcg5", "auc", "pearson"), Estimate(1.0, low=1.0, high=1.0))),
]


@pytest.fixture(scope="session")
def full(result):
    """The same with all that schema 2 adds: ceilings, published values, letters, one compared pair a measure."""
    minilm, judge, *controls = result.rows
    tests = Significance(permutations=1000, seed=7, alpha=0.05, comparisons=_pairs(minilm, judge))
    rows = [_with(minilm, ceiling=0.8991, published=0.5849), _with(judge, ceiling=0.9617), *controls]
    return result.model_copy(
        update={
            "rows": placed(rows, tests),
            "ceilings": {"pearson": {"continuous": 0.8991, "binary": 0.9617}},
            "published": "arXiv 2406.15264, Table 2",
            "significance": tests,
        }
    )


def _with(row, **of_pearson):
    pearson = replace(row.values["pearson"], **of_pearson)
    return row.model_copy(update={"values": {**row.values, "pearson": pearson}})


def _pairs(one, other):
    names = {"one": one.metric, "other": other.metric, "rows": 3797}
    # 0.7125 - 0.7398 = -0.0273.
    close = dict.fromkeys(("p", "holm"), 0.0504)
    far = dict.fromkeys(("p", "holm"), 1 / 1001)
    return [
        Comparison(measure="ndcg5", **names, difference=-0.0273, low=-0.06, high=0.01, **close),
        Comparison(measure="auc", **names, difference=None, note="no pair of both levels"),
        Comparison(measure="pearson", **names, difference=-0.5, low=-0.55, high=-0.45, **far),
    ]
