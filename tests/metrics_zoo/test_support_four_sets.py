"""The four-set table of the card: differences have the sign of the metric, and p is adjusted over all of them."""

from pathlib import Path

import pytest
from statsmodels.stats.multitest import multipletests

from benchmarks.support_mini import four_sets

DATA = Path(__file__).parents[3] / "shared" / "data"


def test_a_metric_is_held_against_each_rival_on_each_set(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(four_sets, "SETS", (("mini", "all"),))
    monkeypatch.setattr(four_sets, "RIVALS", ("overlap", "rouge"))
    results = four_sets.evaluated(["support-mini"], None, tmp_path)
    rows = {row.metric: row.values["overall"].value for row in results["mini"].rows}
    found = four_sets.differences(results, "support-mini")
    assert [(one.dataset, one.rival) for one in found] == [("mini", "overlap"), ("mini", "rouge")]
    for one in found:
        assert one.value == pytest.approx(rows["support-mini"] - rows[one.rival])
        assert one.low < one.value < one.high
    assert [one.holm for one in found] == pytest.approx(multipletests([one.p for one in found], method="holm")[1])
    four_sets.show(results, ["support-mini"])
    printed = capsys.readouterr().out
    assert f"| mean of the sets | rouge | | | | {100 * rows['rouge']:.1f} |" in printed
    assert f"{100 * (rows['support-mini'] - rows['rouge']):+.1f} [" in printed


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_no_answer_of_expertqa_is_in_both_halves():
    assert four_sets.shared_answers(DATA) == set()
