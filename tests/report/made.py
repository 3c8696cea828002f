"""Made results whose truth is known: values, verdicts and places are those that are asked for, or drawn."""

import itertools
import random

from metaeval.core import registry
from metaeval.report.result import Column, Comparison, Data, Interval, Ledger, Result, Row, Significance, placed
from metaeval.runs.evaluate import declarations_of
from metaeval.stats.estimate import Estimate

AUC = [
    Column(key=key, label=label, scale=100.0, digits=1)
    for key, label in (("fs_ns", "FS-NS"), ("fs_ps", "FS-PS"), ("ps_ns", "PS-NS"), ("overall", "Overall"))
]
SPEARMAN = [Column(key="pearson", label="Pearson"), Column(key="spearman", label="Spearman")]
DECLARATIONS = declarations_of(
    registry.find("protocol", name) for name in ("classification", "correlation", "retrieval")
)


def area(value, half=0.02, **more):
    """A value with an interval of this half width; None: undefined."""
    return (
        Estimate(None, note="no row is PARTIAL")
        if value is None
        else Estimate(value, low=value - half, high=value + half, **more)
    )


def metric(name, *areas, kind="metric", half=0.02, **more):
    """A row of the four areas."""
    values = dict(zip(("fs_ns", "fs_ps", "ps_ns", "overall"), (area(one, half) for one in areas), strict=True))
    given = {"total": 100, "scored": 100, "unscored": 0, "signature": f"metric:{name}", **more}
    return Row(metric=name, kind=kind, values=values, **given)


def control(name, *areas, **more):
    """A control's row of the four areas."""
    return metric(name, *areas, kind="control", **more)


def against(rows, columns):
    """Tests of every metric against every control but the oracle and those that have its own scores.

    A metric is significantly above from .02 on, unless it has a mark, and significantly below from .05 on.
    """
    tests = []
    for column in columns:
        known = [row for row in rows if column.key in row.values and row.values[column.key].value is not None]
        for row in (row for row in known if row.kind == "metric"):
            for other in (row for row in known if row.kind == "control" and row.metric != "oracle"):
                if other.metric in row.same_scores:
                    continue
                difference = row.values[column.key].value - other.values[column.key].value
                higher = difference >= 0.02 and other.metric not in row.not_above.get(column.key, [])
                p = 0.001 if higher or difference <= -0.05 else 0.5
                name = {"measure": column.key, "one": row.metric, "other": other.metric}
                tests.append(Comparison(**name, rows=100, difference=difference, p=p, holm=p))
    return tests


def made(rows, apart=(), groups=40, name="made", protocol="classification", columns=AUC, levels=(30, 20, 50), **more):
    """A result of these rows; apart: the pairs of metrics that the test tells apart, under every measure."""
    metrics = [row.metric for row in rows if row.kind == "metric"]
    pairs = [(one, other) for number, one in enumerate(metrics) for other in metrics[number + 1 :]]
    values = {row.metric: {key: value.value or 0.0 for key, value in row.values.items()} for row in rows}
    comparisons = []
    for key, (one, other) in itertools.product([column.key for column in columns], pairs):
        p, holm = (0.001, 0.001) if {one, other} in map(set, apart) else (0.5, 1.0)
        difference = values[one].get(key, 0.0) - values[other].get(key, 0.0)
        two = {"measure": key, "one": one, "other": other}
        comparisons.append(Comparison(**two, rows=100, difference=difference, p=p, holm=holm))
    controls = against(rows, columns)
    tested = None
    if pairs or controls:
        tested = Significance(permutations=1000, seed=0, alpha=0.05, comparisons=comparisons, controls=controls)
    given = {"interval": Interval(resamples=1000, seed=0, level=0.95), "significance": tested, **more}
    counts = {**dict.fromkeys(("statements", "documents", "citations"), 10), "groups": groups}
    counts["levels"] = dict(zip(("full", "partial", "none"), levels, strict=True))
    data = Data(name=name, split="test", fingerprint="0" * 64, **counts)
    named = {"protocol": protocol, "title": protocol, "unit": "chunk", "settings": {}}
    return Result(**named, data=data, columns=columns, rows=rows, **given)


def correlated(values, apart=(), name="made"):
    """The same metrics under correlation: name to Spearman's rho."""
    made_of = [
        {"metric": one, "values": dict.fromkeys(("pearson", "spearman"), area(rho))} for one, rho in values.items()
    ]
    rows = [A.model_copy(update=update) for update in made_of]
    return made(rows, apart, protocol="correlation", columns=SPEARMAN, name=name)


A = metric("a", 0.9, 0.6, 0.8, 0.77)
B = metric("b", 0.8, 0.5, 0.7, 0.67)
C = metric("c", 0.7, 0.5, 0.6, 0.6)


