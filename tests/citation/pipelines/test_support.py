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
from metaeval.citation.readers.answer_files import read_answers
from metaeval.citation.support.citation_judging import support_statements
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


@pytest.mark.parametrize(("denominator", "expected"), [("answered", 1.0), ("topics", 0.5), ("4", 0.25), ("1", 1.0)])
def test_missing_topics_count_zero_where_all_topics_do(cited, denominator, expected):
    result = cited(JUDGEMENTS, denominator=denominator, measures="trec")
    assert values_of(result)["old", "labels", "trec_precision"] == expected
    assert any("1 topic without an answer" in note.text for note in result.notes) == (denominator != "answered")


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


def test_partial_support_lies_between_two_thresholds(cited):
    rows = [{"id": "1", "text": "Dams store cold water [1]. Geese sing [1].", "passages": [SOURCES["dam"]]}]
    values = values_of(cited(rows, nli="overlap", threshold=0.9, partial=0.5))
    keys = [("judged", "overlap", key) for key in ("trec_precision", "trec_precision_hard", "fact_released")]
    assert [values[key] for key in keys] == [(0.5 + 0) / 2, 0, 1 / 2]
    soft = values_of(cited(rows, nli="overlap", threshold="soft"))
    assert [soft[key] for key in keys] == [pytest.approx((0.75 + 0) / 2), None, pytest.approx((0.75 + 0) / 2)]


@pytest.mark.parametrize(
    ("score", "direction", "level"), [(0.2, -1, 1.0), (0.5, -1, 0.5), (0.9, -1, 0.0), (0.9, 1, 1.0), (0.5, 1, 0.5)]
)
def test_a_level_follows_the_direction_of_the_metric(score, direction, level):
    entailed = direction * score >= direction * (0.7 if direction == 1 else 0.3)
    assert _level(0.5, direction, Verdict(entailed, score)) == level
    assert _level(0.5, direction, Verdict(None, None, "failed")) is None


def test_marks_that_cite_nothing_are_forgiven_or_not(cited):
    rows = [{"id": "1", "text": "Geese sing [1]. Dams store water [7].", "passages": [SOURCES["goose"]]}]
    assert values_of(cited(rows, nli="overlap"))["judged", "overlap", "trec_precision"] == 1
    strict = cited(rows, nli="overlap", stray="none")
    assert values_of(strict)["judged", "overlap", "trec_precision"] == 1 / 2
    assert any(note.label == "marks" and "out of range 1" in note.text for note in strict.notes)


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


