"""The protocol of contrast sets: falls as those of preferences, areas as scikit-learn's, thresholds, missing scores."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metaeval.stats.decisions import group_folds, nested_decisions
from protocols.contract import Judgements, Resampling
from protocols.contrast_sets import LEFT_OUT, PROTOCOL, evaluate
from protocols.preference import PROTOCOL as PREFERENCE

KINDS = {"year": 0.0, "join": 1.0, "case": None, "spaces": None, "denied": 0.0}  # kind: level that the edit leads to
ON_FULL = ("year", "join", "case", "spaces")


def edited(rng, groups=40, each=4, digits=1, harm=1.0, kinds=ON_FULL, chance=0.8):
    """Originals, half of them with full support, and edits of most of them. Scores of a group move together."""
    gold, group, pool, kind, score = [], [], [], [], []
    for of_group in range(groups):
        shift = rng.normal(0, 0.3)
        for number in range(each):
            level, start = 2.0 * (number % 2), rng.normal(number % 2, 0.7) + shift
            edits = [name for name in (kinds if level else ("denied",)) if rng.random() < chance]
            for name in ("original", *edits):
                gold.append(level if name == "original" or KINDS[name] is None else KINDS[name])
                kind.append(name)
                fall = {"original": 0, "year": harm, "join": harm / 2, "denied": -1}.get(name, 0.0)
                noise = 0 if name == "original" else rng.normal(0, 0.6) + shift
                score.append(start - fall + noise)
            group += [of_group] * (1 + len(edits))
            pool += [of_group * each + number] * (1 + len(edits))
    columns = np.array(gold), np.round(score, digits), np.array(group), np.array(pool)
    return Judgements(*columns, kind=np.array(kind, np.object_))


def pairs_of(rows, kind):
    """The row numbers of the edits of a kind and of their originals, found one by one."""
    first = {pool: row for row, pool in enumerate(rows.pool.tolist()) if rows.kind[row] == "original"}
    found = [(row, first[pool]) for row, pool in enumerate(rows.pool.tolist()) if rows.kind[row] == kind]
    return [np.array(part, np.int64) for part in zip(*found, strict=True)]


def values(rows, options=(), n=1000):
    return evaluate(rows, Resampling(n=n), dict(options)).estimates


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_falls_are_the_consistency_of_preferences_and_areas_those_of_scikit_learn(kind, digits):
    rows = edited(np.random.default_rng(1), digits=digits)
    estimates = values(rows)
    edit, original = pairs_of(rows, kind)
    alone = rows.rows(np.concatenate((edit, original)))
    alone = replace(alone, gold=np.repeat([0.0, 1.0], edit.size), levels=False)  # the original is the better one
    same = PREFERENCE.evaluate(alone, Resampling(), {"equal": "lost"}).estimates["consistency"]
    mine = estimates[f"fall:{kind}"]
    assert (mine.value, mine.low, mine.high) == (same.value, same.low, same.high)
    fall = {name: np.subtract(*(rows.score[n] for n in pairs_of(rows, name)[::-1])) for name in KINDS}
    harmless = np.concatenate([fall[name] for name in ("case", "spaces") if name != kind])
    both = np.round(np.concatenate((fall[kind], harmless)), 10)
    positive = np.arange(both.size) < fall[kind].size
    assert estimates[f"auc:{kind}"].value == pytest.approx(roc_auc_score(positive, both), abs=1e-12)
    first = rows.kind == "original"
    area = roc_auc_score(rows.gold[first] == 2, rows.score[first])
    assert estimates["originals"].value == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"folds": "3", "objective": "balanced-accuracy"}])
def test_the_threshold_is_that_of_the_protocol_of_decisions_on_other_groups_originals(options):
    rows = edited(np.random.default_rng(2))
    estimates = values(rows, options)
    first = np.flatnonzero(rows.kind == "original")
    folds, objective = int(options.get("folds", 5)), options.get("objective", "macro-f1")
    full, group = (rows.gold[first] == 2).astype(np.int64), rows.group[first]
    _, learnt = nested_decisions(rows.score[first], full, group, folds, 0, objective, 2)
    of_group = dict(zip(group.tolist(), learnt[group_folds(group, folds, 0), 0].tolist(), strict=True))
    above = np.array([score >= of_group[of] for score, of in zip(rows.score, rows.group.tolist(), strict=True)])
    for kind in KINDS:
        edit, original = pairs_of(rows, kind)
        right = above[original] != (kind == "denied")
        wanted = ~above[edit] if kind in ("year", "join", "denied") else above[edit]
        assert estimates[f"side:{kind}"].value == pytest.approx(wanted[right].mean(), abs=1e-12)


def test_missing_scores_are_counted_and_bounded_and_never_zero():
    rows = edited(np.random.default_rng(3), groups=12)
    (year, *_), _ = pairs_of(rows, "year")
    _, (lost, *_) = pairs_of(rows, "join")
    score = rows.score.copy()
    score[[year, lost]] = np.nan
    gapped = rows.with_score(score)
    outcome = evaluate(gapped, Resampling(), {})
    assert (outcome.scored, outcome.unscored_rows) == (rows.score.size - 2, tuple(sorted((year, lost))))
    for kind in ("year", "join", "case"):
        edit, original = pairs_of(rows, kind)
        fell = score[edit] < score[original]
        known = ~np.isnan(score[edit] + score[original])
        cell = outcome.estimates[f"fall:{kind}"]
        assert cell.value == pytest.approx(fell[known].mean(), abs=1e-12)
        ends = (fell[known].sum() / known.size, (fell[known].sum() + (~known).sum()) / known.size)
        assert cell.bounds == (pytest.approx(ends) if not known.all() else None)
        rng = np.random.default_rng(0)
        for _ in range(20):  # whatever the missing scores are
            filled = np.where(np.isnan(score), rng.normal(0, 3, score.size), score)
            there = values(rows.with_score(filled), n=0)
            low, high = outcome.estimates[f"auc:{kind}"].bounds
            assert low <= there[f"auc:{kind}"].value <= high
    nothing = evaluate(rows.with_score(np.full(rows.score.size, np.nan)), Resampling(), {})
    assert {cell.value for cell in nothing.estimates.values()} == {None}


def test_what_the_data_lack_is_left_out_and_edits_without_an_original_are_counted():
    rows = edited(np.random.default_rng(4))
    full = rows.rows(np.isin(rows.pool, rows.pool[(rows.gold == 2) & (rows.kind == "original")]))
    keys = PROTOCOL.shown(full, {})
    assert {key.partition(":")[0] for key in keys} == {"fall", "auc"}  # no threshold without two levels
    bare = rows.rows(~np.isin(rows.kind, ["case", "spaces"]))
    assert {key.partition(":")[0] for key in PROTOCOL.shown(bare, {})} == {"fall", "side"}
    one = rows.rows(rows.kind != "spaces")
    assert {"auc:year", "auc:denied"} <= {*PROTOCOL.shown(one, {})} >= {"fall:case"}
    assert "auc:case" not in PROTOCOL.shown(one, {})
    gone = (rows.kind == "original") & (rows.pool == rows.pool[pairs_of(rows, "year")[0][0]])
    left = int((rows.pool == rows.pool[gone][0]).sum()) - 1
    assert evaluate(rows.rows(~gone), Resampling(), {}).excluded == {LEFT_OUT: left}
    every = np.where(rows.kind == "original", rows.kind, [f"k{row}" for row in range(rows.kind.size)])
    for lacking in (replace(rows, kind=None), rows.rows(rows.kind != "original"), replace(rows, kind=every)):
        assert PROTOCOL.shown(lacking, {}) == ("fall",)
        assert PROTOCOL.measure("fall").blind(lacking)


def test_a_metric_that_ignores_what_was_edited_falls_nowhere_and_is_at_chance():
    rows = edited(np.random.default_rng(5))
    cells = values(rows.with_score(rows.pool.astype(np.float64)))
    assert {cells[f"fall:{kind}"].value for kind in KINDS} == {0.0}
    assert {cells[f"auc:{kind}"].value for kind in KINDS} == {0.5}


# groups, originals a group, share of originals with an edit, digits of scores, harm
DESIGNS = {"plain": (40, 4, 0.8, 9, 0.5), "ties": (40, 4, 0.8, 0, 0.5), "few edits": (40, 2, 0.4, 1, 0.5)}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_hold_the_true_value_as_often_as_they_say(design):
    """1,000 sets of 40 groups; the truth is that of one set of 20,000 groups."""
    groups, each, chance, digits, harm = DESIGNS[design]
    known = {"each": each, "chance": chance, "digits": digits, "harm": harm}
    truth = values(edited(np.random.default_rng(10**6), groups=20000, **known), n=0)
    keys = ("fall:year", "fall:case", "auc:year", "auc:case", "auc:denied")
    hits, given = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    for seed in range(1000):
        cells = values(edited(np.random.default_rng(seed), groups=groups, **known))
        for key in keys:
            given[key] += cells[key].low is not None
            hits[key] += cells[key].low is not None and cells[key].low <= truth[key].value <= cells[key].high
    held = {key: hits[key] / given[key] for key in keys}
    assert min(given.values()) >= 950
    # With some 16 edits of a kind, intervals are wider than they need be: .98 to .99 of them hold the value.
    most = 1.0 if design == "few edits" else 0.97
    assert {key for key, share in held.items() if not 0.93 <= share <= most} == set(), held
