"""The paper's tables: layout, ranks for each data set, and what stays of the footers."""

import csv
import io

import pytest

from metaeval.core import registry
from metaeval.core.errors import UserError
from metaeval.report import latex, markdown
from metaeval.report.paper_tables import BASE_PAPER_GROUPS, PaperLayout, level_counts, paper_tables, score_table
from metaeval.report.result import Column
from metaeval.report.table_files import FORMATS, format_texts, write_table
from metaeval.stats.estimate import Estimate

LABELS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def _correlation(result, name, scores, published=None):
    """A correlation result over data set `name`: metric -> value, the same under all three coefficients."""
    template, control = result.rows[0], result.rows[2]
    rows = [
        template.model_copy(
            update={
                "metric": metric,
                "values": {key: Estimate(value, published=published) for key in LABELS},
                "not_above": {"kendall": ["random"]},
                "signature": f"data:{name}|metric:{metric}",
            }
        )
        for metric, value in scores.items()
    ]
    rows.append(control.model_copy(update={"values": {key: Estimate(None, note="constant") for key in LABELS}}))
    return result.model_copy(
        update={
            "protocol": "correlation",
            "title": "Correlation",
            "columns": [Column(key=key, label=label) for key, label in LABELS.items()],
            "rows": rows,
            "data": result.data.model_copy(update={"name": name}),
        }
    )


@pytest.fixture
def two(result):
    return [
        _correlation(result, "wice", {"a": 0.5, "b": 0.4, "c": 0.3}),
        _correlation(result, "gensearch", {"b": 0.2, "a": 0.1}, published=0.585),
    ]


def test_the_base_papers_layout_has_its_groups_and_decimals(two, result, recorded):
    # Table 2 has the groups LLM-based, entailment-based, similarity-based; Table 3 prints 92.61.
    groups = {"b": "LLM-based", "a": "similarity-based", "unused": "entailment-based"}
    table = score_table(two, layout=PaperLayout(groups, percent_digits=2))
    rows = [row.model_copy(update={"letters": {"kendall": "abcd"}}) for row in two[0].rows]
    few = two[1].model_copy(update={"data": two[1].data.model_copy(update={"groups": 7})})
    lettered = score_table([two[0].model_copy(update={"rows": rows})])
    shown = {
        "grouped": table,
        "flat": score_table(two),
        "lettered": lettered,
        "groups differ": score_table([two[0], few]),
    }
    recorded.held("report-paper-layouts", {name: recorded.sheet(one)[:5] for name, one in shown.items()})
    area = result.model_copy(update={"columns": [Column(key="fs_ns", label="full / none", scale=100, digits=1)]})
    (percent,) = {column.digits for column in PaperLayout(percent_digits=2).of(area).columns}
    assert percent == 2
    assert PaperLayout().of(area) is area
    assert r"\emph{LLM-based}" in latex.table_of(table)


def test_every_family_of_a_card_has_a_group_of_the_paper():
    families = {registry.find("metric", name).card.family for name in registry.names("metric")}
    assert families - BASE_PAPER_GROUPS.keys() == {"combination"}  # which stands under "other"
    expected = {"autoais": "entailment-based", "bartscore": "similarity-based", "llm-discrete": "LLM-based"}
    assert {name: BASE_PAPER_GROUPS[registry.find("metric", name).card.family] for name in expected} == expected


def test_table_1_counts_each_data_set_once_by_its_cited_rows_with_a_dash_for_a_level_that_is_not_there(result):
    def of(**changed):
        return result.model_copy(update={"data": result.data.model_copy(update=changed)})

    # The counts of the paper's Table 1: 6,616 + 1,445 + 4,620 = 12,681. The pools of the other are no cited rows.
    paper = of(name="gensearch", levels={"full": 6616, "partial": 1445, "none": 4620})
    pools = of(levels={"full": 111, "partial": 72, "none": 9999})
    grid = level_counts([paper, pools, result, of(name="two", levels={"full": 2, "none": 3})])
    assert grid.headings == ("full", "partial", "none", "total")
    rows = [["6,616", "1,445", "4,620", "12,681"], ["111", "72", "3,666", "3,849"], ["2", "–", "3", "5"]]
    assert [[cell.number for cell in line.cells] for line in grid.lines] == rows
    assert level_counts([of(levels={"0": 1, "0.5": 2}).model_copy(update={"unit": "rating"})]) is None


def test_no_results_and_two_of_one_data_set_are_refused(two):
    with pytest.raises(UserError, match="at least one result file"):
        paper_tables([])
    with pytest.raises(UserError, match="wice, test, unit chunk"):
        score_table([two[0], two[0]])
    units = [two[0], two[0].model_copy(update={"unit": "citation"})]
    assert [group.title for group in score_table(units).groups] == ["wice, test (chunk)", "wice, test (citation)"]


def test_every_table_is_written_as_json_of_which_other_formats_are_made(two, result, tmp_path):
    more = [one.model_copy(update={"columns": [*one.columns, Column(key="x", label="X")]}) for one in two]
    numbered = {"correlation": (2, tuple(LABELS))}
    tables = paper_tables([*more, result], numbered=numbered)
    paths = [path for table in tables for path in write_table(table, tmp_path / "paper")]
    stems = ("table-1-levels", "table-2-correlation", "table-retrieval")
    assert [path.name for path in paths] == [f"{stem}.json" for stem in stems]
    texts = {path.stem: format_texts(path, FORMATS) for path in paths}
    assert all("wice" in text for stem in stems[:2] for text in texts[stem].values())
    assert texts["table-2-correlation"][".md"] == markdown.page_of(score_table(two))
    records = list(csv.DictReader(io.StringIO(texts["table-2-correlation"][".csv"], newline="")))
    # (3 metrics + 1 control + 2 metrics + 1 control) * 3 coefficients = 21; X is not in the paper's table.
    assert len(records) == 21
    published = {(r["dataset"], r["published"]) for r in records if r["kind"] == "metric"}
    assert published == {("wice", ""), ("gensearch", "0.585")}
