"""The reference results that the repository keeps: they are what is made now, and the page says what they hold."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import which_metric
from benchmarks.reference import cells, results
from metaeval.core import registry
from metaeval.report.findings import findings
from metaeval.report.ranking_measures import above_every_control, headlines
from metaeval.report.result import records
from metaeval.runs.data import find_dataset
from metaeval.runs.evaluate import declarations_of
from metaeval.scoring.controls import GOLD_CONTROLS
from metaeval.scoring.score_files import read_scores

HERE = Path(__file__).parents[2]
KEPT = HERE / "results" / "reference"
DATA = HERE.parent / "shared" / "data"


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    """The shipped corpus, scored and evaluated now, with the scores of the metric that there is no more."""
    metrics = (*results.OFFLINE, *results.FROZEN)
    return results.made("mini-all-chunk", None, tmp_path_factory.mktemp("mini"), metrics)


def check_kept(name, found):
    """Scores, values and intervals of a set are those that are kept, but for digits and the order of sums."""
    scores, kept = results.kept_scores(name), results.kept_results()[name]
    ids = [row.id for row in found.source.rows]
    for column in found.columns:
        if column.kind == "metric":
            now = {one: score for one, score in zip(ids, column.score.tolist(), strict=True) if score == score}
            assert now == pytest.approx(scores[column.name], rel=2e-4, abs=2e-4)
    names = {column.name for column in found.columns}
    for result in found.results:
        one, other = (
            {
                (record["metric"], record["measure"], field): record[field]
                for record in records(each)
                for field in ("value", "low", "high")
                if record["metric"] in names and record[field] is not None
            }
            for each in (kept[result.protocol], result)
        )
        assert other == pytest.approx(one, rel=2e-4, abs=2e-4)


def test_what_is_kept_of_the_shipped_corpus_is_what_is_made_now(mini):
    check_kept("mini-all-chunk", mini)
    moved = [replace(one, score=one.score + 0.01 * (one.name == "overlap")) for one in mini.columns]
    with pytest.raises(AssertionError):
        check_kept("mini-all-chunk", replace(mini, columns=moved))


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_what_is_kept_of_wice_is_what_is_made_now(tmp_path):
    check_kept("wice-test-page", results.made("wice-test-page", DATA, tmp_path, ("overlap", "support-mini")))


def test_the_same_results_are_kept_as_the_same_bytes_with_those_of_a_metric_that_there_is_no_more(mini, tmp_path):
    folders = [tmp_path / name / "mini-all-chunk" for name in "ab"]
    for folder in folders:
        results.keep("mini-all-chunk", mini, folder.parent)
    one, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one == other
    assert list(results.kept_results(tmp_path / "a")["mini-all-chunk"].values()) == mini.results
    scores = results.kept_scores("mini-all-chunk", tmp_path / "a")
    assert list(scores) == [*results.OFFLINE, "support-minilm"]
    assert scores["support-minilm"] == results.kept_scores("mini-all-chunk")["support-minilm"]


def test_it_is_small_and_holds_every_set_and_no_text():
    assert sum(path.stat().st_size for path in KEPT.rglob("*")) < 8_000_000
    assert set(results.kept_results()) == set(results.SETS)
    for path in KEPT.glob("*/scores.csv"):
        head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        assert head == ["pair_id", *results.METRICS]
        assert all(" " not in row[0] and len(row[0]) < 100 for row in rows)
        assert all(not cell or float(cell) == float(cell) for row in rows for cell in row[1:])


SETS, PACKS, CELLS = cells.declared_sets(), cells.read_packs(), cells.read_cells()


def test_packs_hold_no_text_and_their_cells_say_which_data_they_scored():
    for folder, card in PACKS.items():
        files = [of["file"] for of in card["scores"].values()]
        assert sorted(path.name for path in folder.iterdir()) == sorted(["card.yaml", *files])
        for name, of in card["scores"].items():
            (file,) = read_scores(folder / of["file"], {"pair_id": "pair", "score": "score"})
            assert all(len(pair) < 100 and " " not in pair for pair in file.answers)
            rows = [row for row in CELLS.of(name).cells if row["pack"] == folder.name]
            said = {(row["metric"], row["data"], row["file"]) for row in rows}
            assert said == {(card["metric"], of["data"], of["file"])}


def test_the_cells_are_of_many_metrics_and_data_sets_with_two_metrics_or_more():
    metrics = [row for row in CELLS.cells if row["kind"] == "metric" and not row["stale"]]
    compared = [row for row in metrics if row["alone"] == "no"]
    assert len({row["metric"] for row in compared}) >= 14
    assert len({row["dataset"] for row in compared}) >= 8
    assert all(row["n"] and row["groups"] and row["common_rows"] for row in metrics)
    for name, declared in SETS.items():
        rows = [row for row in metrics if row["set"] == name]
        card, _, _ = find_dataset(declared["dataset"])
        assert not card.demo
        non_commercial = any(word in card.licence for word in ("NC", "non-commercial", "states none"))
        assert declared["commercial"] is not non_commercial
        assert {row["commercial"] for row in rows} <= {"no"} if non_commercial else {"yes", "no"}


# Kamoi et al., WiCE (arXiv 2303.01432): the evaluations published with the scores, on the first 100 test claims.
WICE_ORACLE = {
    "T5-3B-ANLI": (0.907, 0.866, 1.0),
    "T5-3B-ANLI-WiCE": (0.943, 0.962, 1.0),
    "GPT-3.5": (0.539, 0.966, 1.0),
    "GPT-4": (0.789, 0.945, 1.0),
}


def test_the_cells_have_the_values_that_wices_authors_published():
    found = {(row["metric"], row["measure"]): float(row["value"]) for row in CELLS.of("wice-oracle-100").cells}
    for metric, expected in WICE_ORACLE.items():
        assert [round(found[metric, key], 3) for key in ("fs_ps", "ps_ns", "fs_ns")] == list(expected)


@pytest.mark.parametrize("name", ["wice-test-page", "wice-test-chunk"])
def test_the_cells_and_the_result_files_agree(name):
    """Two ways to the same numbers: scores made by a run, and those of packs, which have six digits."""
    for protocol, result in results.kept_results()[name].items():
        kept = {row.metric: row.values for row in result.rows}
        for row in CELLS.of(name).cells:
            if cells.MEASURES[row["measure"]] == protocol and row["kind"] == "metric":
                value = kept[row["metric"]][row["measure"]]
                for field in ("value", "low", "high"):
                    assert float(row[field]) == pytest.approx(getattr(value, field), abs=2e-4)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
@pytest.mark.parametrize("name", ["qasem", "wice-oracle-100"])
def test_a_sample_of_cells_is_recomputed_from_packs_and_data(name):
    again = cells.set_tables(name, SETS[name], cells.load(SETS[name], DATA), PACKS)
    kept = CELLS.of(name)
    assert len(again.cells) == len(kept.cells) > 20
    for rows, before in zip(again, kept, strict=True):
        for row, other in zip(rows, before, strict=True):
            for heading, text in row.items():
                if re.fullmatch(r"-?\d+\.\d+(e-\d+)?", text):
                    assert float(text) == pytest.approx(float(other[heading]), rel=1e-4, abs=1e-9)
                else:
                    assert text == other[heading]


DECLARATIONS = declarations_of(
    registry.find("protocol", name) for name in ("classification", "correlation", "retrieval")
)


def claims(result):
    """The metrics that the sentences under a table call above chance, with the key of the measure."""
    metrics = [row.metric for row in result.rows if row.kind == "metric"]
    keys = {column.label: column.key for column in result.columns}
    for sentence in findings([result], DECLARATIONS):
        for label, names in re.findall(r"(?:^Significantly above chance:|;) by (.*?), (.*?)(?=;|\.$)", sentence):
            named = [name for name in metrics if names == "every metric" or f"{name} (" in names]
            yield from ((name, keys[label]) for name in named)


@pytest.mark.parametrize("name", results.SETS)
def test_no_sentence_contradicts_a_mark(name):
    said = 0
    for protocol, result in results.kept_results()[name].items():
        rows = {row.metric: row for row in result.rows}
        for metric, key in claims(result):
            assert not {"constant", "random"} & set(rows[metric].not_above.get(key, [])), (protocol, metric, key)
            said += 1
        (one,) = headlines([result], DECLARATIONS)
        for row in one.metrics:
            above = above_every_control(one, row, GOLD_CONTROLS)
            if not row.control:  # no sentence calls a control better than controls, and its mark names the other ones
                assert (above is False) == bool(row.not_above.get(one.column.key))
    assert said or name.endswith("rating")


def test_the_page_is_made_from_it():
    page = (HERE / "docs" / "how-to" / "which-metric.md").read_text(encoding="utf-8")
    assert page == which_metric.page(KEPT), "type: python -m benchmarks.which_metric > docs/how-to/which-metric.md"
