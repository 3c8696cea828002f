"""Whole outcomes of every protocol with each of its options, on rows of every kind, held against their records."""

from dataclasses import fields, replace

import numpy as np
import pytest

from metaeval.core import registry
from metaeval.stats.influence import t_test
from metaeval.stats.resampling import bootstrap
from protocols import comparison
from protocols.contract import Judgements, Resampling
from protocols.contrasts import contrasts

NAMES = registry.names("protocol")
RESAMPLING = Resampling(n=60, seed=3, fewest=4)
RNG = np.random.default_rng(7)
POOL = np.sort(RNG.integers(0, 24, 84))
N = POOL.size
GOLD = RNG.choice([0.0, 1.0, 2.0], N, p=[0.4, 0.25, 0.35])
SYSTEM = RNG.integers(0, 4, N)
SCORE = np.round(GOLD + SYSTEM / 4 + RNG.normal(size=N), 1)
OTHER = np.where(RNG.random(N) < 0.1, np.nan, np.round(GOLD + RNG.normal(size=N), 1))
KIND = np.array(["denied", "half", "same"], np.object_)[GOLD.astype(int)]
KIND[np.unique(POOL, return_index=True)[1]] = "original"
KIND[RNG.random(N) < 0.1] = ""
LOST = (RNG.random(N) < 0.12) | np.isin(POOL, (3, 9))
PLAIN = Judgements(GOLD, SCORE, POOL // 2, POOL, SYSTEM, kind=KIND, systems=("a", "b", "c"))


def without(rows, lost=LOST):
    return rows.with_score(np.where(lost, np.nan, rows.score))


ROWS = {
    "plain": PLAIN,
    "missing": without(PLAIN),
    "off the levels": replace(without(PLAIN), gold=np.where(SYSTEM == 1, 0.5 * (POOL % 7), GOLD)),
    "no partial": without(replace(PLAIN, gold=GOLD - (GOLD == 1))),
    "no none": without(replace(PLAIN, gold=np.maximum(GOLD, 1), levels=False)),
    "ratings missing": without(replace(PLAIN, gold=np.round(GOLD + RNG.random(N), 1), levels=False)),
    "three ratings": without(replace(PLAIN, levels=False)),
    "gold of a system": replace(PLAIN, gold=SYSTEM + 0.0, levels=False),
    "crossed": without(replace(PLAIN, crossed=SYSTEM)),
    "crossed pools": replace(PLAIN, crossed=POOL % 5),
    "perfect": PLAIN.with_score(GOLD + 0.0),
    "no system": replace(PLAIN, system=None, kind=None),
    "few of a system": PLAIN.rows((SYSTEM > 0) | (np.arange(N) < 12)),
    "full in one group": without(replace(PLAIN, group=np.where(GOLD == 2, 24, POOL), pool=np.arange(N))),
    "two groups": PLAIN.rows(POOL < 4),
    "five groups": PLAIN.rows(POOL < 10),
    "attacks": replace(PLAIN, gold=GOLD * (POOL > 8), kind=np.where((POOL > 8) | (KIND == "original"), KIND, "added")),
    "one group": replace(PLAIN, group=POOL * 0),
    "one level": replace(PLAIN, gold=GOLD * 0 + 2),
    "constant": PLAIN.with_score(GOLD * 0 + 1),
    "unscored": PLAIN.with_score(GOLD * np.nan),
    "one row": PLAIN.rows(np.arange(N) < 1),
    "nothing": PLAIN.rows(np.arange(N) < 0),
}


USE = dict.fromkeys(("no system", "few of a system"), ("systems",))
USE |= {
    "three ratings": ("classification", "verdicts"),
    "gold of a system": ("correlation",),
    "attacks": ("contrast",),
    "five groups": ("contrast", "decision"),
}
"""The protocols that rows with another number of systems are made for."""


def taken(protocol, rows):
    """The rows with scores that are levels, for a protocol that takes nothing else."""
    return rows.with_score(np.clip(np.round(rows.score), 0, 2)) if protocol.takes_levels else rows


def choices(protocol):
    """The default options, and each other value of one of them."""
    usual = {name: option.default for name, option in protocol.options.items()}
    others = [usual | {name: value} for name, option in protocol.options.items() for value in [*option.values][1:]]
    return {" ".join({*one.values()} - {*usual.values()}): one for one in (usual, *others)}


def shown(estimate, moved=None):
    """What an estimate holds, and of its influence values a weighted sum, and p of the value .4."""
    known = {field.name: getattr(estimate, field.name) for field in fields(estimate)}
    told = {name: value for name, value in known.items() if value not in (None, "")}
    if moved:
        parts = (moved.parts * (1 + np.arange(moved.rows.shape[1]))).sum()
        told["moved"] = [parts, t_test(moved, 0.4)]
    return told | ({"note": estimate.note if estimate.note.count(" ") < 7 else True} if estimate.note else {})


def outcome(protocol, rows, options):
    found = protocol.evaluate(rows, RESAMPLING, options)
    told = {key: shown(one, found.influence.get(key)) for key, one in found.estimates.items()}
    counts = found.total, found.scored, found.unscored, sum(found.unscored_rows), found.excluded
    keys, every = protocol.shown(rows, options), [measure.key for measure in protocol.measures]
    blind = [] if protocol.of_edits else [key for key, why in protocol.blind_measures(rows, every).items() if why]
    return {
        "counts": counts,
        "said": found.notes + found.warnings,
        "shown": [keys, blind],
        **{f"ceiling {key}": most for key, most in found.ceilings.items()},
        **told,
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_outcome_of_every_kind_of_rows_is_that_of_its_record(name, recorded):
    protocol = registry.find("protocol", name)
    usual, *others = choices(protocol).items()
    found = {
        key: outcome(protocol, taken(protocol, rows), usual[1])
        for key, rows in ROWS.items()
        if name in USE.get(key, NAMES)
    }
    for said, options in others:
        found[said] = outcome(protocol, taken(protocol, ROWS["missing"]), options)
    every = protocol.of_edits(PLAIN) if protocol.of_edits else protocol.measures
    recorded.held(f"protocols-{name}", found | {"measures": every, "usual": protocol.usual})


def difference(protocol, pair, options, drawn):
    """Two metrics, and if `drawn` the first against random scores: under tests of every kind, and with a margin."""
    codes = np.unique(pair[0].group)
    outcomes = tuple(protocol.evaluate(rows, RESAMPLING, options) for rows in pair)
    keys = [key for key in outcomes[0].estimates if protocol.measure(key).tested]
    one, other = zip(pair, outcomes, strict=True)
    against = {"one": {"other": other} | ({"random": None} if drawn else {})}
    found = comparison.tested_against(protocol, options, RESAMPLING, {"one": one}, against, keys, 80)
    held = comparison.compare(protocol, pair, outcomes, RESAMPLING, 20 * (len(codes) > 2), options, keys)
    margin = contrasts(protocol, options, RESAMPLING, dict(zip(("one", "other"), pair, strict=True)), keys, 0.2, 0.05)
    both = comparison.compared_by(protocol, pair[0], comparison.both_scored(*pair), options)
    both = both.with_group(np.searchsorted(codes, both.group))
    return {
        **{name: {key: shown(test) for key, test in tests.items()} for (_, name), tests in found.items()},
        "compared": {key: shown(one) for key, one in held.items()},
        "margin": [[value for value in vars(one).values() if value is not None][1:] for one in margin],
        "drawn": protocol.replicate(both, codes.size, bootstrap(codes.size, 3, 1), options, keys),
    }


PAIRED = ("plain", "missing", "crossed", "two groups", "one group", "unscored")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "contrast"])
def test_the_difference_of_two_metrics_is_that_of_its_record(name, recorded):
    protocol, found = registry.find("protocol", name), {}
    usual, *others = choices(protocol).items()
    for key in PAIRED:
        rows = ROWS[key]
        lost, whole = np.isnan(rows.score) & (rows.pool == 3), key in ("plain", "two groups")
        other = np.where(lost | np.isnan(OTHER[: lost.size]) & whole, 1.0, OTHER[: lost.size])
        pair = taken(protocol, rows), taken(protocol, rows.with_score(other))
        for said, options in (usual, *others) if key == "plain" else [usual]:
            found[f"{key} {said}"] = difference(protocol, pair, options, not said and key == "plain")
    recorded.held(f"protocols-{name}-differences", found)
