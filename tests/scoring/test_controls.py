"""Controls: what each one knows, and what none of them may know."""

import random as shuffling

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.corpus.units import UnitRow
from metaeval.scoring import controls
from metaeval.scoring.controls import CONTROLS, GOLD_CONTROLS


def row(own, statement="s", group="g", level=2, text="It rained.", words=3, position=0):
    return UnitRow(own, statement, group, level, True, (0,), text, words, position)


TABLE = [
    row("a", "s1", "g1", 2, "It  rained\nall day.", 7, 0),
    row("b", "s1", "g1", 0, "It  rained\nall day.", 150, 3),
    row("c", "s2", "g2", 1, "Rain!", 0, 1),
    row("d", "s3", "g2", None, "", 12, 2),
]


def test_the_gold_is_seen_by_the_two_oracles_alone():
    """Other levels in one group change no score of that group's rows, and only the oracles'."""
    other = [r._replace(level={2: 0, 0: 2}.get(r.level, r.level)) if r.group == "g1" else r for r in TABLE]
    changed = {
        name
        for name, control in CONTROLS.items()
        if not np.array_equal(control(TABLE)[:2], control(other)[:2], equal_nan=True)
    }
    assert changed == GOLD_CONTROLS & CONTROLS.keys()


def test_random_is_of_the_id_alone():
    assert list(CONTROLS["random"](TABLE)) == list(CONTROLS["random"]([row(r.id) for r in TABLE]))
    # `printf a | b2sum -l 56`, as a fraction: the score of an id is the same in every version.
    assert CONTROLS["random"]([row("a")])[0] == 0x8912BD13730E0B / 2**56


def statements(groups=12, each=3, seed=0):
    """Statements whose words tell their level: "fully" is full, "hardly" none; two chunks each."""
    rng = shuffling.Random(seed)
    rows = []
    for group in range(groups):
        for number in range(each):
            level = rng.randrange(3)
            text = f"{('hardly', 'partly', 'fully')[level]} {rng.choice('abcdefgh')} {rng.choice('rstuvw')}"
            for chunk in range(2):
                own = level if chunk == 0 else 0
                rows.append(row(f"{group}.{number}#{chunk}", f"s{group}.{number}", f"g{group}", own, text, 5, chunk))
    return rows


def test_statement_only_never_sees_its_own_group():
    rows = statements()
    before = controls.statement_only(rows)
    moved = 0
    for group in {r.group for r in rows}:
        own = np.array([r.group == group for r in rows])
        after = controls.statement_only([r._replace(level=2 - r.level) if r.group == group else r for r in rows])
        np.testing.assert_array_equal(after[own], before[own])
        moved += not np.array_equal(after[~own], before[~own])
    assert moved == len({r.group for r in rows})  # while it does learn from the other groups


def test_statement_only_is_ridge_on_word_presence_worked_out_by_hand():
    """Two statements to learn from and one to tell: "x y" at 2, "x" at 0, then "y y!".

    Mean 1, centred goals 1 and -1. With presences (x, y) the ridge solves ([[2, 1], [1, 1]] + I) w = (0, 1):
    [[3, 1], [1, 2]] w = (0, 1), determinant 5, w = (-1/5, 3/5). "y" is at 1 + 3/5 = 1.6, however often it stands.
    """
    rows = [row("1", "s1", "train", 2, "x y"), row("2", "s2", "train", 0, "X."), row("3", "s3", "test", 0, "y y!")]
    assert controls.statement_only(rows)[2] == pytest.approx(1.6, abs=1e-9)


def test_statement_only_gives_the_same_words_one_score_to_the_last_bit():
    copies = [row(f"copy{number}", f"copy{number}", "test", 0, "fully a r partly hardly b") for number in range(33)]
    assert len(set(controls.statement_only([*statements(), *copies])[-33:])) == 1


def test_statement_only_is_rounded_to_nine_digits():
    # Beyond that the digits are the solver's: [1.6 - 2e-16, 1.6] are one score. A thousandth of a level needs three.
    scores = controls.statement_only(statements())
    assert (scores == scores.round(9)).all()
    assert not (scores == scores.round(8)).all()


@pytest.mark.parametrize("rows", [[], TABLE[3:], TABLE[:1], [TABLE[3]] * 2], ids=["none", "unknown", "one", "copies"])
def test_no_control_fails_where_there_is_nothing_to_learn_from(rows):
    for name, control in CONTROLS.items():
        scores = control(rows)
        assert scores.shape == (len(rows),), name
        assert scores.dtype == np.float64, name
        assert name in GOLD_CONTROLS or np.isfinite(scores).all(), name


ROWS = st.lists(
    st.builds(
        row,
        own=st.uuids().map(str),
        statement=st.just(""),
        group=st.sampled_from(["g1", "g2", "g3", "é\ud800"]),
        level=st.sampled_from([0, 1, 2, None]),
        text=st.sampled_from(["It rained.", "It poured all day.", "Nobody came.", "", "雨"]),
        words=st.integers(0, 200),
        position=st.integers(0, 9),
    ).map(lambda r: r._replace(statement_id=f"{r.group}/{r.statement}")),
    max_size=12,
)


@given(ROWS, st.randoms(use_true_random=False))
def test_no_control_looks_at_the_order_of_rows(rows, rng):
    order = list(range(len(rows)))
    rng.shuffle(order)
    for name, control in CONTROLS.items():
        moved = control([rows[number] for number in order])
        np.testing.assert_array_equal(moved, control(rows)[order], err_msg=name)
