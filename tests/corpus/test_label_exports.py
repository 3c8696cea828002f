"""Exports of label tools: the same labels, whatever tool wrote them."""

import json
from collections import Counter
from pathlib import Path
from types import MappingProxyType

import pytest

from metaeval.core.errors import UserError
from metaeval.core.files import csv_text
from metaeval.core.tables import read_table
from metaeval.corpus.label_exports import label_export
from metaeval.corpus.loaders.ratings import read_ratings
from metaeval.decisions.citation_items import items_of
from metaeval.decisions.item_labels import labels_of

CASES = json.loads(Path(__file__).with_name("label_exports.json").read_text(encoding="utf-8"))
TASKS = [
    {"id": f"c{n}", "statement": f"Dam {n} is tall.", "passage": f"Dam {n} has {n} metres.", "group": f"g{n // 2}"}
    for n in range(8)
]
LEVELS = ["full", "partial", "none", "full", "full", "none", "full", "partial"]
PAIRS = [*zip(TASKS, LEVELS, strict=True)]
WORDS = {"full": "Fully supports", "partial": "Partly supported", "none": "Not supported"}
NUMBERS = {"full": 2, "partial": 1, "none": 0}
OPTIONS = [{"id": number, "text": text} for number, text in enumerate(WORDS.values())]
HASHES = {"_input_hash": 5, "_task_hash": 6, "_view_id": "choice", "_timestamp": 1, "_session_id": "ds-ana"}


def choice(name, text):
    return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [text]}}


def label_studio(task, level, *more):
    given = {"completed_by": {"id": 7, "email": "ana"}, "result": [choice("support", level), *more]}
    dropped = {"completed_by": 8, "was_cancelled": True, "result": [choice("support", "none")]}
    return {"id": 1, "data": task, "annotations": [given, dropped], "predictions": [{"result": []}], "project": 3}


def columns(number, task, level):
    tool = {"annotator": 7, "annotation_id": 50 + number, "created_at": "x", "updated_at": "x", "lead_time": 2.5}
    return {**task, "id": number, "level": level, **tool}


def argilla(task, responses, **more):
    texts = {name: task[name] for name in ("statement", "passage")}
    return {"id": "u-1", "external_id": task["id"], "fields": texts, "metadata": {}, "responses": responses, **more}


OTHER = {"user_id": "u2", "status": "discarded", "value": "none"}
EXPORTS = {
    "label-studio": [label_studio(task, level) for task, level in PAIRS],
    "label-studio-columns": [columns(n, task, level) for n, (task, level) in enumerate(PAIRS)],
    "argilla-columns": [
        {
            **{**task, "support.responses": [level, "none"], "support.responses.users": ["u1", "u2"]},
            **{"support.responses.status": ["submitted", "discarded"], "support.suggestion": "none"},
        }
        for task, level in PAIRS
    ],
    "argilla-nested": [
        argilla(task, {"q": [{"user_id": "u1", "value": level}, OTHER]}, suggestions={"q": {"value": "none"}})
        for task, level in PAIRS
    ],
    "argilla-1": [
        argilla(task, [{"user_id": "u1", "status": "submitted", "values": {"q": {"value": NUMBERS[level]}}}])
        for task, level in PAIRS
    ],
    "argilla-1-columns": [
        {"external_id": task["id"], "q": [{"user_id": "u1", "value": level}, OTHER], "q-suggestion": "none"}
        for task, level in PAIRS
    ],
    "prodigy": [
        {"meta": {"id": task["id"]}, "accept": [NUMBERS["full"] - NUMBERS[level]], "answer": "accept", **HASHES}
        | {"options": OPTIONS}
        for task, level in PAIRS
    ],
    "doccano": [
        {"id": 90 + n, "item_id": task["id"], "text": "x", "label": [WORDS[level]]}
        for n, (task, level) in enumerate(PAIRS)
    ],
    "doccano-texts": [
        {"id": 90 + n, "text": task["statement"], "cats": [level]} for n, (task, level) in enumerate(PAIRS)
    ],
}


def written(path, records):
    if path.suffix == ".csv":
        path.write_text(csv_text([list(records[0]), *(list(record.values()) for record in records)]))
    else:
        path.write_text(json.dumps(records) if path.suffix == ".json" else "\n".join(map(json.dumps, records)))
    return path


