"""Cells of people's tables: what each is, as text, number, list, blank, or for no number."""

import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas

from metaeval.core import cells

HERE = Path(__file__).parent
CELLS = json.loads((HERE / "cells.json").read_text(encoding="utf-8"))
OTHERS = [math.nan, math.inf, -math.inf, ("a", "b"), Decimal("NaN"), Decimal("1.5"), pandas.NaT, np.float64(2)]
HEADINGS = json.loads((HERE / "headings.json").read_text(encoding="utf-8"))
OF_ONE = (
    *(cells.cell_list, cells.text_of, cells.number_in, cells.number_of, cells.is_finite, cells.is_endless),
    *(cells.is_blank, cells.is_missing, cells.is_no_number, cells.is_of_other_locale),
)
COLUMNS = {
    "floats": [1.5, None, math.nan, 2.0],
    "whole": [1, 2, -3],
    "whole and none": [1, None],
    "whole and float": [1, 2.5],
    "large": [2**63 - 1, -(2**63) + 1],
    "too large": [2**63, 1],
    "texts": ["a", " ", "", "NaN"],
    "truth": [True, False],
    "tuples": [("a", "b"), None],
    "arrays": [np.array(["a"]), np.int64(3)],
    "frame": pandas.Series([1, 2], dtype="float32"),
    "whole frame": pandas.Series([1, 2], dtype="int32"),
    "small": np.array([1, 2], "int8"),
    "masked": np.ma.array([1.5, 2.5], mask=[False, True]),
    "nullable": pandas.array([2, None], dtype="Int64"),
    "endless": [math.inf, 1.0, "1e999", "2", " ", None, True, [1], "1_0"],
    "categories": pandas.Categorical(["b", "a", "b"]),
}


def test_what_each_cell_is(recorded):
    found = {
        use.__name__: [type(told).__name__ + f" {told}" if isinstance(told, float) else told for told in answers]
        for use in OF_ONE
        for answers in [[recorded.told(use, cell) for cell in (*CELLS, *OTHERS)]]
    }
    found |= {use.__name__: [*map(use, HEADINGS)] for use in (cells.plain_heading, cells.without_brackets)}
    recorded.held("core-cells", found)


def test_what_a_column_holds(recorded):
    found = {}
    for name, column in COLUMNS.items():
        made = cells.cells_of(column)
        known, codes = cells.distinct(made)
        found[name] = [str(made.dtype), made, cells.plain_numbers(made), known, codes, cells.each(repr, made)]
    many = cells.objects([f"t{n}" for n in range(900)] * 2)
    more = cells.objects([f"t{n}" for n in range(901)] * 2)
    found["distinct"] = [[len(part) for part in cells.distinct(column)] for column in (many, more)]
    recorded.held("core-columns", found)