def test_statements_of_a_file_can_have_levels_or_not(cited, tmp_path):
    """A run of TREC gives its sentences, which no splitter has to find again."""
    text = "Geese sing [1]. Dams sing [1]."
    stated = [
        {"start": 0, "end": 15, "cited": [1], "levels": [2]},
        {"start": 16, "end": 30, "cited": [1], "levels": ["1"]},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"id": "1", "text": text, "passages": ["Geese."], "reference": {"support": stated}}))
    found = support_statements(*read_answers(path))
    assert [one.levels.levels for one in found] == [(1.0,), (0.5,)]
    assert [text[cited.mark.start : cited.mark.end] for one in found for cited in one.cited] == ["[1]", "[1]"]
    text = "Mr. Dam. Dams store water [1]. Geese sing [1]."
    stated = [
        {"start": 0, "end": 30, "text": "Dams store water.", "cited": [1]},
        {"start": 31, "end": 46, "cited": [1]},
    ]
    row = {"id": "1", "text": text, "passages": [SOURCES["dam"]], "reference": {"support": stated}}
    result = cited([row], nli="overlap", measures="trec")
    assert {key for _, _, key in values_of(result)} == {
        f"trec_{share}{kind}" for share in ("precision", "recall") for kind in ("", "_all", "_hard")
    }
    assert set(values_of(result).values()) == {0.5}
    with pytest.raises(UserError, match="holds no levels"):
        cited([row])


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"start": 0, "end": 5, "cited": [1], "levels": [2, 1]}, "2 levels for 1 citations"),
        ({"start": 0, "cited": [1], "levels": [2]}, "field 'end' is missing"),
        ({"start": 0, "end": 99, "cited": [1], "levels": [2]}, "offsets in the text"),
        ({"start": 0, "end": 5, "cited": ["x"], "levels": [2]}, "field 'cited'"),
        ({"start": 0, "end": 5, "cited": [1], "levels": "2"}, "field 'levels'"),
        (7, "field 'support'"),
    ],
)
def test_wrong_levels_in_the_projects_own_format_are_refused(entry, says, cited):
    row = {"id": "1", "text": "Geese [1].", "passages": ["Geese."], "reference": {"support": [entry]}}
    with pytest.raises(UserError, match=says):
        cited([row])


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ([{"id": "1", "text": "Geese [1].", "passages": ["Geese."]}], {}, "holds no levels of support: name a metric"),
        (JUDGEMENTS, {"nli": "overlap"}, "give --sources FILE"),
        (JUDGEMENTS, {"measures": "trek"}, "Did you mean 'trec'"),
        (JUDGEMENTS, {"denominator": "0"}, "allowed: answered, topics, or a whole number from 1"),
        (RESOLVED, {"nli": "overlap", "partial": 0.9}, "--partial overlap=X not above --threshold"),
        (RESOLVED, {"nli": "overlap", "threshold": "soft", "partial": 0.9}, "give both as numbers"),
        ([JUDGEMENTS[0], JUDGEMENTS[0]], {}, "two answers have the id"),
        ([{"run_id": "new", "topic_id": "1", "sentences": {"0": 1}}], {}, "field 'sentences'"),
        ([{"run_id": "new", "sentences": []}], {}, "field 'topic_id' is missing"),
        ([{**FACT, "citations_deduped": {"u": {"facts": ["a"]}}}], {}, "field 'validate_error' is missing"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(cited, rows, options, says):
    with pytest.raises(UserError, match=re.escape(says)):
        cited(rows, **options)


@pytest.mark.parametrize(
    ("options", "place"), [({"threshold": "rogue=1"}, "'rogue'"), ({"partial": "rouge=2"}, "--partial")]
)
def test_every_judge_is_checked_before_the_first_one_scores(cited, tmp_path, options, place):
    with pytest.raises(UserError, match=place):
        cited(RESOLVED, nli="overlap,rouge", **options)
    assert not (tmp_path / "scores.sqlite").exists()


def test_a_forgiven_mark_without_a_passage_stays_out_of_the_bounds(cited):
    text = "Dams store water [1]. Geese sing [2]. Barges carry coal [9]."
    rows = [{"text": text, "passages": [{"text": "Dams store water."}, {"text": ""}]}]
    (row,) = [row for row in cited(rows, nli="overlap").estimates if row["measure"] == "fact_released"]
    # Pairs: one supported, one without a text, and one that is none: 1 of 2 to 2 of 2, not 1 of 3 to 3 of 3.
    assert (row["value"], row["worst"], row["best"]) == (1.0, 0.5, 1.0)


def test_a_metric_can_be_held_to_the_citations_that_people_judged(cited):
    every, result = (cited(RESOLVED, nli="overlap", measures="fact", matched=matched) for matched in (False, True))
    assert [values_of(one)["old", "overlap", "fact_citations"] for one in (every, result)] == [2, 1]
    left_out = [line for line in result.rows["citations:overlap"] if line["state"] == "unjudged"]
    assert [(line["answer"], line["reason"], line["score"]) for line in left_out] == [("old/1", "not judged", None)]


def test_all_that_is_told_of_levels_is_as_recorded(cited, told, recorded):
    runs = json.loads(Path(__file__).with_name("told_runs.json").read_text(encoding="utf-8"))
    rows = {
        "judgements": JUDGEMENTS,
        "resolved": RESOLVED,
        "own": runs["own"],
        "blank": [{**row, "segments": {"dam": SOURCES["dam"]}} for row in JUDGEMENTS],
        "fact": [FACT, {**FACT, "id": 2, "citations": [], "citations_deduped": {}}],
    }
    held = {number: told(cited(rows[of], **options)) for number, (of, options) in enumerate(runs["support"])}
    recorded.held("cited-support", held)
