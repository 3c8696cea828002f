"""The pipeline `support`: people's levels without a metric, metrics beside them, thresholds, bounds, and refusals.

Sources are single words, so that the metric `overlap` gives each verdict by sight; every number is made by hand.
"""

import json
import re
from pathlib import Path

import pytest

import metaeval
from metaeval.citation.data_model import Verdict
from metaeval.citation.pipelines.support import _level
from metaeval.citation.support.level_readings import fact_level, trec_level
from metaeval.citation.support.measures import StatementLevels, fact_pairs
from metaeval.core.errors import UserError
from metaeval.decisions.citation_items import items_of
from metaeval.explorer.shown_answers import show_answers

SOURCES = {"dam": "Dams store water.", "coal": "Barges carry coal.", "goose": "Geese sing."}


def judgement(run, topic, *sentences, **more):
    """A row of TREC's support judgements: sentences as (text, {reference: level})."""
    rows = [
        {"text": text, "citations": [{"reference": name, "support": level} for name, level in cited.items()]}
        for text, cited in sentences
    ]
    return {"run_id": run, "topic_id": topic, "sentences": rows, **more}


JUDGEMENTS = [
    judgement("new", "1", ("Dams store water.", {"dam": "2"}), ("Barges carry coal.", {"goose": "0", "coal": "2"})),
    judgement("new", "2", ("Geese sing.", {"dam": "1"}), ("Nobody knows.", {})),
    judgement("old", "1", ("Barges carry coal.", {"coal": "-1"}), ("Geese sing.", {"goose": "2"})),
]
RESOLVED = [{**row, "segments": SOURCES} for row in JUDGEMENTS]


@pytest.fixture
def cited(tmp_path):
    """Run the pipeline on rows of a file."""

    def run(rows, name="judged.jsonl", **options):
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        settings = {"results": tmp_path / "results", "store": tmp_path / "scores.sqlite", "splitter": "rules"}
        return metaeval.cite.support(path, interval={"resamples": 20, "fewest": 2}, **{**settings, **options})

    return run


def values_of(result):
    return {(row["system"], row["backend"], row["measure"]): row["value"] for row in result.estimates}


def test_peoples_levels_are_scored_without_a_metric(cited):
    values = values_of(cited(JUDGEMENTS))
    # new, topic 1: (1 + 0) / 2 and, over all citations, (1 + (0 + 1) / 2) / 2; topic 2: .5 of one cited, of two in all.
    # Pairs of new: 2 of 3 and 1 of 1, where partial support is support.
    new = {
        "trec_precision": (0.5 + 0.5) / 2, "trec_recall": (0.5 + 0.25) / 2, "trec_precision_all": (0.75 + 0.5) / 2,
        "trec_precision_hard": (0.5 + 0) / 2, "fact_released": 3 / 4, "fact_paper": (2 / 3 + 1) / 2,
        "fact_effective": 3 / 2,
    }  # fmt: skip
    assert {key: values["new", "labels", key] for key in new} == pytest.approx(new)
    # The sentence that nobody judged leaves both denominators.
    assert values["old", "labels", "trec_precision"] == values["old", "labels", "trec_recall"] == 1


def test_a_metric_is_compared_with_people(cited):
    result = cited(RESOLVED, nli="overlap", measures="trec,fact")
    values = values_of(result)
    assert values["new", "overlap", "trec_precision"] == (0.5 + 0) / 2
    assert values["old", "overlap", "trec_precision"] == 1
    agreement = result["ranking-agreement"].records
    assert {row["measure"] for row in agreement} == {"trec_precision", "trec_recall", "fact_released"}
    assert {(row["one"], row["other"]) for row in agreement} == {("labels", "overlap")}
    shown = show_answers(result.write(), None, 10)
    assert [backend["name"] for backend in shown["backends"]] == ["labels", "overlap"]
    assert [len(answer["marks"]) for answer in shown["answers"]] == [3, 1, 2]


@pytest.mark.parametrize(
    ("score", "direction", "level"), [(0.2, -1, 1.0), (0.5, -1, 0.5), (0.9, -1, 0.0), (0.9, 1, 1.0), (0.5, 1, 0.5)]
)
def test_a_level_follows_the_direction_of_the_metric(score, direction, level):
    entailed = direction * score >= direction * (0.7 if direction == 1 else 0.3)
    assert _level(0.5, direction, Verdict(entailed, score)) == level
    assert _level(0.5, direction, Verdict(None, None, "failed")) is None


