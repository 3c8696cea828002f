"""Published values: read, scaled, and put beside the metric of that name on that data only."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import metaeval
from metaeval.core.errors import UserError
from metaeval.core.registry import find, names
from metaeval.corpus.loaders import frank, xsum_hallucination
from metaeval.corpus.loaders.wiki_citations import MODELS
from metaeval.report.paper_tables import score_table
from metaeval.report.result_tables import lay_out
from metaeval.report.table_files import table_text
from metaeval.runs.published import published_files, published_for, read_published


def test_the_base_papers_tables_are_in_raw_units():
    # Design note on statistics, section 9: Tables 2 and 3, and the counts of Table 1.
    correlation = published_for("gensearch", "test", "chunk", "correlation").tables["correlation"].values
    paper = published_for("gensearch", "train", "chunk", "classification")
    classification = paper.tables["classification"].values
    assert correlation["autoais"] == {"pearson": 0.638, "spearman": 0.639, "kendall": 0.547}
    assert classification["bertscore"]["ps_ns"] == pytest.approx(0.7872, abs=1e-12)
    assert len(correlation) == len(classification) == 9
    assert paper.source.endswith("(arXiv 2406.15264), Table 3 (on full 6,616 / partial 1,445 / none 4,620)")


def test_other_data_have_no_published_values():
    assert published_for("gensearch", "test", "citation", "correlation") is None
    assert published_for("gensearch", "test", "chunk", "retrieval") is None
    assert published_for("frank", "test", "rating", "correlation") is None


def test_every_file_names_data_metrics_and_measures_that_exist():
    metrics = {"gensearch": names("metric"), "frank": frank.METRICS, "xsum_hallucination": xsum_hallucination.METRICS}
    metrics |= {"wice_oracle": find("dataset", "wice_oracle").scores, "wiki_verdicts": MODELS}
    files = published_files()
    assert {"frank", "xsum_hallucination", "base-paper"} <= {path.stem for path in files}
    for path in files:
        paper = read_published(path)
        dataset = find("dataset", paper.dataset)
        assert paper.split is None or paper.split in dataset.files
        assert (dataset.kind == "ratings") == (paper.unit == "rating")
        for protocol, table in paper.tables.items():
            measures = {measure.key for measure in find("protocol", protocol).measures}
            assert set(table.values) <= set(metrics[paper.dataset])
            assert {key for row in table.values.values() for key in row} <= measures


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dataset: [", "not YAML"),
        ("dataset: wice\nunit: chunk\nsource: s", "Setting 'tables' is missing"),
        (
            "dataset: wice\nunit: chunk\nsource: s\ntables: {correlation: {values: {m: {pearson: high}}}}",
            "Setting 'tables.correlation.values.m.pearson'",
        ),
        ("dataset: wice\nunit: chunk\nsource: s\ntables: {correlation: {scale: 0, values: {}}}", "greater than 0"),
    ],
)
def test_a_faulty_file_is_told(tmp_path, text, says):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        read_published(path)
    assert str(path) in str(raised.value)
    assert says in str(raised.value)


def test_the_papers_numbers_stand_beside_ours_where_the_data_are_gensearch():
    corpus = replace(metaeval.load_corpus("mini"), name="gensearch")
    ids = [pair.pair_id for pair in metaeval.pairs(corpus=corpus)]
    scores = {name: {own: float(len(own) % 7) for own in ids} for name in ("autoais", "mine")}
    settings = {"corpus": corpus, "protocols": ["classification"], "controls": False, "interval": {"resamples": 30}}

    (result,) = metaeval.evaluate_scores(scores, evidence={"rule": "touched"}, **settings)
    (other,) = metaeval.evaluate_scores(scores, **settings)

    # Base paper, Table 3: AutoAIS 92.61 FS-NS, 82.94 Overall; it knows no metric called "mine".
    autoais, mine = result.rows
    assert autoais.values["fs_ns"].published == pytest.approx(0.9261)
    assert autoais.values["overall"].published == pytest.approx(0.8294)
    assert {value.published for value in mine.values.values()} == {None}
    assert "arXiv 2406.15264" in result.published
    assert other.published == ""  # the paper has other labels
    # Base paper, Table 1: 6,616 + 1,445 + 4,620 = 12,681 pairs; the shipped corpus has fewer.
    assert result.published_elsewhere == f"12,681 pairs, here {len(corpus.citations)} of given"
    text = " ".join(table_text(lay_out(result), "text").split())
    assert "paper 82.9" in text
    assert "published on other data: 12,681 pairs" in text
    assert "on the same data" not in text
    assert "published on other data: 12,681 pairs" in str(score_table([result]).footer)


@pytest.mark.parametrize(
    ("judged", "fields", "says"),
    [
        ({"full": 6616, "partial": 1445, "none": 4620}, "sentences-150", ""),
        ({"full": 6616, "partial": 1444, "none": 4621}, "sentences-150", "at other levels, here 12,681 of s"),
        ({"full": 6616, "partial": 1445, "none": 4620}, "sentences-100", "chunks sentences-150, here sentences-100"),
    ],
)
def test_the_same_data_are_the_same_counts_under_the_same_rule(judged, fields, says):
    frame = SimpleNamespace(judged=judged, fields={"chunks": fields}, split="s")
    differences = published_for("gensearch", "s", "chunk", "correlation").differences(frame)
    assert differences.endswith(says)
    assert bool(differences) == bool(says)
