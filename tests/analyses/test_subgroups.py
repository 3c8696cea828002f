"""Parts of the data: which rows are in them, and that a part's value is the measure of those rows alone."""

import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from metaeval.analyses.comparing.subgroups import by_part, parts_of
from metaeval.analyses.panel import load_panel
from metaeval.core import registry
from metaeval.core.config import load_run

CORRELATION = registry.find("protocol", "correlation")


def corpus(path):
    """Statements of 2 to 5 words by two systems on documents of 1 to 4 chunks (chunk.size=4)."""
    rows = [{"type": "corpus", "format": "metaeval-corpus/1", "name": "parted"}]
    for number in range(12):
        sentences = [f"Word{number} is here {part}." for part in range(1 + number % 4)]
        rows.append({"type": "document", "id": f"d{number}", "sentences": sentences})
        for level in ("full", "partial", "none"):
            text = " ".join(["Word", f"{number}", level, "words", "more"][: 2 + number % 4])
            key = f"s{number}-{level}"
            rows.append(
                {"type": "statement", "id": key, "text": text, "group": f"g{number}", "system": f"sys{number % 2}"}
            )
            evidence = {} if level == "none" else {"evidence": {"sentences": [0]}}
            rows.append({"type": "citation", "statement": key, "document": f"d{number}", "level": level} | evidence)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    return {
        "dataset": "jsonl",
        "data": corpus(folder / "parted.jsonl"),
        "chunk": {"size": 4},
        "metrics": "overlap,rouge",
        "interval": {"resamples": 30},
        "results": folder,
    }


@pytest.fixture(scope="module")
def panel(settings):
    return load_panel(load_run(None, settings), True)


def named(panel, by):
    (_, whole), *parts = parts_of(panel, panel.source.frame(CORRELATION), by)
    assert whole.all()
    assert np.array_equal(sum(inside.astype(int) for _, inside in parts), np.ones(whole.size))
    return dict(parts)


@pytest.mark.parametrize(
    ("by", "sizes"),
    [
        # Groups of even number by sys0, each with 3 statements; documents of 1, 2, 3, 4 chunks in turn: even 1 and 3.
        ("system", {"sys0": 36, "sys1": 54}),
        # A quarter of the statements each has 2, 3, 4, 5 words; in rows: 1, 2, 3, 4 chunks x 3 groups x 3 levels.
        ("length", {"up to 2 words": 9, "3 words": 18, "4 words": 27, "over 4 words": 36}),
        # By middles: of 2 chunks 1/4 and 3/4, of 3 1/6, 1/2 and 5/6, of 4 1/8, 3/8, 5/8 and 7/8; 9 statements on each.
        (
            "position",
            {"first third": 27, "middle third": 9 * (1 + 2), "last third": 27, "the document's only chunk": 9},
        ),
    ],
)
def test_systems_quartiles_of_length_and_thirds_of_the_document_have_their_rows(panel, by, sizes):
    assert {name: int(inside.sum()) for name, inside in named(panel, by).items()} == sizes


def test_the_value_of_a_part_is_that_of_its_rows(panel, recorded):
    sheets = {sheet.name: sheet for sheet in by_part(panel, "length")}
    others = {sheet.name: sheet for by in ("position", "system") for sheet in by_part(panel, by)}
    recorded.held("analyses-subgroups", {name: recorded.sheet(sheet) for name, sheet in (sheets | others).items()})
    found, frame = named(panel, "length"), panel.source.frame(CORRELATION)
    for record in sheets["correlation-by-length"].records:
        if record["part"] == "all":
            continue
        inside = found[record["part"]]
        column = next(column for column in panel.columns if column.name == record["metric"])
        score, gold = column.score[frame.numbers][inside], frame.gold[inside]
        assert record["value"] == pytest.approx(spearmanr(score, gold).statistic, abs=1e-12)
        assert (record["rows"], record["groups"]) == (score.size, 3)


@pytest.mark.parametrize(("fewest", "marks"), [(6, ()), (2, ("†",))])
def test_few_groups_are_marked_where_there_is_an_interval(settings, fewest, marks):
    panel = load_panel(load_run(None, {**settings, "interval": {"resamples": 30, "fewest": fewest}}), True)
    sheet = by_part(panel, "length")[0]

    groups = [line.cells[1] for line in sheet.lines]
    assert [(cell.number, cell.marks) for cell in groups] == [("12", ()), *[("3", marks)] * 4]
    assert [note.label for note in sheet.footnotes if "fewer than 10 groups" in note.text] == list(marks)


def test_a_part_with_nothing_to_rank_has_no_ndcg(panel):
    (sheet,) = (sheet for sheet in by_part(panel, "length") if sheet.name == "retrieval-by-length")

    # Statements of two words stand on documents of one chunk: a pool of one candidate.
    short = next(record for record in sheet.records if record["part"] == "up to 2 words")
    assert (short["value"], short["note"]) == (None, "the candidates of each statement are of one level")


def test_positions_part_no_pool(panel):
    names = [sheet.name for sheet in by_part(panel, "position")]
    assert names == ["classification-by-position", "correlation-by-position"]


def test_a_part_with_two_gold_values_keeps_its_concordance(tmp_path, recorded):
    # System a's texts are rated 0 or 1, b's 0 to 3: over all rows the measure is concordance, in a's ROC-AUC.
    topics = ("", "10", "9.5", "b", "-1")
    rows = [
        {"id": f"{system}{n}", "group": f"g{n % 20}", "gold": n % levels, "system": system, "subset": f"half {n % 2}"}
        | {"scores": {"m": n % levels + n % 3, "n": n % 5}, "fields": {"topic": topics[n % 5], "each": f"{system}{n}"}}
        for system, levels in (("a", 2), ("b", 4))
        for n in range(31 - levels // 4)
    ]
    rows = [row | {"fields": {**row["fields"], "most": n % 60}} for n, row in enumerate(rows)]
    path = tmp_path / "rated.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = load_run(None, {"dataset": "ratings", "data": path, "metrics": "m,n", "protocols": "classification"})

    panel = load_panel(config, True)
    (sheet,) = by_part(panel, "system")
    others = {by: [recorded.sheet(one) for one in by_part(panel, by)] for by in ("topic", "subset", "most")}
    others["each"] = recorded.told(by_part, panel, "each")
    recorded.held("analyses-subgroups-of-ratings", others | {"system": recorded.sheet(sheet)})

    found = {(record["part"], record["metric"]): record for record in sheet.records}
    gold, score = np.arange(31) % 2, np.arange(31) % 2 + np.arange(31) % 3
    assert found["a", "m"]["measure"] == "concordance"
    assert found["a", "m"]["value"] == pytest.approx(roc_auc_score(gold, score), abs=1e-12)
