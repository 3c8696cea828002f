"""Columns of cells as arrays: what goes in comes out again, whatever the block in which it is read."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from metaeval import column_arrays
from metaeval.column_arrays import Cells, Coded, text_array, values_of
from metaeval.stats.arrays import codes_of

HALF = "\ud83d"
"""Half of a character, which has no UTF-8 form."""


@pytest.fixture(params=[2, 65_536])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_arrays, "BLOCK", request.param)


@pytest.mark.parametrize("texts", [[], ["a", "", "b\0", "ä" * 40, "a"], ["a", "b", HALF, "c"]])
def test_texts_come_out_as_they_went_in(texts: list[str], block: None) -> None:
    assert list(values_of(text_array(texts))) == texts
    assert list(Coded.of(texts)) == texts


def test_coded_texts_are_ranked_as_the_names_of_groups_are(block: None) -> None:
    texts = ["b", "a", "ß", "a", "Z", "b"]
    coded = Coded.of([*texts, "unused"])[:6]
    assert coded.ranks.tolist() == codes_of(texts).tolist()
    assert (coded.n_used, coded.has("a"), coded.has("unused")) == (4, True, False)


@pytest.mark.parametrize(
    "values",
    [
        [1.5, None, -0.0],
        [3, 1, 2],
        ["x", None, "1"],
        [1, None, 2],
        [True, "x", [1], None, 2.5],
        [2**63, 1],
        [2**70, 1],
        [None, None],
    ],
)
def test_cells_are_the_values_that_they_were_made_of(values: list[object], block: None) -> None:
    column = Cells.of(values)
    assert list(column) == values
    assert [column[row] for row in range(len(values))] == values
    assert column.blank.tolist() == [value is None for value in values]
    assert list(Cells.joined([column, Cells.of(["end", None])])) == [*values, "end", None]


def test_a_cell_without_a_finite_number_is_told_from_a_blank_one(block: None) -> None:
    column = Cells.of(["1", None, " 2.5 ", "yes", "nan", "1e999", "yes"])
    expected = [1.0, math.nan, 2.5, math.inf, math.inf, math.inf, math.inf]
    np.testing.assert_array_equal(column.plain, expected)
    words = {"yes": 7.0}
    np.testing.assert_array_equal(column.numbers(words.get), [1.0, math.nan, 2.5, 7.0, math.inf, math.inf, 7.0])
    np.testing.assert_array_equal(Cells(np.array([1.0, math.nan, -math.inf])).plain, [1.0, math.nan, math.inf])


def test_a_text_is_looked_at_once() -> None:
    seen: list[str] = []
    found = Cells.of(["a", "b", None, "a", "b"]).which(lambda text: not seen.append(text) and text == "a")
    assert (found.tolist(), seen) == ([True, False, False, True, False], ["a", "b"])


def test_numbers_are_written_as_python_writes_them() -> None:
    numbers = [0.0, -0.0, 1.0, -2.5, 0.1 + 0.2, 1e-4, 9.9e-5, 5e-324, 1e15 + 0.3, 1e16, -1.7e308, math.nan, 1 / 3]
    assert column_arrays.numerals(np.array(numbers)) == [
        json.dumps(number).replace("NaN", "null") for number in numbers
    ]
