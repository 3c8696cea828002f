"""Runs whose intervals take systems as sampled too: `interval.cluster`."""

from __future__ import annotations

import numpy as np
import pytest

import metaeval
from metaeval.core.errors import UserError

CLUSTER = {"interval": {"cluster": "group,system", "fewest": 2}}


def ratings(systems=True):
    rng = np.random.default_rng(0)
    shift = rng.normal(size=(8, 2))
    rows = []
    for article in range(20):
        for system in range(8):
            gold = float(rng.integers(2))
            scores = gold + shift[system] + rng.normal(size=2)
            named = {"system": f"s{system}"} if systems else {}
            row = {"id": f"{article}-{system}", "group": f"a{article}", "gold": gold, **named}
            rows.append(row | {"mine": float(scores[0]), "theirs": float(scores[1])})
    return rows


def evaluated(tmp_path, rows, **settings):
    chosen = {"protocols": ("classification", "retrieval"), "results": tmp_path, **settings}
    return metaeval.evaluate(dataset="ratings", data=rows, **chosen)


def test_both_effective_numbers_stand_under_the_table(tmp_path):
    by_area, by_rank = evaluated(tmp_path, ratings(), **CLUSTER)
    alone, _ = evaluated(tmp_path, ratings())

    (systems, _, most), (groups, _, most_groups) = (by_area.interval.effective[name] for name in ("system", "group"))
    assert (systems, groups) == (8, 20)
    assert most <= 8 < most_groups <= 20
    for row, other in zip(by_area.rows[:2], alone.rows[:2], strict=True):
        value, narrower = row.values["auc"], other.values["auc"]
        assert value.value == narrower.value
        assert value.high - value.low > narrower.high - narrower.low
        assert "|by:group+system|" in row.signature
    # An article's pool holds a row of each system, so that its ranking belongs to none of them.
    assert set(by_rank.interval.effective) == {"group"}


def test_data_without_systems_and_resamples_of_groups_are_refused(tmp_path):
    with pytest.raises(UserError, match="needs to know the system of each row"):
        evaluated(tmp_path, ratings(systems=False), **CLUSTER)
