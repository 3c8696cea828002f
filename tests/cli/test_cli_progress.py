"""What is told of scoring that takes its time: a metric may be asked in several waves, each with its own pairs."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

from metaeval.cli import output
from metaeval.cli.output import scoring_progress
from metaeval.corpus import loading

WAVES = json.loads(Path(__file__).with_name("waves.json").read_text(encoding="utf-8"))
"""By what is told: the times, and how many are done of how many."""


def test_waves_start_anew_and_the_time_that_is_left_is_that_of_the_rate_so_far(capsys, monkeypatch, recorded):
    told = {}
    for name, calls in WAVES.items():
        clock = iter([now for now, *_ in calls])
        monkeypatch.setattr(output, "time", SimpleNamespace(monotonic=clock.__next__))
        with scoring_progress(quiet=False) as report:
            for _, done, total in calls:
                report(name, done, total)
        told[name] = [line.split() for line in capsys.readouterr().err.splitlines()]
    recorded.held("cli-progress", told)
    with scoring_progress(quiet=True) as report:
        assert report is None


def test_bars_on_a_terminal_show_each_metric_and_its_last_wave(monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := io.StringIO())
    terminal.isatty = lambda: True
    with scoring_progress(quiet=False) as report:
        for name, done, total in (("[b]a", 0, 10), ("[b]a", 6, 10), ("c", 0, 9), ("c", 9, 9), ("c", 2, 5)):
            report(name, done, total)
    last = "".join(terminal.getvalue().splitlines()[-3:])
    assert [part in last for part in ("[b]a", "6/10", "2/5")] == [True] * 3
    with loading._progress("files", SimpleNamespace(size=9)) as advance:
        advance(4)
    assert "4/9 bytes" in terminal.getvalue()
