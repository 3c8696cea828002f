"""Files and rows that people have, as items and as labels: all that is read, or refused, held against its record."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from metaeval.core.errors import UserError
from metaeval.decisions.citation_items import Item, items_of
from metaeval.decisions.item_labels import agreement, labelled_sample, labels_of

INPUTS = json.loads(Path(__file__).with_name("inputs.json").read_text(encoding="utf-8"))
NUMBER, QUOTED = re.compile(r"\d[\d.]*"), re.compile('"([^"]*)"')
ITEM = [field.name for field in fields(Item)]
FIELDS = (
    "name",
    "scores",
    "uncited",
    "notes",
    "unnamed",
    "what",
    "counted",
    "clusters",
    "lengths",
    "groups",
    "singles",
)


def written(case, folder):
    """What a case gives: a file, rows, or levels by id."""
    if "file" not in case:
        return case.get("rows") or case["levels"]
    (folder / case["file"]).write_text(case["text"], encoding="utf-8")
    return folder / case["file"]


def refused(read, *arguments):
    """What a call gives; of a refusal its numbers and what it quotes."""
    try:
        return read(*arguments)
    except UserError as error:
        return ["refused", NUMBER.findall(str(error)), QUOTED.findall(str(error))]


def of_items(case, folder):
    found = items_of(written(case, folder), case.get("mapping"), case.get("pipeline", ""), case.get("sources"))
    told = {name: getattr(found, name) for name in FIELDS}
    claims = {measure: found.claims.sizes(measure) for measure in ("recall", "precision")} if found.claims else {}
    rows = [{name: value for name in ITEM if (value := getattr(row, name)) not in (None, "")} for row in found.rows]
    unread = {name: str(error) for name, error in found.unread.items()}
    return told | claims | {"rows": rows, "unread": unread, "documents": len(found.as_corpus().documents)}


def of_labels(case, folder):
    items = items_of(INPUTS["labelled items"])
    labels = labels_of(written(case, folder), items, case.get("mapping"))
    sample = refused(lambda: [vars(found := labelled_sample(items, labels)), found.level, found.label(1, 2)])
    return [vars(labels), labels.three, agreement(labels), sample]


@pytest.mark.parametrize(("kind", "read"), [("items", of_items), ("labels", of_labels)])
def test_what_is_read_is_that_of_its_record(kind, read, tmp_path, monkeypatch, recorded, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("WARNING", logger="metaeval")  # a command before this test may have asked for more
    found = {name: refused(read, case, Path()) for name, case in INPUTS[kind].items()}
    recorded.held(
        f"decisions-{kind}",
        found | {"warnings": [NUMBER.findall(said) + QUOTED.findall(said) for said in caplog.messages]},
    )
