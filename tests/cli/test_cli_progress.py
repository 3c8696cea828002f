"""What is told of scoring that takes its time: a metric may be asked in several waves, each with its own pairs."""

import re
from types import SimpleNamespace

from metaeval.cli import output
from metaeval.cli.output import scoring_progress


def told(capsys, *calls):
    with scoring_progress(quiet=False) as report:
        for done, total in calls:
            report("overlap", done, total)
    return capsys.readouterr().err.splitlines()


def test_a_new_wave_starts_anew(capsys):
    # 30 of 30, then a wave of 20 of which 5 are known; then one of 20, all known; then one of 40.
    lines = told(capsys, (0, 30), (30, 30), (5, 20), (20, 20), (20, 20), (0, 40), (40, 40))
    rates = [re.sub(r", [\d,]+ pairs/s", ", a rate", line) for line in lines]
    assert rates == [
        "overlap: 0 of 30 pairs",
        "overlap: 30 of 30 pairs, a rate",
        "overlap: 5 of 20 pairs",
        "overlap: 20 of 20 pairs, a rate",
        "overlap: 20 of 20 pairs from the store",
        "overlap: 0 of 40 pairs",
        "overlap: 40 of 40 pairs, a rate",
    ]


def test_the_time_that_is_left_is_that_of_the_rate_so_far(capsys, monkeypatch):
    clock = iter((0.0, 10.0, 24.0))
    monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=clock.__next__))
    # One pair of three in 10 s leaves 20 s; two in 24 s leave 12 s.
    lines = told(capsys, (0, 3), (1, 3), (2, 3))
    assert [line.rpartition(", ")[2] for line in lines[1:]] == ["20 s left", "12 s left"]
