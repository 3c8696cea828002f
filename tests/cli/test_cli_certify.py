"""certify as typed, and the certificate of a run: what is printed, what is written, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from metaeval.report.result import load_result
from metaeval.report.table_files import load_table

pytestmark = pytest.mark.usefixtures("scored")
FEW = ("-s", "runs=50")


def said(ended):
    return " ".join(ended.out.split())


def test_metrics_with_scores_are_certified_on_their_own_rows(cli, ran):
    ended = ran("plan", "--certify", "overlap", "rouge", *FEW)
    sheet = load_table(Path("results/latest/certificate-overall.json"))
    assert [record["metric"] for record in sheet.records] == ["overlap", "rouge"]
    assert [record["other"] for record in sheet.records] == ["rouge", "overlap"]
    for record in sheet.records:
        assert record["given"] + record["without"] >= 50
        assert record["given"] - record["held"] == record["below"] + record["above"]
        assert (record["groups"], record["tested"]) == (28, 50)
    assert "of 28" in ended.out
    assert "one Monte Carlo error" in said(ended)
    assert "docs/explanation/inference.md" in said(ended)
    assert "metaeval plan overlap rouge --certify --set runs=50" in said(cli("results", "show"))


def test_a_plan_needs_no_scores(ran):
    typed = ("--value", "75,90", "-s", "icc=0.5", "-s", "groups=40", "-s", "sizes=2,8", "-s", "levels=30,70")
    ended = ran("plan", "--certify", *typed, *FEW)
    sheet = load_table(Path("results/latest/certificate-auc.json"))
    assert [record["value"] for record in sheet.records] == [0.75, 0.9]
    assert sheet.data.groups == 40
    assert sheet.data.levels == {"0": 140, "1": 60}  # 20 groups of 2 and 20 of 8 rows
    assert [record["true"] for record in sheet.records] == pytest.approx([0.75, 0.9], abs=0.02)
    assert "median of the samples" in said(ended)
    assert len(re.findall(r"\b\d+ of 40\b", said(ended))) == 2, "the effective number of groups of each value"


def test_a_plan_of_three_levels_or_on_a_data_set(cli):
    cli("plan", "--certify", "--value", "80", "-s", "groups=12", "-s", "levels=20,30,50", "-q", *FEW)
    sheet = load_table(Path("results/latest/certificate-overall.json"))
    assert (sheet.settings["unit"], sheet.data.groups) == ("rating", 12)
    cli("plan", "--certify", "--value", "0.4", "-p", "correlation", "-q", *FEW)
    (record,) = load_table(Path("results/latest/certificate-spearman.json")).records
    assert (record["groups"], record["value"]) == (28, 0.4)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--value", "75", "overlap"), "leave out the metrics"),
        (("--value", "0.75"), "above 50 and below 100"),
        (("--value", "much"), "it takes numbers with commas"),
        (("--value", "75", "-s", "icc=1"), "from 0 to below 1"),
        (("-s", "groups=30"), "--value 75"),
        (("-s", "groups=1", "--value", "75"), "2 to 1,000,000 groups"),
        (("-s", "groups=9", "--value", "75", "-s", "sizes=0.5"), "whole numbers"),
        (("-s", "groups=900000", "--value", "75", "-s", "sizes=1,8"), "at most 2,000,000 rows"),
        (("-s", "groups=9", "--value", "75", "-s", "levels=100"), "two or three shares"),
        (("overlap", "-s", "runs=3"), "50 to 100,000"),
        (("overlap", "-s", "interval.method=percentile"), "interval.method is percentile"),
        (("overlap", "-s", "interval.resamples=0"), "there are none"),
        (("overlap", "--measure", "overal"), "Did you mean 'overall'"),
    ],
)
def test_a_wrong_certificate_is_one_sentence(refused, args, told):
    assert told in refused("plan", "--certify", *args)


def test_a_run_has_a_certificate_where_it_asks_for_one_and_the_same_numbers(cli, refused):
    typed = ("run", "-m", "overlap,rouge", "-p", "classification", "-s", "controls=false")
    ended = cli(*typed)
    plain = json.loads(Path("results/latest/classification.json").read_text())
    assert "certificate" not in plain
    assert "On data built like these" not in said(ended)
    assert "metaeval plan --certify" in cli("results", "show").out

    ended = cli(*typed, "-s", "interval.certify=true")
    data = json.loads(Path("results/latest/classification.json").read_text())
    found = load_result(Path("results/latest/classification.json")).certificate
    assert found is not None
    assert (found.metric, found.other, found.given) == ("overlap", "rouge", 300)
    assert data | {"certificate": None} == plain | {"certificate": None}
    assert f"{100 * found.held / found.given:.1f} % (± " in said(ended)
    text = " ".join(cli("results", "show").out.split())
    assert "On data built like these, 95 % intervals of mean ROC-AUC covered" in text
    assert "300 samples of overlap, beside rouge" in text
    assert "interval.method is percentile" in refused(
        *typed, "-s", "interval.certify=true", "-s", "interval.method=percentile"
    )
