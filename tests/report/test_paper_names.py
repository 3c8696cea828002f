"""The words of a paper: names from cards, what measures are, and a mark that stands nearly everywhere."""

import re
from pathlib import Path

from metaeval.analyses.paper_wording import paper_wording
from metaeval.display_text import count
from metaeval.report import table_notes
from metaeval.report.paper_names import Wording
from metaeval.report.paper_tables import score_table
from metaeval.report.result import Column, Result, Row, Value
from metaeval.report.table import NO_DATA, Note, Table, blocks_of
from metaeval.report.table_files import table_text

ROOT = Path(__file__).parents[2]


def test_names_are_those_of_the_cards_longest_first_and_only_whole():
    wording = paper_wording()
    names = {
        "autoais": "AutoAIS",
        "minilm-bertscore": "MiniLM BERTScore",
        "bertscore-f1": "BERTScore-f1",
        "overlap (control)": "overlap (control)",
        "support-mini": "support-mini",
        "nlip": "nlip",
        "bm25 > my-bm25": "BM25 > my-bm25",
        "wice, test": "WiCE, test",
    }
    assert {name: wording.named(name) for name in names} == names
    assert Wording().named("autoais") == "autoais"


def test_latex_alone_has_them_and_its_caption_says_what_the_measures_are():
    table = Table(
        key=("paper", "correlation"),
        title="Title",
        subtitle="wice, test",
        headings=("Kendall", "paper"),
        blocks=blocks_of([("", "bm25", ["0.5", "0.6"])]),
        footer=(Note("significance", "of", (("bm25", "p 0.1"),)),),
    )
    wording = paper_wording()
    latex = table_text(table, "latex", wording=wording)
    assert r"\caption{Title (WiCE, test). Kendall: Kendall's tau-b.}" in latex
    assert "BM25 & 0.5" in latex
    assert "% significance: of BM25: p 0.1" in latex
    assert r"\label{tab:paper-correlation}" in latex
    for form in ("text", "markdown", "csv"):
        assert table_text(table, form, wording=wording) == table_text(table, form)
    other = Table(title="Title", stub="system", headings=("x",), blocks=blocks_of([("", "bm25", ["1"])]))
    assert "bm25 & 1" in table_text(other, "latex", wording=wording), "a system of that name is not the metric"


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


def test_a_mark_at_nearly_every_value_is_one_sentence():
    # 4 of 5 values are marked: one sentence, which names the fifth. 3 of 5 are fewer than four: marks stay.
    table = score_table([_result("a")])
    assert not [cell.marks for line in table.lines for cell in line.cells if table_notes.LEVEL in cell.marks]
    said = next(note.text for note in table.footer if note.label == "all values")
    assert said == "No value is significantly better than every control, but for bm25 (A, d, test)."
    marked = score_table([_result("ab")])
    assert [table_notes.LEVEL in cell.marks for cell in marked.lines[0].cells] == [False, False, True, True, True]
    assert "all values" not in {note.label for note in marked.footer}


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


PLURAL = re.compile(r"(?<!of )(?<!of the )(?<!than )(?<!than the )(?<!takes )(?<!most )\{[a-z][^{}\"]*:,\} ([a-z]+s)\b")
LIMITS = {"bytes", "digits", "tokens", "groups", "rows"}
"""Words of limits, of which there is never one."""


def test_a_count_has_its_noun_in_the_right_number():
    counts = {"1 reply": (1, "reply"), "2 replies": (2, "reply"), "1,200 keys": (1200, "key"), "0 rows": (0, "row")}
    assert {text: count(*of) for text, of in counts.items()} == {text: text for text in counts}


def test_messages_count_with_the_function_that_knows_the_number_one():
    """`f"{n:,} replies"` says 1 replies; sums of what is always several are listed here."""
    several = (
        "of their gold",
        "variants were tried",
        "inputs are more",
        "rows have",
        "soft accuracy",
        "answers; the first",
    )
    found = [
        f"{path.name}: {line.strip()}"
        for folder in ("metaeval",)
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name not in ("sentence_templates.py", "multiverse.py", "rank_stability.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        for match in PLURAL.finditer(line)
        if match[1] not in ("has", "is", *LIMITS) and not any(words in line for words in several)
    ]
    assert found == []