def test_a_missing_level_is_counted_and_bounded(cited):
    result = cited(JUDGEMENTS, measures="trec")
    notes = {note.label: dict(note.items)["labels"] for note in result.missing}
    assert notes["not judged"].startswith("not judged 1 (of 7 lines); first: old/1, statement 1: Barges carry coal.")
    # One of two sentences of old is judged in full; the other is none, or full.
    assert "old precision 50.0 to 100.0" in notes["could be"]
    # A source without text gives a metric no level.
    result = cited([{**JUDGEMENTS[0], "segments": {"dam": SOURCES["dam"]}}], nli="overlap", measures="fact")
    assert values_of(result)["new", "overlap", "fact_citations"] == 1
    notes = {note.label: dict(note.items) for note in result.missing}
    assert notes["not judged"]["overlap"].startswith("no source text 2 (of 3 lines)")


FACTS = {"facts": ["Geese sing.", "Dams sing."], "url_content": SOURCES["goose"], "validate_error": None}
REPLIES = [{"idx": 0, "result": "Supported"}, {"idx": 1, "result": "unsupported"}]
FACT = {
    "id": 1,
    "citations": [{"fact": "Geese sing.", "url": "u"}],
    "citations_deduped": {"u": {**FACTS, "validate_res": REPLIES}},
}


def test_a_judges_replies_are_read_as_released_and_equal_pairs_count_once(cited):
    assert values_of(cited([FACT]))["judged", "labels", "fact_released"] == 0
    assert [fact_level(verdict) for verdict in ("supported", "unknown", "partially", None)] == [1.0, None, 0.0, 0.0]
    twice = StatementLevels((1.0, 1.0), (1, 1), text="Geese sing.")
    assert fact_pairs([twice, twice, StatementLevels((0.0,), (1,), text="Dams sing.")])[0].total == 2


@pytest.mark.parametrize("value", ["3", "1.0", "", None, "FS", [2], float("nan")])
def test_what_is_no_level_is_refused(value, cited):
    with pytest.raises((ValueError, OverflowError)):
        trec_level(value)
    with pytest.raises(UserError, match=r"Dams store water.* levels are 2 \(full\)"):
        cited([judgement("new", "1", ("Dams store water.", {"dam": value}))])


def test_a_files_levels_become_peoples_labels_of_citations(tmp_path):
    path = tmp_path / "resolved.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in RESOLVED))
    items = items_of(path)
    assert [(item.statement, item.source) for item in items.rows][1] == ("Barges carry coal.", "Geese sing.")
    assert ([item.level for item in items.rows], items.uncited) == ([2, 0, 2, 1, None, 2], ("2",))


@pytest.mark.parametrize(
    ("options", "place"), [({"threshold": "rogue=1"}, "'rogue'"), ({"partial": "rouge=2"}, "--partial")]
)
def test_every_judge_is_checked_before_the_first_one_scores(cited, tmp_path, options, place):
    with pytest.raises(UserError, match=place):
        cited(RESOLVED, nli="overlap,rouge", **options)
    assert not (tmp_path / "scores.sqlite").exists()


RUNS = json.loads(Path(__file__).with_name("told_runs.json").read_text(encoding="utf-8"))
ROWS = {
    **RUNS["rows"],
    "judgements": JUDGEMENTS,
    "resolved": RESOLVED,
    "blank": [{**row, "segments": {"dam": SOURCES["dam"]}} for row in JUDGEMENTS],
    "fact": [FACT, {**FACT, "id": 2, "citations": [], "citations_deduped": {}}],
}


def test_all_that_is_told_of_levels_is_as_recorded(cited, told, recorded):
    held = {
        number: told(cited(ROWS[of], **options), ["answers", "citations"])
        for number, (of, options) in enumerate(RUNS["support"])
    }
    recorded.held("cited-support", held)


@pytest.mark.parametrize(("rows", "options", "says"), RUNS["refused"])
def test_what_cannot_be_judged_is_one_sentence(cited, rows, options, says):
    with pytest.raises(UserError, match=re.escape(says)):
        cited(rows if isinstance(rows, list) else ROWS[rows], **options)