def levels_in(path, **mapping):
    return labels_of(path, items_of(TASKS), mapping)


def test_an_export_has_the_levels_that_people_chose(tmp_path):
    expected = {task["id"]: (NUMBERS[level],) for task, level in PAIRS}
    for number, records in enumerate(EXPORTS.values()):
        path = written(tmp_path / f"export{('.json', '.jsonl')[number % 2]}", records[::-1])
        assert levels_in(path).levels == expected
        ratings = read_ratings(path)
        assert Counter(ratings.columns.gold.tolist()) == Counter(NUMBERS[level] for level in LEVELS)
        assert not ratings.scores  # numbers of the tool are no metrics


def test_what_is_read_of_an_export(tmp_path, recorded, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def exported(records, mapping=MappingProxyType({}), wanted="", known=()):
        """records: an export. mapping, wanted, known: as in `label_export`."""
        path = written(Path("export.jsonl"), records)
        read = recorded.told(lambda: label_export(read_table(path), mapping, wanted, known))
        if not isinstance(read, tuple):
            return read
        table, question, note, needs = read
        return [[row.cells for row in table.rows], [*table.frame.index], question, recorded.named(note), needs]

    found = {f"varied {number}": exported(*case) for number, case in enumerate(CASES["varied"])}
    ends = ("ations", "responses", "accept", "label", "cats", "q", "level")
    for tool, (first, second, *_) in EXPORTS.items():
        field = next(name for name in first if name.endswith(ends))
        found[tool] = [exported([first, second]), *(exported([{**first, field: broken}]) for broken in CASES["broken"])]
    recorded.held("corpus-label-exports", found)


def test_a_csv_of_label_studio_and_yes_and_no_of_prodigy(tmp_path):
    path = written(tmp_path / "export.csv", EXPORTS["label-studio-columns"][:3])
    assert levels_in(path).levels == {"c0": (2,), "c1": (1,), "c2": (0,)}
    answers = ["accept", "reject", "ignore", "accept"]
    records = [{"id": f"c{n}", "label": "SUPPORTED", "answer": said, **HASHES} for n, said in enumerate(answers)]
    labels = levels_in(written(tmp_path / "export.jsonl", records))
    assert labels.levels == {"c0": (2,), "c1": (0,), "c3": (2,)}
    assert labels.blank == ("c2",)
    assert "1 ignored" in labels.notes[0]


def test_annotators_are_told_apart(tmp_path):
    records = [label_studio(task, level) for task, level in PAIRS]
    for record in records:
        record["annotations"][1]["was_cancelled"] = False
    in_columns = {"support.responses.users": ["ana", "8"], "support.responses.status": ["submitted"] * 2}
    listed = [columns(0, TASKS[0], "full") | {"annotator": "ana"}, columns(0, TASKS[0], "none") | {"annotator": 8}]
    for tool in (records, [row | in_columns for row in EXPORTS["argilla-columns"]], listed):
        path = written(tmp_path / "export.jsonl", [*tool, columns(1, TASKS[1], "full")] if tool is listed else tool)
        assert levels_in(path).levels["c0"] == (2, 0)
        assert read_ratings(path).columns.votes[0] == {"ana": 2.0, "8": 0.0}


def test_of_two_questions_with_levels_one_is_to_be_named(tmp_path):
    records = [label_studio(task, level, choice("readable", "yes")) for task, level in PAIRS]
    path = written(tmp_path / "export.json", records)
    with pytest.raises(UserError, match=r"support.*readable"):
        levels_in(path)
    assert levels_in(path, level="support").levels["c2"] == (0,)
    assert read_ratings(path, {"gold": "support"}).columns.gold.tolist()[:3] == [2, 1, 0]
    comments = [label_studio(task, level, choice("why", "so")) for task, level in PAIRS]
    assert levels_in(written(path, comments)).levels["c2"] == (0,)


def test_an_unknown_id_says_where_the_tool_should_have_it(tmp_path):
    records = [{"id": n, "text": f"other {n}", "label": ["full"]} for n in range(3)]
    with pytest.raises(UserError, match="item_id"):
        levels_in(written(tmp_path / "export.jsonl", records))
    with pytest.raises(UserError, match="no column for the level"):
        levels_in(written(tmp_path / "other.jsonl", [{"id": "c1", "annotated": ["full"]}]))
