"""What a meta-evaluation prints: which rows, what is said of controls and tests, and where the rest is."""

import json

import pytest

from metaeval.citation.pipelines.layout import above_controls, differences, few_rows, unmarked
from metaeval.citation.pipelines.meta.data_model import MetaCommand
from metaeval.citation.pipelines.meta.run import META
from metaeval.citation.pipelines.meta.tables import brief_grids, meta_sheets
from metaeval.citation.pipelines.run_pipeline import judge, prepare
from metaeval.report.result import Column, Comparison, Data, Interval, Result, Row, Significance
from metaeval.report.table_notes import significance_note
from metaeval.stats.estimate import Estimate

COLUMNS = [Column(key=key, label=key.title()) for key in ("pearson", "spearman")]


def row(name, kind="metric", letters=None):
    value = Estimate(0.2, low=0.1, high=0.3, ceiling=0.5)
    return Row(
        metric=name,
        kind=kind,
        values={column.key: value for column in COLUMNS},
        total=5,
        scored=5,
        unscored=0,
        letters=letters or {},
        signature=name,
    )


def result(*rows, holm=0.2, controls=()):
    pairs = [Comparison(measure=column.key, one="a", other="b", rows=5, difference=0.1, p=holm, holm=holm)
             for column in COLUMNS]  # fmt: skip
    data = Data(name="d", split="people", fingerprint="f", statements=5, documents=0, citations=0, groups=5, levels={})
    return Result(
        protocol="correlation",
        title="t",
        unit="rating",
        settings={},
        data=data,
        interval=Interval(resamples=10, seed=0, level=0.95),
        columns=COLUMNS,
        rows=list(rows),
        ceilings={"pearson": {"continuous": 0.9}, "kendall": {"continuous": 0.8}},
        significance=Significance(permutations=100, seed=0, alpha=0.05, comparisons=pairs, controls=list(controls)),
    )


CONTROLS = [row(name, "control") for name in ("system", "random")]


def against(metric, control, **holm):
    """The tests of a metric against a control: of each measure the adjusted p, with the sign of the difference."""
    return [
        Comparison(measure=key, one=metric, other=control, rows=5, difference=p, p=abs(p), holm=abs(p))
        for key, p in holm.items()
    ]


def test_a_control_is_told_once_and_not_row_by_row():
    rows = row("a"), row("b"), *CONTROLS
    tests = [
        *against("a", "system", pearson=0.2, spearman=-0.01),
        *against("b", "system", pearson=0.06, spearman=0.05),
        *against("a", "random", pearson=0.01, spearman=0.3),
        *against("b", "random", pearson=0.01, spearman=0.01),
    ]
    found = result(*rows, controls=tests)
    # Alpha is .05: no row clears "system" by Pearson, b does by Spearman, where a is below it.
    assert above_controls(found).items == (
        ("system", "Pearson: no measure; Spearman: b"),
        ("random", "Pearson: every measure; Spearman: b"),
    )
    alike = result(*rows, controls=against("a", "system", pearson=0.2, spearman=0.2))
    # Nothing is said of a control without tests.
    assert above_controls(alike).items == (("system", "no measure"),)
    marked = found.rows[0].model_copy(update={"not_above": {"pearson": ["system"]}})
    assert unmarked(found.model_copy(update={"rows": [marked]})).rows[0].not_above == {}
    assert above_controls(result(*rows)).items == ()
    assert above_controls(found.model_copy(update={"significance": None})).items == ()


def test_where_no_two_measures_differ_one_sentence_says_so():
    rows = [row(name, letters={"pearson": "a", "spearman": "a"}) for name in ("a", "b")]
    settings = "(paired cluster t, p Holm-adjusted, alpha 0.05)"
    assert differences(result(*rows)).text == f"no two of these measures are significantly different {settings}"
    assert [own.letters for own in unmarked(result(*rows)).rows] == [{}, {}]
    told = result(*rows, holm=0.05)
    assert differences(told).text == significance_note(told).text
    assert [own.letters for own in unmarked(told).rows] == [{"pearson": "a", "spearman": "a"}] * 2
    assert differences(told.model_copy(update={"significance": None})).text == ""


