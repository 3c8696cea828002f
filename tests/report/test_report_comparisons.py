"""Pairs of metrics: raised letters, the significance note, and the table of pairs."""

from itertools import combinations

import pytest

from metaeval.errors import UserError
from metaeval.report.result import Comparison, Significance, placed
from metaeval.report.result_tables import comparison_grid, lay_out
from metaeval.report.table import format_p


def _many(full, count, different):
    """`count` metrics m0, m1, ...; under NDCG@5 the pairs in `different` differ, the lower number being better."""
    value = full.rows[0].values["ndcg5"]
    rows = [
        full.rows[0].model_copy(
            update={"metric": f"m{number}", "values": {"ndcg5": value.model_copy(update={"value": 0.9 - number / 10})}}
        )
        for number in range(count)
    ]
    pairs = [
        Comparison(
            measure="ndcg5",
            one=f"m{a}",
            other=f"m{b}",
            rows=100 + a,
            difference=0.1,
            p=0.001,
            holm=0.05 if (a, b) in different else 0.0501,
        )
        for a, b in combinations(range(count), 2)
    ]
    tested = Significance(permutations=1000, seed=0, alpha=0.05, comparisons=pairs)
    return full.model_copy(update={"rows": placed(rows, tested), "significance": tested, "columns": full.columns[:1]})


def _standing(result):
    return next(note for note in lay_out(result).footer if note.label == "significance")


def test_two_metrics_get_their_p_and_raised_letters_before_the_other_marks(full):
    note = _standing(full)
    assert "share a letter in a column are not significantly different (paired cluster t, " in note.text
    assert note.text.endswith("p Holm-adjusted, alpha 0.05)")
    assert note.items == (
        ("NDCG@5", "p 0.0504"),
        ("AUC full/none", "1 of 1 pairs not decided: no pair of both levels"),
        ("Pearson r", "p 0.0010"),
    )
    assert [cell.marks for cell in lay_out(full).lines[0].cells] == [("a",), (), ("b", "†")]


@pytest.mark.parametrize(
    ("p", "expected"), [(1 / 1001, "0.0010"), (0.0504, "0.0504"), (1.0, "1.0000"), (0.00002, "<0.0001"), (None, "–")]
)
def test_p_is_never_nothing(p, expected):
    assert format_p(p) == expected


def test_the_grid_has_a_row_for_each_pair_and_measure(full):
    grid = comparison_grid(full)
    assert [block.title for block in grid.blocks] == ["NDCG@5", "AUC full/none", "Pearson r"]
    assert [line.name for line in grid.lines] == [
        "minilm-bertscore ≈ judge[bold]_3|x%",
        "minilm-bertscore ? judge[bold]_3|x%",
        "minilm-bertscore < judge[bold]_3|x%",
    ]
    assert [(cell.number, cell.interval) for cell in grid.lines[0].cells] == [
        ("-0.027", "-0.060 to +0.010"),
        ("0.0504", ""),
        ("0.0504", ""),
    ]
    assert [cell.number for cell in grid.lines[1].cells] == ["–", "–", "–"]
    assert [(note.label, note.text) for note in grid.footnotes] == [("1", "no pair of both levels")]
    assert grid.signatures == tuple(row.signature for row in full.rows[:2])


def test_numbers_of_rows_are_a_column_only_when_they_differ(full):
    assert comparison_grid(full).headings == ("difference", "p", "Holm")
    assert "3,797, scored by both metrics" in {note.text for note in comparison_grid(full).footer}
    several = comparison_grid(_many(full, 3, set()))
    assert [line.cells[-1].number for line in several.lines] == ["100", "100", "101"]


def test_p_of_a_single_test_is_not_called_adjusted(full):
    single = full.model_copy(update={"significance": full.significance.model_copy(update={"tests": 1})})
    grid = comparison_grid(single)
    assert grid.headings == ("difference", "p")
    assert [cell.number for cell in grid.lines[0].cells] == ["-0.027", "0.0504"]
    assert not any("Holm" in note.text for note in grid.footer)


def test_a_result_of_one_metric_has_no_pairs(result):
    with pytest.raises(UserError, match="'x_y%\\[wice\\]' compares no pairs of metrics"):
        comparison_grid(result)
