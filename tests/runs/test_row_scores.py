"""What a metric reads of a row: chunks, joined chunks, pages or evidence; and what that costs, writes and says."""

import json
import sys
from pathlib import Path

import pytest

import metaeval
from metaeval import Metric, MetricCard, PairScore
from metaeval.analyses.readiness import plan
from metaeval.analyses.score_export import export_scores
from metaeval.core.config import load_run
from metaeval.core.errors import UserError
from metaeval.runs.data import prepare
from metaeval.runs.evaluate import run
from metaeval.runs.metrics import load_metric, load_metrics
from metaeval.runs.score import expected_texts, score_rows

DATA = Path(__file__).parents[3] / "shared" / "data"
AUC = ("fs_ns", "fs_ps", "ps_ns")
published_files = pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
QUICK = {"controls": False, "interval": {"resamples": 0}, "comparison": {"permutations": 0}}


class Forty(Metric):
    """The share of the statement's words among the first forty of the source."""

    card = MetricCard(
        name="forty", family="lexical", summary="s", paper="none", licence="l", input_limit=40, truncation="source"
    )

    def score(self, sources, statements):
        return [self.one(a.split(), {*b.split()}) for a, b in zip(sources, statements, strict=True)]

    def one(self, source, statement):
        return PairScore(
            len(statement & {*source[:40]}) / len(statement), tokens=len(source), cut=max(0, len(source) - 40)
        )


@pytest.fixture
def of_mini(tmp_path, monkeypatch):
    """A run on the shipped corpus."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))

    def made(**settings):
        return load_run(None, {"results": tmp_path, "protocols": "classification", **QUICK, **settings})

    return made


FORTY = f"{__name__.rpartition('.')[2]}:Forty"


def rows_of(config):
    return {name: found for name, _, found in score_rows(prepare(config), load_metrics(config.metrics, config))}


def test_a_union_is_the_score_of_the_best_chunks_joined_in_the_order_of_the_page(of_mini):
    config = of_mini(unit="citation", aggregate="union:2", metrics="overlap", chunk={"size": 40})
    job, found = prepare(config), rows_of(config)["overlap"]

    overlap, joined = load_metric("overlap", config), 0
    for row, answer in zip(job.rows, found.rows, strict=True):
        each = [found.pairs[number].score for number in row.members]
        ranked = sorted(range(len(each)), key=lambda at: (-each[at], at))
        source = " ".join(job.pairs[row.members[at]].source for at in sorted(ranked[:2]))
        assert answer.score == overlap.score([source], [row.statement])[0].score
        joined += answer.score > max(each)
    assert joined > 20  # support that is spread over two chunks
    assert len(found.read) > len(set(job.texts))  # the second reading is counted


@pytest.mark.parametrize("metric", ["bm25", "ensemble:overlap+rouge"])
def test_a_score_that_hangs_on_the_other_texts_is_made_anew_for_all_rows(of_mini, metric):
    (result,) = run(of_mini(unit="citation", aggregate="union:2", metrics=metric)).results

    assert result.rows[0].unscored == 0
    if metric == "bm25":
        assert "+" in result.rows[0].signature.partition("over-sources:")[2].partition("|")[0]


def test_a_combination_reads_chunks_where_one_of_its_members_does(of_mini):
    (result,) = run(of_mini(unit="page", metrics=f"ensemble:overlap+rouge,ensemble:overlap+{FORTY}")).results

    assert [row.signature.partition("|reads:")[2][:6] for row in result.rows] == ["pages|", "chunks"]


@pytest.mark.parametrize(
    "settings", [{"unit": "page"}, {"unit": "citation", "aggregate": "mean:2", "chunk": {"size": 40}}]
)
def test_a_written_score_file_gives_the_same_values(of_mini, tmp_path, settings):
    config = of_mini(metrics=f"overlap,{FORTY}", **settings)
    list(export_scores(config, tmp_path / "scores", "jsonl"))
    (direct,) = run(config).results

    files = sorted((tmp_path / "scores").glob("*.jsonl"))
    (again,) = run(of_mini(metrics=[f"scores:{file}" for file in files], **settings)).results

    assert len(files) == 2
    found = {row.metric: row.values for row in again.rows}
    assert {row.metric: row.values for row in direct.rows} == found


def test_scores_of_chunks_cannot_be_joined(of_mini, tmp_path):
    list(export_scores(of_mini(metrics="overlap"), tmp_path / "scores", "jsonl"))
    wanted = of_mini(metrics=f"scores:{tmp_path / 'scores' / 'overlap.jsonl'}", unit="citation", aggregate="union:2")

    with pytest.raises(UserError, match=r"aggregate=union:2 joins chunks.*set mean:K"):
        run(wanted)


def test_a_dry_run_counts_the_joined_chunks(of_mini):
    config = of_mini(unit="citation", aggregate="union:2", metrics="overlap", chunk={"size": 40})
    (planned,) = plan(config)

    job = prepare(config)
    several = [row for row in job.rows if len(row.members) > 1]
    assert planned.pairs == len(set(expected_texts(job, "overlap", load_metrics(["overlap"], config))))
    assert len(set(job.texts)) < planned.pairs <= len(set(job.texts)) + len(several)


# A separate script's reading of the whole pages (and, for minilm-bertscore, of the best chunk); support-mini on
# factcheck_gpt and qasem as version 2 reads their Unicode forms, at most .1 away.
PAGES = {
    "wice": {"overlap": [88.7, 66.2, 81.3], "support-mini": [90.9, 74.2, 79.2]},
    "factcheck_gpt": {"overlap": [73.2, 67.8, 57.4], "support-mini": [78.7, 70.7, 62.0]},
    "qasem": {"overlap": [89.9, 71.5, 74.8], "support-mini": [95.2, 76.4, 78.2]},
    "expertqa": {"overlap": [61.3, 56.5, 54.1], "support-mini": [61.7, 57.5, 53.3]},
}


@published_files
@pytest.mark.parametrize("dataset", PAGES)
def test_known_values_of_whole_pages(tmp_path, dataset):
    settings = {"protocols": ["classification"], "results": tmp_path, **QUICK}
    (result,) = metaeval.run(data=DATA, dataset=dataset, unit="page", metrics=[*PAGES[dataset]], **settings)

    for row in result.rows:
        assert [100 * row.values[key].value for key in AUC] == pytest.approx(PAGES[dataset][row.metric], abs=0.06)


@published_files
@pytest.mark.slow
def test_known_values_of_the_best_chunk_of_a_page(tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'models'")
    settings = {"protocols": ["classification"], "results": tmp_path, **QUICK}
    (result,) = metaeval.run(data=DATA, dataset="wice", unit="page", metrics=["minilm-bertscore"], **settings)

    found = [100 * result.rows[0].values[key].value for key in AUC]
    assert found == pytest.approx([85.6, 55.4, 83.2], abs=0.1)
    assert json.loads(result.model_dump_json())["settings"]["read in chunks by"] == "minilm-bertscore"


def test_parquet_without_its_package_is_refused_before_scoring_and_jsonl_needs_none(of_mini, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    config = of_mini(metrics="overlap", results=tmp_path / "results")
    with pytest.raises(UserError, match="pyarrow"):
        list(export_scores(config, tmp_path / "scores", "parquet"))
    with pytest.raises(UserError, match="pyarrow"):
        metaeval.pairs(output="p.parquet", dataset="none")
    assert not config.store_path.exists()
    assert [file.path.name for file in export_scores(config, tmp_path / "scores", "jsonl")] == ["overlap.jsonl"]
