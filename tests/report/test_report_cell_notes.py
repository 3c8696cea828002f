"""What stands below a number: the attainable maximum, the published value, and their notes."""

import csv
import io

import pytest

from metaeval.report.result import Column, Data, Row
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import table_text
from metaeval.report.table_notes import asides
from metaeval.stats.estimate import Estimate

PEARSON = Column(key="pearson", label="Pearson r")


def _row(value, kind="metric"):
    return Row(metric="m", kind=kind, values={"pearson": value}, total=1, scored=1, unscored=0, signature="s")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # 0.585 / 0.899 = 0.6507
        (Estimate(0.585, ceiling=0.899), ("65 % of .899",)),
        (Estimate(0.585, ceiling=0.899, published=0.585), ("65 % of .899", "paper .585")),
        (Estimate(-0.09, ceiling=0.9), ("-10 % of .900",)),
        # 0.8984 / 0.8991 = 0.9992 rounds to 100, but 0.898 is not 0.899.
        (Estimate(0.8984, ceiling=0.8991), ("99 % of .899",)),
        (Estimate(0.8990, ceiling=0.8991), ("100 % of .899",)),
        # 0.9996 prints as 1.000: nothing to say.
        (Estimate(0.5, ceiling=0.9996), ()),
        (Estimate(0.5, ceiling=1.0), ()),
        (Estimate(0.0, ceiling=0.0), ()),
        (Estimate(None, ceiling=0.9, published=0.1, note="constant"), ("paper .100",)),
        (Estimate(0.5), ()),
    ],
)
def test_an_aside_is_a_share_of_the_ceiling_then_the_published_value(value, expected):
    assert asides(_row(value), PEARSON) == expected


def test_a_control_has_no_aside():
    assert asides(_row(Estimate(0.5, ceiling=0.9, published=0.5), "control"), PEARSON) == ()


def test_the_footer_explains_asides_by_the_first_and_names_perfect_metrics(full):
    footer = {note.label: note.text for note in lay_out(full).footer}
    # 0.0421 / 0.8991 = 0.0468
    assert footer["ceiling"].startswith("5 % of .899: ")
    assert footer["perfect metric"] == "continuous Pearson r 0.899; binary Pearson r 0.962"
    assert footer["published"] == "paper .585: published on the same data (arXiv 2406.15264, Table 2)"


def test_a_result_without_them_says_nothing_of_them(result):
    labels = {note.label for note in lay_out(result).footer}
    assert labels.isdisjoint({"ceiling", "perfect metric", "published", "significance"})


def test_csv_has_the_raw_numbers(full):
    records = list(csv.DictReader(io.StringIO(table_text(lay_out(full), "csv"), newline="")))
    keys = ("ceiling", "published", "letters", "rank_low", "rank_high")
    rows = [tuple(record[key] for key in keys) for record in records if record["measure"] == "pearson"]
    assert rows[:3] == [("0.8991", "0.5849", "b", "2", "2"), ("0.9617", "", "a", "1", "1"), ("",) * 5]


def test_a_rating_has_no_citations_and_no_pairs(result):
    counts = {"statements": 2246, "documents": 0, "citations": 0, "groups": 1}
    levels = {"1": 4, "0.5": 3, "0": 2, "10": 1}
    data = Data(name="frank", split="all", fingerprint="0" * 64, levels=levels, **counts)
    lost = {"total": 3, "scored": 2, "unscored": 1, "statuses": {"timeout": 1}}
    row = _row(Estimate(0.5, worst=0.4, best=0.6)).model_copy(update=lost)
    rated = {"unit": "rating", "data": data, "columns": [PEARSON], "rows": [row]}
    grid = lay_out(result.model_copy(update=rated))
    footer = {note.label: note.text for note in grid.footer}
    assert footer["data"] == ("frank, all: 2,246 statements, 1 group; levels 10 1 / 1 4 / 0.5 3 / 0 2")
    assert footer["ratings"] == "2 scored + 1 unscored (timeout) + 0 excluded = 3"
    assert grid.subtitle == "frank, all, ratings"
    assert "m 1 of 3 (timeout)" in grid.footnotes[0].text