CONTROLS = {"overlap": "lexical", "random": "trivial", "fit": "reference", "oracle": "oracle"}


def any_cell(rng, value):
    """A value with all that may stand beside it, or its absence."""
    if value is None:
        return Estimate(None, note=rng.choice(["no row is PARTIAL", "constant", ""]))
    half, maybe = rng.choice([0.015, 0.02, 0.1]), {}
    if rng.random() < 0.8:
        maybe |= {"low": value - half, "high": value + half}
    if rng.random() < 0.3:
        maybe |= {"ties": (value - 0.01, value + rng.choice([0.0, 0.01]))}
    if rng.random() < 0.3:
        maybe |= {"worst": value - 0.03, "best": value + 0.0001, "note": rng.choice(["", "of one system"])}
    if rng.random() < 0.3:
        maybe |= {"ceiling": rng.choice([0.8991, 0.9996, value, 0.0]), "published": round(value + 0.01, 3)}
    return Estimate(value, effective=rng.choice([None, 7.9, 30.0]), **maybe)


def any_row(rng, name, control, columns):
    """A row with counts of what was not scored or left out, cut inputs and warnings."""
    pool = [None, 0.0, 1.0, *(round(rng.uniform(-0.2, 1), 3) for _ in range(4))]
    lost = {"unparsed": rng.randrange(3), "timeout": rng.randrange(5)} if rng.random() < 0.3 else {}
    out = {"no level": rng.randrange(1, 60), "no pool": rng.randrange(1, 3)} if rng.random() < 0.4 else {}
    row = {"metric": name, "kind": "control" if control else "metric", "control": control, "signature": f"of:{name}"}
    row |= {"values": {column.key: any_cell(rng, rng.choice(pool)) for column in columns}, "statuses": lost}
    row |= {"scored": 100, "unscored": sum(lost.values()), "excluded": out}
    if not control and rng.random() < 0.6:
        cut = {"cut_pairs": rng.randrange(9), "cut_tokens": rng.randrange(200)}
        row |= {"ledger": Ledger(pairs=900, tokens=9000, **cut), "warnings": ["It rains.", "Fog."][: rng.randrange(3)]}
        row |= {"not_above": {column.key: ["overlap"] for column in columns if rng.random() < 0.3}}
    return Row(**row, total=100 + sum(lost.values()) + sum(out.values()))


def any_result(seed, protocol="classification", name="made", metrics=4, wide=0, ending="", **more):
    """A result that is drawn: values with ties and gaps, tests with and without p, counts, notes and warnings."""
    rng = random.Random(f"{seed} {protocol} {name}")
    columns = {"classification": AUC, "correlation": SPEARMAN}.get(protocol, [Column(key="ndcg@5", label="NDCG@5")])
    columns = [*columns, *(Column(key=f"more{number}", label=f"More {number}") for number in range(wide))]
    names = [f"m{number}{ending}" for number in range(metrics)]
    rows = {one: any_row(rng, one, kind, columns) for one, kind in (dict.fromkeys(names, "") | CONTROLS).items()}

    def tests(pairs):
        for key, (one, other) in itertools.product([column.key for column in columns], pairs):
            first, second = (rows[each].values[key].value for each in (one, other))
            known = {"difference": None, "note": "undefined for one"}
            if None not in (first, second):
                difference, p = first - second, rng.choice([0.001, 0.02, 0.025, 0.05, 0.0504, 0.6])
                known = {"difference": difference, "low": difference - 0.03, "high": difference + 0.03, "p": p}
                known |= {"holm": min(1.0, 2 * p) if rng.random() < 0.85 else None}
            yield Comparison(measure=key, one=one, other=other, rows=100 - rng.randrange(2), **known)

    compared = list(tests(list(itertools.combinations(names, 2))))
    controls = list(tests([(one, other) for one in names for other in CONTROLS if other != "oracle"]))
    tested = Significance(permutations=100, seed=0, alpha=0.05, comparisons=compared, controls=controls)
    tested = tested.model_copy(update={"tests": len(compared) // len(columns)})
    counts = {"statements": 10, "documents": rng.randrange(1, 3), "citations": 1200, "groups": rng.randrange(1, 90)}
    levels = {level: 20 * rng.randrange(3) for level in ("full", "partial", "none")}
    data = Data(name=name, split="test", fingerprint="0" * 64, levels=levels, **counts)
    given = {"title": f"Human {protocol}", "unit": "chunk", "settings": {"pool": "own"}, "data": data}
    given |= {"interval": Interval(resamples=100, seed=0, level=0.95), "significance": tested, **more}
    return Result(protocol=protocol, rows=placed([*rows.values()], tested), columns=columns, **given)
