"""Every reader against every fault: no traceback, nothing silently wrong; and the page that says so is up to date.

The suite tries every tenth case of each reader; `make test-slow` tries all of them.
"""

from __future__ import annotations

from itertools import islice

import pytest

from tests.faults import ENDS, LONGEST, cases, mutations, outcomes, page

FEWEST = 1000


def check(found):
    assert [str(one) for one in found if one.ended not in ENDS[:2]] == []
    assert len({(one.reader, one.case.family, one.case.label) for one in found}) > FEWEST
    assert max(len(one.said) for one in found) <= LONGEST


def test_every_tenth_fault_is_one_sentence_or_none():
    check(list(outcomes(lambda reader: islice(cases(reader), 3, None, 10))))


@pytest.mark.slow
def test_every_fault_is_one_sentence_or_none_and_the_page_is_up_to_date(pytestconfig):
    found = list(outcomes(cases))
    check(found)
    written = (pytestconfig.rootpath / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
    assert written == page(found), "type: python -m tests.faults > docs/reference/faults.md"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_random_changes_of_bytes_end_in_one_sentence_or_are_read(seed):
    times = 20 if seed == 1 else 300
    found = list(outcomes(lambda reader: mutations(reader, seed, times)))
    assert [str(one) for one in found if one.ended not in ENDS[:2]] == []
