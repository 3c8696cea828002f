"""The names that a paper prints, titles of demo data, and counts with their nouns."""

import re

from metaeval.display_text import count
from metaeval.report.paper_tables import score_table
from metaeval.report.result import Column, Result, Row, Value
from metaeval.report.table import NO_DATA, Note, Table, blocks_of
from metaeval.report.table_files import table_text

LABELS = {"bm25": "BM25", "bertscore": "BERTScore", "minilm-bertscore": "MiniLM", "wice": "WiCE"}


def test_labels_replace_whole_names_the_longest_first_in_every_format_but_csv():
    lines = [("", name, ["0.5"]) for name in ("bm25", "minilm-bertscore", "bertscore-f1", "bm25 > my-bm25")]
    table = Table(
        key=("paper", "correlation"),
        title="Title",
        subtitle="wice, test",
        headings=("Kendall",),
        blocks=blocks_of(lines),
        footer=(Note("significance", "of", (("bm25", "p 0.1"),)),),
    )
    latex = table_text(table, "latex", labels=LABELS)
    assert r"\caption{Title (WiCE, test).}" in latex
    assert re.findall(r"(?m)^    (.*) & 0.5", latex) == [
        "BM25",
        "MiniLM",
        "BERTScore-f1",
        r"BM25 \textgreater{} my-bm25",
    ]
    assert "significance: of BM25: p 0.1" in latex
    assert r"\label{tab:paper-correlation}" in latex
    assert "BERTScore-f1" in table_text(table, "text", labels=LABELS)
    assert table_text(table, "csv", labels=LABELS) == table_text(table, "csv")


COLUMNS = [Column(key=key, label=key.upper()) for key in "abcde"]


def _result(above: str, demo: bool = False, name: str = "d") -> Result:
    """A tested result with a metric whose values are all at a control's level, but for the measures `above`."""
    values = {column.key: Value(value=0.5, low=0.4, high=0.6) for column in COLUMNS}
    not_above = {column.key: ["overlap"] for column in COLUMNS if column.key not in above}
    counts = {"scored": 1, "unscored": 0, "total": 1, "statuses": {}, "excluded": {}}
    row = Row.model_validate(
        {"metric": "bm25", "kind": "metric", "signature": "s", "values": values, "not_above": not_above, **counts}
    )
    tests = {
        "controls": [
            {"measure": column.key, "one": "bm25", "other": "overlap", "p": 0.5, "rows": 1, "difference": 0.0}
            for column in COLUMNS
        ],
        **{"comparisons": [], "tests": 1, "permutations": 10, "seed": 0, "alpha": 0.05, "family": "column"},
    }
    return Result.model_validate(
        {
            **{
                "protocol": "p",
                "title": f"Against {'demo' if demo else 'human'} levels",
                "unit": "chunk",
                "settings": {},
            },
            "data": NO_DATA.model_copy(update={"name": name, "split": "test", "demo": demo}),
            **{"columns": COLUMNS, "rows": [row], "significance": tests},
            "interval": {"level": 0.95, "resamples": 10, "seed": 0},
        }
    )


def test_the_cells_of_a_suite_have_intervals_in_every_format():
    table = score_table([_result("")])
    assert "0.400–0.600" in table_text(table, "text")
    assert "0.400–0.600" in table_text(table, "markdown")
    assert "[0.400, 0.600]" in table_text(table, "latex")


def test_human_labels_are_called_demo_only_where_all_are():
    titles = [
        score_table([_result("", demo, name) for name, demo in sets]).title
        for sets in ([("d", True)], [("d", True), ("e", False)], [("e", False)])
    ]
    assert titles == ["Against demo levels", "Against human or demo levels", "Against human levels"]


def test_a_count_has_its_noun_in_the_right_number():
    counts = {"1 reply": (1, "reply"), "2 replies": (2, "reply"), "1,200 keys": (1200, "key"), "0 rows": (0, "row")}
    assert {text: count(*of) for text, of in counts.items()} == {text: text for text in counts}
