"""compare as typed: what is printed, what is written, and what is refused."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from metaeval.core.files import csv_text
from metaeval.report.result import load_result
from metaeval.report.table_files import load_table
from tests.cli.samples import csv_rows, lines_of, write_lines

pytestmark = pytest.mark.usefixtures("scored")
QUICK = ("--set", "interval.resamples=5", "--set", "comparison.permutations=20")
FOLDER = Path("results/latest")
SUFFIXES = {".json", ".txt", ".md", ".tex", ".csv"}


def written(stem, folder=FOLDER):
    return {path.suffix for path in folder.iterdir() if path.stem == stem}


def test_two_metrics_are_told_apart_under_every_protocol_and_held_together(ran, held):
    ended = ran("compare", "overlap", "rouge", "--full", *QUICK)
    held("analyses-compare-two", ended)
    protocols = ("classification", "correlation", "retrieval")
    assert written("agreement") == {".json"}
    assert f"More: metaeval results export {FOLDER.resolve().name.rpartition('-')[2]}" in ended.out
    ran("results", "export")
    for stem in (*(f"{name}-pairs" for name in protocols), "agreement"):
        assert written(stem) == SUFFIXES
    for name in protocols:
        result, sheet = load_result(FOLDER / f"{name}.json"), load_table(FOLDER / f"{name}-pairs.json")
        pairs = [(pair.measure, pair.difference, pair.p) for pair in result.significance.comparisons]
        assert [(record["measure"], record["difference"], record["p"]) for record in sheet.records] == pairs


def test_of_four_metrics_the_headlines_are_printed_and_all_is_written(cli, ran, held):
    ended = cli("compare", "overlap", "rouge", "bm25", "support-mini", "-p", "classification", *QUICK)
    held("analyses-compare-four", ended)

    assert ("mean ROC-AUC" in ended.out, "full / partial" in ended.out) == (True, False)
    ran("results", "export")
    assert "full / partial" in (FOLDER / "classification-pairs.txt").read_text(encoding="utf-8")


def test_of_many_metrics_neighbours_by_value_are_printed(ran, recorded):
    ran("score", "-m", "overlap", "-o", "mine", "-q")
    scores = {row["pair_id"]: row["score"] for row in lines_of(Path("mine/overlap.jsonl"))}
    # Seven metrics that differ: the k-th forgets every (k + 2)-th score's size.
    rows = [
        [name, *(score if at % (number + 2) else 0.1 for number in range(7))]
        for at, (name, score) in enumerate(scores.items())
    ]
    Path("mine.csv").write_text(csv_text([["pair_id", *(f"m{number}" for number in range(7))], *rows]))
    ended = ran("compare", "mine.csv", "-p", "correlation", *QUICK)
    recorded.held("analyses-compare-many", {"said": recorded.table(ended.out)})
    ran("results", "export")
    assert len(csv_rows(FOLDER / "correlation-pairs.csv")) == 3 * 21


def test_an_analysis_of_its_own_is_printed_alone(ran, held):
    ended = ran("compare", "overlap", "rouge", "--by", "length", "--agreement", "-p", "correlation", *QUICK)
    files = {path.stem for path in FOLDER.iterdir()}
    assert files == {"correlation-by-length", "agreement", "manifest", "pairs", "report"}
    held("analyses-compare-by-length", ended)


def ratings(path, systems=2, texts=True):
    """Twelve articles with a text by each system; two published metrics of unlike quality."""
    rows = []
    for number in range(12 * systems):
        gold = (number * 7) % 5
        text = {"text": "word " * (1 + number % 4)} if texts else {}
        row = {"id": f"r{number}", "group": f"a{number // systems}", "gold": gold, **text}
        scores = {"good": gold + (number % 3) / 2, "poor": (number * 5) % 11}
        rows.append({**row, "system": f"s{number % systems}", "scores": scores})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return ("-d", "ratings", "--data", str(path))


def test_published_metrics_are_compared_by_name_or_all(ran, held, tmp_path):
    data = ratings(tmp_path / "rated.jsonl")

    ended = ran("compare", *data, *QUICK)
    held("analyses-compare-published", ended)
    (every,) = Path("results/compare").glob("*/correlation-pairs.json")
    unnamed = every.read_bytes()
    rows = lines_of(tmp_path / "rated.jsonl")
    rho = [
        spearmanr([row["gold"] for row in rows], [row["scores"][name] for row in rows])[0] for name in ("good", "poor")
    ]
    (ranks,) = (note for note in load_table(every).footer if note.label == "ranks")
    assert dict(ranks.items)["Spearman"] == f"good {rho[0]:.3f} (1, a); poor {rho[1]:.3f} (2, b)"
    assert f"Spearman {rho[0] - rho[1]:.3f} (95 % CI " in " ".join(ended.out.split())
    ran("compare", "good", "poor", *data, "--by", "system", *QUICK)
    ran("compare", "good", "poor", *data, "-q", *QUICK)
    assert every.read_bytes() == unnamed
    (by,) = Path("results/compare").glob("*/correlation-by-system.json")
    assert [record["part"] for record in load_table(by).records] == ["all"] * 2 + ["s0"] * 2 + ["s1"] * 2
    signed = "|by-part:system|interval:cluster-t-0.95|fewest:6|by:group|B:5|seed:0|metaeval:"
    assert [signed in signature for signature in load_table(by).signatures] == [True, True]


def test_wrong_input_about_ratings_is_one_sentence(refused, tmp_path):
    data = ratings(tmp_path / "rated.jsonl", texts=False)

    assert "Did you mean 'good'" in refused("compare", "god", "poor", *data)
    assert "1 is given: 'good'" in refused("compare", "good", *data)
    assert "lengths are unknown" in refused("compare", *data, "--by", "length", *QUICK)
    assert "rates whole texts" in refused("compare", *data, "--by", "position", *QUICK)


def test_a_constant_metric_has_no_correlation_and_no_plan(ran, refused, tmp_path):
    data = ratings(tmp_path / "rated.jsonl")
    rows = lines_of(tmp_path / "rated.jsonl")
    for n, row in enumerate(rows):
        row |= {"group": f"g{n % 2}", "scores": {**row["scores"], "flat": 1, "same": row["scores"]["good"]}}
    write_lines(tmp_path / "rated.jsonl", rows)
    ended = ran("compare", "good", "flat", "--agreement", "-p", "correlation", *data, *QUICK)
    assert ("Spearman of the rows" in ended.out, "None" in ended.out) == (False, False)
    why = {("good", "flat"): "for one of the two", ("flat", "good"): "constant", ("good", "same"): "do not differ in"}
    for pair, word in why.items():
        assert word in refused("plan", *pair, "--difference", "0.1", *data, *QUICK, "-p", "correlation")
    ran("plan", "good", "poor", *data, *QUICK, "-p", "correlation")


def test_one_level_leaves_nothing_to_compare_and_says_so(refused, write_corpus, small_rows):
    write_corpus([row | ({"level": "none"} if row["type"] == "citation" else {}) for row in small_rows])
    pair = ("overlap", "rouge", "-d", "jsonl", "--data", "small.jsonl", "--set", "chunk.size=7", *QUICK)
    assert "No protocol can evaluate metrics on small. " in refused("compare", *pair[2:], "--agreement", "-q")
    assert "mean ROC-AUC cannot compare metrics on small: no row is FULL" in refused("plan", *pair)
