"""The names that a paper prints, titles of demo data, and counts with their nouns."""

import re

from metaeval.core.errors import count
from metaeval.report.table import Note, Table, blocks_of
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


def test_a_count_has_its_noun_in_the_right_number():
    counts = {"1 reply": (1, "reply"), "2 replies": (2, "reply"), "1,200 keys": (1200, "key"), "0 rows": (0, "row")}
    assert {text: count(*of) for text, of in counts.items()} == {text: text for text in counts}
