"""The signature: it changes with everything that can change a number, and with nothing else."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from metaeval.core.config import RunConfig, load_run
from metaeval.core.files import signature
from metaeval.runs.data import prepare
from metaeval.runs.evaluate import run
from metaeval.runs.metrics import load_metric

ROWS = [
    {"type": "corpus", "format": "metaeval-corpus/1", "name": "tiny"},
    {"type": "document", "id": "d", "sentences": ["Rain fell all day.", "The river rose at night."]},
    {"type": "document", "id": "e", "text": "The mayor spoke. Nobody came to listen."},
    {"type": "statement", "id": "s", "text": "The river rose.", "group": "g"},
    {"type": "statement", "id": "t", "text": "A crowd came to listen.", "group": "h"},
    {"type": "citation", "statement": "s", "document": "d", "level": "full", "evidence": {"sentences": [1]}},
    {"type": "citation", "statement": "t", "document": "e", "level": "none"},
    {"type": "citation", "statement": "s", "document": "e", "level": "none"},
]


@pytest.fixture
def signatures(tmp_path, monkeypatch):
    """The signatures of a run of `rows` with `overrides`: {(protocol, metric): signature}."""
    monkeypatch.chdir(tmp_path)

    def of(*overrides, rows=ROWS):
        Path("tiny.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        settings = {"dataset": "jsonl", "data": "tiny.jsonl", "metrics": "overlap", "protocols": "retrieval"}
        quick = ("controls=false", "chunk.size=5", "interval.resamples=5", "comparison.permutations=5")
        config = load_run(None, settings, [*quick, *overrides])
        return {(result.protocol, row.metric): row.signature for result in run(config).results for row in result.rows}

    return of


def changed(index, **fields):
    return [row | fields if number == index else row for number, row in enumerate(ROWS)]


@pytest.mark.parametrize("value", ["a|b", "a |b", "a\nb", "a\r\nb", "a\tb", "a\u2028b", " a b "])
def test_a_value_cannot_end_its_field_or_the_line(value):
    assert signature({"b": 1, "a": value}) == f"b:1|a:{' '.join(value.replace('|', '/').split())}"


def test_a_signature_names_what_it_pins(signatures):
    ((_, text),) = signatures().items()
    where = "data unit chunks sentences evidence pool levels"
    how = "metric protocol gains ties interval fewest by B seed permutations alpha family metaeval numpy scipy"
    assert [field.partition(":")[0] for field in text.split("|")] == f"{where} {how}".split()
    assert text.startswith("data:tiny/all@")


MOVING = """
unit=citation unit=page unit=evidence chunk.size=6 chunk.mode=words evidence.rule=touched
evidence.threshold=0.25 evidence.threshold=0.50000001 pool=bm25:1 metrics=rouge
metric_options.overlap.content_only=false protocols=correlation protocol_options.retrieval.gains=exponential
interval.seed=1 interval.resamples=6 comparison.permutations=7 comparison.alpha=0.1 interval.level=0.9
interval.level=0.95000001 interval.fewest=2 comparison.family=table
""".split()
"""Settings that can move a printed digit, each away from its default."""

# Where a run reads, scores and writes; what moves rows that the tests below have; and `columns`, whose data are hashed.
ELSEWHERE = """
dataset split data dataset_options columns layout controls results store budget batch trust_config
executor.name executor.workers executor.most executor.devices executor.address
aggregate over_limit cited evidence.window evidence.place interval.cluster
""".split()


def settings_of(model, before=""):
    for name, field in model.model_fields.items():
        inner = field.annotation
        nested = isinstance(inner, type) and issubclass(inner, BaseModel)
        yield from settings_of(inner, f"{before}{name}.") if nested else [f"{before}{name}"]


def test_every_setting_of_a_run_is_known_to_move_digits_or_not_to():
    moving = {override.partition("=")[0] for override in MOVING}
    roots = {name.split(".")[0] if name.startswith(("metric_options", "protocol_options")) else name for name in moving}
    assert {*settings_of(RunConfig)} == {*roots, *ELSEWHERE}
    assert roots.isdisjoint(ELSEWHERE)


@pytest.mark.parametrize("override", MOVING)
def test_a_setting_that_can_move_a_number_changes_it(signatures, override):
    assert set(signatures().values()).isdisjoint(signatures(override).values())


@pytest.mark.parametrize(
    ("unit", "one", "other"),
    [
        ("citation", "aggregate=max", "aggregate=mean"),
        ("page", "over_limit=chunks", "over_limit=cut"),
        ("evidence", "evidence.window=0", "evidence.window=1"),
        ("chunk", "evidence.threshold=0.5", "evidence={place: chunk, threshold: 0.5}"),
    ],
)
def test_what_makes_or_is_read_of_one_unit_changes_it(signatures, unit, one, other):
    assert set(signatures(f"unit={unit}", one).values()).isdisjoint(signatures(f"unit={unit}", other).values())


@pytest.mark.parametrize("change", [{"cited": "each"}, {"over_limit": "cut"}, {"aggregate": "mean"}])
def test_what_is_read_of_a_statement_changes_the_fields_of_the_data(change):
    usual, changed_fields = (prepare(RunConfig(unit="statement", **each)).fields for each in ({}, change))
    assert usual != changed_fields


def test_what_an_option_or_a_variant_changes_in_it(signatures):
    pinned = [signatures("metrics=bm25", f"pool={pool}") for pool in ("own", "bm25:1")]
    assert ["over-sources:" in text for run_ in pinned for text in run_.values()] == [True, True]
    options = {"minilm-cosine": {"batch_tokens": 512, "device": "cpu"}}
    plain, tuned = (load_metric("minilm-cosine", RunConfig(metric_options=each)) for each in ({}, options))
    assert tuned.options != plain.options
    assert tuned.identity() == plain.identity()
    ((_, text),) = signatures("metrics=rouge-2").items()
    assert "|metric:rouge-2=rouge@v1(variant=rouge2,side=precision,stem=False)|" in text


@pytest.mark.parametrize(
    "rows",
    [
        changed(1, sentences=["Rain fell all day.", "The river rose by night."]),
        changed(2, sentences=["The mayor spoke.", "Nobody came to listen."], text=None),
        changed(3, text="The river rose!"),
        changed(3, group="h"),
        changed(5, level="partial"),
        changed(5, evidence={"sentences": [0, 1]}),
        ROWS[:-1],
    ],
    ids=["document", "sentence split", "statement", "group", "level", "evidence", "citation left out"],
)
def test_other_data_change_it(signatures, rows):
    rows = [{key: value for key, value in row.items() if value is not None} for row in rows]
    assert set(signatures().values()).isdisjoint(signatures(rows=rows).values())


@pytest.mark.parametrize("rows", [[ROWS[0], *ROWS[:0:-1]], changed(5, meta={"annotator": "me"})])
def test_what_moves_no_number_leaves_it_alone(signatures, rows):
    defaults = "metric_options.overlap.content_only=true", "protocol_options.retrieval.gains=linear"
    elsewhere = "results=elsewhere", "store=mine.sqlite", "controls=true"
    assert signatures().items() <= signatures(*defaults, *elsewhere, rows=rows).items()


def test_the_order_of_metrics_and_the_others_of_the_run_leave_it_alone(signatures):
    one = signatures("metrics=overlap,rouge", "protocols=all")
    other = signatures("metrics=rouge,overlap", "protocols=retrieval,correlation,classification")
    assert one == other
    assert signatures().items() <= one.items()
