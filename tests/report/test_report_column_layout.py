"""Which columns share a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.report.column_layout import GAP, packed


@pytest.mark.parametrize(
    ("widths", "groups", "room", "expected"),
    [
        # A column costs its width and a GAP of 2.
        ([3, 3, 3], [], 10, ((0, 1), (2,))),
        ([3, 3, 3], [2, 1], 15, ((0, 1, 2),)),
        ([3, 3, 3], [1, 2], 14, ((0,), (1, 2))),
        # A group too wide for any table is parted.
        ([3, 3, 3], [3], 10, ((0, 1), (2,))),
        ([30], [], 10, ((0,),)),
    ],
)
def test_columns_are_packed(widths, groups, room, expected):
    assert packed(widths, groups, room) == expected


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(3, 40))
def test_packing_keeps_every_column_in_order_and_whole_groups_together(groups, room):
    widths = [width for group in groups for width in group]
    parts = packed(widths, [len(group) for group in groups], room)
    assert [position for part in parts for position in part] == list(range(len(widths)))
    assert all(parts)
    start = 0
    for group in groups:
        if sum(GAP + width for width in group) <= room:
            assert sum(start in part for part in parts) == 1
            assert any(set(range(start, start + len(group))) <= set(part) for part in parts)
        start += len(group)