def test_few_rows_are_the_measures_named_and_the_controls_that_say_something():
    whole = result(row("a"), row("b"), *CONTROLS, *(row(name, "control") for name in ("constant", "oracle")))
    few = few_rows(whole, frozenset({"b"}))
    assert [own.metric for own in few.rows] == ["b", "system", "random"]
    assert {value.ceiling for own in few.rows for value in own.values.values()} == {None}
    assert few.ceilings == {"pearson": {"continuous": 0.9}}


PASSAGES = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
TEXTS = [
    "The Oder is long [1]. Barges carry coal [2].",
    "Barges sing [1]. The Oder is 9 [1].",
    "Barges carry coal [1].",
]


@pytest.fixture
def meta(tmp_path, rated_row):
    """Three answers of each of two systems under one metric."""

    def made(*overrides, **asked):
        rows = []
        for system in range(2):
            for number, text in enumerate(TEXTS):
                ratings = [[(number + place + system) % 3 / 2] for place in range(text.count("."))]
                own = {"id": f"{system}{number}", "group": f"q{number}", "system": f"s{system}"}
                rows.append(rated_row(text, ratings, passages=PASSAGES, **own))
        path = tmp_path / "rated.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        given = {"pipelines": ("alce", "scifi"), "nli": ("overlap",), "threshold": "0.6", **asked}
        quick = ("interval.resamples=40", "comparison.permutations=20", "splitter=rules", *overrides)
        settings = {"results": tmp_path / "results", "store": tmp_path / "scores.sqlite"}
        return judge(prepare(META, MetaCommand(files=(path,), **given), settings, quick))

    return made


def names(grid):
    return [line.name for block in grid.blocks for line in block.lines]


def test_what_stands_for_a_pipeline_is_printed_and_tested_and_the_files_have_all(meta):
    found = meta()
    grids = brief_grids(found, meta_sheets(found))
    assert [grid.key[0] for grid in grids] == ["correlation", "within-systems", "correlation", "systems"]
    shown = ["alce:f1:overlap", "scifi:entailment:overlap"]
    assert names(grids[0])[:2] == names(grids[1]) == shown
    assert names(grids[3]) == ["people", *shown]
    assert grids[0].headings == ("Pearson", "Spearman", "Kendall")
    assert grids[1].headings == ("s0 (5)", "s1 (5)")
    for result_ in (one for few in found.results for one in few):
        metrics = [one.metric for one in result_.rows if one.kind == "metric"]
        assert metrics == ["alce:recall:overlap", "alce:precision:overlap", *shown]
        # One pair, and no more: tests of near copies would make every other harder to tell.
        assert {(one.one, one.other) for one in result_.significance.comparisons} == {tuple(shown)}
        assert all(not one.letters for one in result_.rows if one.metric not in shown)
    said = {note.label: note.text for note in grids[-1].footer}
    assert said["values"] == "every measure has a value of each of the 10 rated statements and 6 rated responses"
    assert said["more"].startswith("in the files: 2 more measures (recall, precision and the like; -s tested=all")
    assert said["more"].endswith("the protocol classification")
    assert "†" not in {note.label for grid in grids for note in grid.footnotes}


def test_all_measures_are_tested_and_printed_where_that_is_asked_for(meta):
    found = meta("tested=all")
    grids = brief_grids(found, meta_sheets(found))
    assert len(names(grids[1])) == 4
    (pairs,) = {len(one.significance.comparisons) / len(one.columns) for one in found.results[0][1:]}
    assert pairs == 4 * 3 / 2
    assert "more measures" not in {note.label: note.text for note in grids[-1].footer}["more"]


def test_tests_are_left_out_where_none_are_asked_for(meta):
    found = meta("comparison.permutations=0")
    assert {one.significance for few in found.results for one in few} == {None}
    assert "significance" not in {note.label for note in brief_grids(found, meta_sheets(found))[0].footer}
