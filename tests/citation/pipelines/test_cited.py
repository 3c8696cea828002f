"""The table of judged citations, on paper: values, bounds, ranks under two judges, flips and causes; its row files."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from metaeval.citation.data_model import Answer, Passage
from metaeval.citation.measures import AnswerShare, harmonic, means, micro
from metaeval.citation.pipelines.cited import TEXT, CitedTable, Definition, Measure, write_row_tables
from metaeval.citation.pipelines.cited_rankings import flip_causes
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.report.table import Table
from metaeval.report.table_files import FORMATS, format_texts, write_rows

# Three systems answer three questions; a judge supports an answer or does not.
ANSWERS = [
    Answer(f"{system}{question}", f"Claim of {system} on {question}.", (Passage("p"),), "", question, system)
    for system in "abc"
    for question in "xyz"
]
SHOWN = [Definition("scores", "Scores (%)", (Measure("recall", "recall", ranks=True), Measure("f1", "F1")))]


def supported(names):
    """Recall of each answer, and F1 of recall with a precision of 1."""

    def measure(missing):
        values = [float(answer.id in names.split()) for answer in ANSWERS]
        return {"recall": means(values), "f1": harmonic(means(values), means([1.0] * len(values)))}

    return measure


def table(*judges, answers=ANSWERS, resamples=300, **more):
    config = RunConfig.model_validate({"interval": {"resamples": resamples}})
    cited = CitedTable("made", "Made", "paper", answers, config, {"pipeline": "made"}, SHOWN, **more)
    for name, names in judges:
        cited.add(name, supported(names))
    return cited


@pytest.fixture(scope="module")
def cited():
    # left: a 3/3, b 2/3, c 0. right: a 1/3, b 2/3 (another two of the three), c 0.
    return table(("left", "ax ay az bx by"), ("right", "ax by bz"))


@pytest.fixture(scope="module")
def sheets(cited):
    return cited.done(()).value


def test_values_of_systems_and_of_single_answers(cited, sheets):
    found = {(row["backend"], row["system"]): row["value"] for row in sheets["scores"] if row["measure"] == "recall"}
    assert found["left", "a"] == 1
    assert found["right", "a"] == 1 / 3
    alone = {row["answer"]: (row["recall"], row["f1"]) for row in sheets.rows["answers:left"]}
    assert (alone["ax"], alone["bz"]) == ((1.0, 1.0), (0.0, 0.0))
    assert cited.estimates["left", "a", "f1"].value == 1
    frames = sheets.to_frame(rows="answers:left"), sheets.to_frame("flips"), sheets.to_frame()
    assert [*map(len, frames)] == [len(ANSWERS), len(sheets["flips"].records), len(sheets.estimates)]


def test_two_judges_agree_in_part_and_a_flip_names_its_systems_and_its_leads(sheets):
    ranks = {(row["backend"], row["system"]): row["rank"] for row in sheets["rankings"]}
    assert [ranks[judge, system] for judge in ("left", "right") for system in "abc"] == [1, 2, 3, 2, 1, 3]
    (row,) = sheets["ranking-agreement"]
    # left a > b > c, right b > a > c: one of three pairs changes order, tau = (2 - 1) / 3.
    assert row["tau"] == pytest.approx(1 / 3, abs=1e-15)
    assert (row["measure"], row["flips"], row["pairs"]) == ("recall", 1.0, 3)
    assert 0 <= row["flips_low"] <= row["flips_high"] <= 3
    (flip,) = sheets["flips"]
    assert [flip[name] for name in ("measure", "one", "other", "ahead", "behind")] == "recall left right a b".split()
    leads = 3 / 3 - 2 / 3, 1 / 3 - 2 / 3
    assert (flip["lead"], flip["reversed_lead"]) == pytest.approx(leads, abs=1e-15)
    # Draws of three questions with replacement, 27 in all: right leads by less than 0 where y and z outnumber x, and
    # left by more than 0 where z is drawn: z and two of y, z 7; with one x: x z z 3, x y z 6. 16 of 27.
    assert flip["share_of_resamples"] == pytest.approx(16 / 27, abs=4 * (16 / 27 * 11 / 27 / 300) ** 0.5)


def test_causes_are_the_answers_whose_verdicts_changed(sheets):
    # ay and az lose their support, bz gains its own: each moves the lead by a third. bx works against it.
    causes = list(sheets["flip-causes"])
    named = {tuple(cause[name] for name in ("answer", "system", "value_one", "value_other")) for cause in causes}
    assert named == {("ay", "a", 1.0, 0.0), ("az", "a", 1.0, 0.0), ("bz", "b", 0.0, 1.0)}
    assert [cause["adds"] for cause in causes] == pytest.approx([1 / 3] * 3, abs=1e-15)
    printed = {line.name: [cell.number for cell in line.cells] for line in sheets["flip-causes"].lines}
    thirds = {"ay (a)": ["100.0", "0.0", "33.33"], "az (a)": ["100.0", "0.0", "33.33"]}
    assert printed == {**thirds, "bz (b)": ["0.0", "100.0", "33.33"]}


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_what_all_answers_add_is_the_whole_reversal(cited, factor):
    # Also of ratios whose totals differ between answers and judges, and of means that are divided by other numbers.
    rng = np.random.default_rng(3)
    one, other = (
        micro([AnswerShare(float(rng.integers(0, 3)), int(rng.integers(3, 6))) for _ in ANSWERS]).times(factor)
        for _ in range(2)
    )
    value = {
        (number, system): float(of.of(of.moments[cited.rows(system)].sum(axis=0)[:, None])[0]) * factor
        for number, of in enumerate((one, other))
        for system in (0, 1)
    }
    reversal = (value[0, 0] - value[0, 1]) - (value[1, 0] - value[1, 1])
    assert sum(cause["adds"] for cause in flip_causes(cited, [one, other], 0, 1)) == pytest.approx(reversal, abs=1e-14)
    assert flip_causes(cited, [one, harmonic(one, other)], 0, 1) == []


def test_all_that_is_told_of_the_tables_on_paper_is_as_recorded(sheets, told, recorded):
    turned = table(("left", "ax ay az bx"), ("right", "ax ay az cx"), ("third", "by cx cy cz"), resamples=20)
    absent = [Answer("a: none", "", (), group="w", system="a")]
    lacking = [("ax", "claim 1", "x" * 57 + " 60", "failed"), ("bx", "claim 2", "x" * 58 + " 61", "too long")]
    open_ = table(absent=absent, resamples=9, unit="sentence")
    open_.definitions = [*SHOWN, Definition("texts", "Texts", (Measure("words", "words", "", 1), Measure("all", "")))]
    open_.add("half", lambda missing: {"recall": means([missing, *[1.0] * 8, 0.0]).times(0.5)}, lacking=lacking)
    # The factor multiplies the value of the system, and not that of an answer; what has no judge has no rank.
    words = {"words": means([4.0] * 10), "f1": means([0.5] * 10)}
    open_.add(TEXT, lambda missing: words, whole={"all": lambda rows: float(rows.size)})
    results = {"two": sheets, "three": turned.done(()).value, "open": open_.done(()).value}
    # How many answers of each system a judge supports; the last answer of each lacks its verdict. 13 and 12 flips.
    for name, *orders in (("many", "012345", "542130"), ("five", "01234", "21430", "21430")):
        of = [divmod(n, 7) for n in range(7 * len(orders[0]))]
        many = table(answers=[replace(ANSWERS[0], id=f"{at} {n}", group=f"{n}", system=f"{at}") for at, n in of])
        lacking = [(f"{at} 6", "claim", "Claim.", "failed") for at, n in of if n == 6]
        for judge, order in zip(("up", "down", "third"), orders, strict=False):
            held = [None if n == 6 else n < int(order[at]) for at, n in of]
            filled = partial(lambda held, missing: means([missing if x is None else x for x in held]).times(0.5), held)
            many.add(judge, lambda missing, filled=filled: {"recall": filled(missing)}, lacking=lacking)
        results[name] = many.done(()).value
    alone = [replace(answer, group="g") for answer in ANSWERS]
    results["alone"] = table(("left", "ax by"), ("right", "bx by"), answers=alone).done(()).value
    recorded.held("cited-tables", {name: [told(one), len(one.estimates)] for name, one in results.items()})


@pytest.mark.parametrize(
    ("judges", "answers"), [((("left", "ax"),), ANSWERS), ((("left", "ax"), ("right", "ay")), ANSWERS[:3])]
)
def test_one_judge_or_one_system_has_no_rankings(judges, answers):
    cited = table(answers=answers, resamples=5)
    for name, _ in judges:
        cited.add(name, lambda missing: {"recall": means([1.0] * len(answers))})
    assert list(cited.done(()).value) == ["scores"]


def test_rows_are_lines_of_json_and_a_csv_table(tmp_path):
    rows = [
        {"answer": "a", "value": None, "cut": True, "scores": {"a": 1}},
        {"answer": 'b, "\ud800"', "value": 0.25, "cut": False, "scores": [1, 2]},
    ]
    (path,) = write_row_tables(tmp_path, [Table(name="answers:scores:x/y", records=rows)])
    assert path.stem == "per-answers-scores_x_y"
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == rows
    # Undefined is empty, truth a number; quotes are doubled inside quotes (RFC 4180, section 2.7).
    written = 'answer,value,cut,scores\na,,1,"{""a"": 1}"\n"b, ""\\ud800""",0.25,0,"[1, 2]"\n'
    assert format_texts(path, FORMATS) == {".csv": written}
    assert format_texts(path, ["latex"]) == {}
    path.write_text('{"a": 1}\n[\n', encoding="utf-8")
    with pytest.raises(UserError, match=path.name):
        format_texts(path, ["csv"])
    empty = write_rows(Table(name="rows", records=[]), tmp_path)
    assert (empty.read_text(encoding="utf-8"), format_texts(empty, FORMATS)) == ("", {})
