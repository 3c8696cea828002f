"""Rated sets at the command line: from the published files, or one's own, to tables with the paper's numbers."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from metaeval.report.result import load_result

DATA = Path(__file__).parents[3] / "shared" / "data"
published_files = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
QUICK = tuple(f"--set={key}" for key in ("interval.resamples=0", "comparison.permutations=0", "controls=false"))


@pytest.fixture
def own(tmp_path):
    """A rated set of one's own, and the options that read it."""
    rows = [
        {"id": f"r{n}", "group": f"g{n // 2}", "gold": n % 3, "text": f"text {n}", "scores": {"known": n % 4}}
        for n in range(12)
    ]
    (tmp_path / "my_ratings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ("-d", "ratings", "--data", "my_ratings.jsonl", *QUICK)


def values(path):
    """Value and published value of every measure of every metric in a result file."""
    rows = load_result(path).rows
    return {row.metric: {key: (one.value, one.published) for key, one in row.values.items()} for row in rows}


# FRANK's paper on all data, Pearson and Spearman with the system held constant: the README of ../shared/data.
@published_files
def test_frank_gives_the_papers_numbers_beside_its_own(ran, tmp_path):
    paper = {
        "BLEU": (0.10, 0.07),
        "METEOR": (0.14, 0.11),
        "ROUGE-L": (0.13, 0.09),
        "BERTScore-P article": (0.27, 0.24),
        "FactCC": (0.20, 0.30),
        "QAGS": (0.06, 0.08),
        "DAE": (0.16, 0.14),
    }
    ended = ran("evaluate", "-d", "frank", "--data", DATA, "-p", "correlation", *QUICK)
    assert "FactCC" in ended.out
    found = values(tmp_path / "results/latest/correlation.json")
    assert len(found) == 15
    for metric, numbers in paper.items():
        ours, published = zip(*(found[metric][key] for key in ("partial_pearson", "residual_spearman")), strict=True)
        assert published == numbers
        assert ours == pytest.approx(numbers, abs=0.005)
    # Nothing was published for the other measures, and nothing of the paper is put beside them.
    assert {one[1] for one in found["BERTScore-R"].values()} == {None}
    assert {metric[key][1] for metric in found.values() for key in ("pearson", "partial_spearman")} == {None}
    ran("evaluate", "-d", "frank", "--data", DATA, "--set", "dataset_options.subset=xsum", *QUICK, "-q")
    part = values(tmp_path / "results/latest/correlation.json")
    assert {one[1] for row in part.values() for one in row.values()} == {None}  # a part of the data is other data


def test_ratings_and_scores_of_ones_own(ran, own, tmp_path):
    lines = [{"pair_id": f"r{n}", "score": n % 3} for n in range(11)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = ran("evaluate", "mine.jsonl", *own)
    assert "my_ratings" in ended.out
    result = load_result(tmp_path / "results/latest/correlation.json")
    assert [(row.metric, row.scored, row.unscored) for row in result.rows] == [("known", 12, 0), ("mine", 11, 1)]
    # The scores of 'mine' are the ratings themselves.
    assert result.rows[1].values["spearman"].value == pytest.approx(1, abs=1e-12)
    # A heading that is mapped for the ratings is none of the score file's.
    Path("rated.csv").write_text("id,group,Note\n" + "".join(f"r{n},g{n // 2},{n % 3}\n" for n in range(12)))
    ran("evaluate", "mine.jsonl", "-d", "ratings", "--data", "rated.csv", "--map", "gold=Note", *QUICK)
    assert values(Path("results/latest/correlation.json"))["mine"]["spearman"][0] == pytest.approx(1, abs=1e-12)


def test_scores_of_whole_documents_are_scores_of_the_ratings(ran, own, tmp_path):
    for name, end in (("plain", ""), ("pages", "#page")):
        lines = [{"pair_id": f"r{n}{end}", "score": n % 3} for n in range(11)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran("evaluate", "plain.jsonl", "pages.jsonl", *own, "-q")
    read = values(tmp_path / "results/latest/correlation.json")
    assert read["pages"] == read["plain"]


def test_published_scores_and_a_metric_of_ones_own_are_held_against_people_on_the_same_pairs(ran, tmp_path):
    lines, rated = ["system_name,question,answer,attribution,passage,human_rating,auto_ais,nli_score"], []
    for number in range(48):
        good, question = number % 3 > 0, f"who built {number // 4}"
        score = ((number * 7) % 10) / 20 + good / 2
        passage = f'"Title: A\nSection: B\n\nThe ""Danes"" built {number if good else ""}."'
        rating, verdict = "NY"[good] if number < 40 else "-", "NY"[score > 0.5]
        rated += [(good, score, score > 0.5)] * (number < 40)
        lines.append(f"S{number % 4},{question},Danes {number},http://x,{passage},{rating},{verdict},{score}")
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    where = ("-d", "attributed_qa", "--data", str(tmp_path), "-p", "correlation", *QUICK, "-q")
    ran("evaluate", *where)
    result = load_result(tmp_path / "results/latest/correlation.json")
    assert result.data.dropped == {"rows without a human rating": 8}
    assert (result.data.statements, result.data.groups, result.data.levels["full"]) == (40, 10, 26)
    apart = values(tmp_path / "results/latest/correlation.json")
    gold, *scores = zip(*rated, strict=True)
    for name, known in zip(("AutoAIS", "AutoAIS verdict"), scores, strict=True):
        assert apart[name]["spearman"][0] == pytest.approx(spearmanr(known, gold)[0], abs=1e-12)
    ran("run", *where, "-m", "published,overlap")
    together = values(tmp_path / "results/latest/correlation.json")
    assert together.keys() == {*apart, "overlap"}
    assert {name: together[name]["spearman"] for name in apart} == {name: apart[name]["spearman"] for name in apart}
    ran("evaluate", *where[:4], "-p", "systems", *QUICK, "-q")
    assert set(values(tmp_path / "results/latest/systems.json")) == {"AutoAIS", "AutoAIS verdict"}
