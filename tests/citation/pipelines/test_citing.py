"""ALCE and ALiiCE with stored verdicts, on paper: values of systems, bounds, warnings; `metaeval.cite` in memory."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import metaeval
from metaeval.citation.alce.citations import PROFILES, read_alce
from metaeval.citation.alce.correctness import CLAIM_RECALL, text_measures
from metaeval.citation.aliice.citation_lines import read_aliice
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.measures import group_codes, interval_over
from metaeval.citation.pipelines.alce import judge_claims
from metaeval.citation.readers.answer_files import gather
from metaeval.cli.app import app
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.corpus.sentences import RULES
from metaeval.scoring.contract import PairScore
from metaeval.stats.intervals import Resampling

RECALL, PRECISION, F1 = "recall", "precision", "f1"

# Passages are single letters, so that a premise is the letters of the passages cited, one a line.
PASSAGES = [{"text": letter} for letter in "abc"]
ANSWERS = [
    # Supported by a alone; b is needless.
    {"id": "1", "group": "q1", "text": "Cats sleep all day [1][2]. Dogs bark at night [3].", "system": "old"},
    {"id": "2", "group": "q2", "text": "Birds sing at dawn [2]. Fish swim.", "system": "old"},
    {"id": "3", "group": "q1", "text": "Cats sleep all day [1].", "system": "new"},
    {"id": "4", "group": "q2", "text": "Fish swim in water.", "system": "new"},
]
SCORES = {
    ("a\nb", "Cats sleep all day."): 0.9,
    ("a", "Cats sleep all day."): 0.8,
    ("b", "Cats sleep all day."): 0.2,
    ("c", "Dogs bark at night."): 0.4,
    ("b", "Birds sing at dawn."): 0.6,
}
# ALiiCE's claims have no full stop; released profiles put an empty title over a passage.
CLAIMS = SCORES | {(a, claim.rstrip(".")): score for (a, claim), score in SCORES.items()}
TITLED = {("\n".join(f"Title: \n{one}" for one in a.split("\n")), claim): v for (a, claim), v in CLAIMS.items()}
LOST = {("c", "Dogs bark at night."): None, ("c", "Dogs bark at night"): None}


class Stored(list):
    """Backends of stored scores, as `Judges` yields them."""

    config = RunConfig.model_validate({"interval": {"resamples": 20, "fewest": 2}})


@pytest.fixture
def backend(stored_backend):
    """Make a backend of the scores above."""
    return lambda scores=SCORES, threshold=0.5, name="stored": stored_backend(scores, threshold, name)


@pytest.fixture
def cited(write, backend):
    """The table of answers, judged with backends."""

    def made(*backends, profile="paper", rows=ANSWERS, pipeline="alce"):
        answers = gather([write(rows)])
        read = {"alce": (read_alce, PROFILES.get), "aliice": (read_aliice, aliice_profile)}
        reader, options = read[pipeline]
        return judge_claims("x", reader(answers, options(profile)), Stored(backends or (backend(),)), RULES)

    return made


def of(cited, measure, system):
    return cited.estimates[cited.judges[0].name, system, measure]


def bounds_of(cited, measure, system="old"):
    known = of(cited, measure, system)
    return known.worst, known.best


def note_of(cited, label):
    return [note for note in cited.done(()).value.notes if note.label == label]


def test_values_of_systems_on_paper(cited, backend):
    found = cited()
    assert found.systems == ["new", "old"]
    # old: answer 1 has recall (1 + 0) / 2, answer 2 (1 + 0) / 2. new: 1 / 1 and, uncited, 0 / 1.
    assert of(found, RECALL, "old").value == pytest.approx(0.5, abs=1e-15)
    assert of(found, RECALL, "new").value == pytest.approx(0.5, abs=1e-15)
    # old: [1] stands alone (1), [2] does not and the rest does (0), [3] is unsupported (0): 1/3; [2] of answer 2: 1.
    assert of(found, PRECISION, "old").value == pytest.approx((1 / 3 + 1) / 2, abs=1e-15)
    # new: the answer that cites nothing has no precision, and one group with a value has no interval.
    assert (of(found, PRECISION, "new").value, of(found, PRECISION, "new").low) == (1.0, None)
    assert of(found, PRECISION, "old").low is not None
    assert of(found, F1, "old").value == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3), abs=1e-15)
    # Without a missing verdict there are no bounds.
    assert not note_of(found, "could be")
    (signature,) = found.done(()).value.signatures
    parts = ("answers:x@", "pipeline:alce", "profile:paper", "splitter:rules", "backend:stored", "B:20", "seed:0")
    assert [part for part in parts if part not in signature] == []
    # Where nothing is supported F1 is 0; as released an uncited answer is imprecise.
    assert of(cited(backend(dict.fromkeys(SCORES, 0.0))), F1, "old").value == 0
    assert of(cited(backend(TITLED), profile="released"), PRECISION, "new").value == 0.5


def test_intervals_draw_groups_and_f1_as_a_whole(cited):
    found = cited()
    (judged,), rows = found.judges, found.rows(1)
    shares = [value for row, value in enumerate(judged.measured[RECALL].alone) if row in rows]
    answers = [found.answers[row] for row in rows]
    expected = interval_over(judged.measured[RECALL], rows, found.group, found.n_groups, Resampling(20, fewest=2))
    assert of(found, RECALL, "old").ends == expected.ends
    assert (shares, group_codes(answers)[1]) == ([0.5, 0.5], 2)
    recall, precision, f1 = (found.replicates(judged.measured[key])[1] for key in (RECALL, PRECISION, F1))
    np.testing.assert_allclose(f1, 2 * recall * precision / (recall + precision), rtol=1e-14)


def test_soft_scores_on_paper(cited, backend):
    found = cited(backend(threshold=None))
    # Recall: (0.9 + 0.4) / 2 and (0.6 + 0, uncited) / 2; new (0.8 + 0) / 2. Precision: (0.8 + 0.2 + 0.4) / 3 and 0.6.
    old = of(found, RECALL, "old").value, of(found, PRECISION, "old").value
    assert old == pytest.approx(((0.65 + 0.3) / 2, (1.4 / 3 + 0.6) / 2), abs=1e-15)
    assert of(found, RECALL, "new").value == pytest.approx((0.8 + 0) / 2, abs=1e-15)
    assert not [line for line in found.judges[0].lines if line.reason or line.state == "unjudged"]
    # ALiiCE's groups of answer 1: [1][2], mean 0.5, and [3], 0.4. Answer 2: 0.6. Uncited sentences have no claim.
    found = cited(backend(CLAIMS, None), pipeline="aliice")
    old = of(found, RECALL, "old").value, of(found, PRECISION, "old").value
    assert old == pytest.approx(((0.65 + 0.6) / 2, (0.45 + 0.6) / 2), abs=1e-15)


@pytest.mark.parametrize(("profile", "expected"), [("paper", (0.25 + 1) / 2), ("released", (1 / 3 + 1) / 2)])
def test_aliices_precision_is_by_group_and_as_released_by_mark(cited, backend, profile, expected):
    # The groups of answer 1: [1] holds and [2] does not, [3] does not.
    found = cited(backend(CLAIMS | TITLED), pipeline="aliice", profile=profile)
    assert of(found, PRECISION, "old").value == pytest.approx(expected, abs=1e-15)


def test_a_missing_verdict_is_left_out_counted_and_shown(cited, backend):
    found = cited(backend(SCORES | LOST))
    # Answer 1: one of one judged claim is supported; citations 1 and 0.
    assert of(found, RECALL, "old").value == pytest.approx((1 + 0.5) / 2, abs=1e-15)
    row = next(row for row in found.done(()).value.rows["answers:stored"] if row["answer"] == "1")
    assert (row["claims"], row["claims_unjudged"], row["citations_unjudged"]) == (1, 1, 1)
    (note,) = note_of(found, "not judged")
    assert note.items == (("stored", "failed 1 (of 7 lines); first: 1, sentence 2: Dogs bark at night."),)
    # Recall with that verdict against answer 1 and for it: (1/2 + .5) / 2 and (2/2 + .5) / 2. Its citations are 1, 0
    # and the missing one, the other answer's precision is what it is: a third of answer 1 lies between the ends.
    assert bounds_of(found, RECALL) == pytest.approx((0.5, 0.75), abs=1e-15)
    worst, best = bounds_of(found, PRECISION)
    assert best - worst == pytest.approx(1 / 3 / 2, abs=1e-15)
    assert worst <= of(found, PRECISION, "old").value <= best
    assert bounds_of(found, RECALL, "new") == (None, None)


@pytest.mark.parametrize("pipeline", ["alce", "aliice"])
def test_bounds_of_soft_scores_are_what_the_missing_one_could_make(cited, backend, pipeline):
    found, *ends = (
        cited(backend(CLAIMS | dict.fromkeys(LOST, value), None), pipeline=pipeline) for value in (None, 0.0, 1.0)
    )
    for measure in (RECALL, PRECISION):
        low, high = (of(end, measure, "old").value for end in ends)
        assert bounds_of(found, measure) == pytest.approx((low, high), abs=1e-15)
        assert low < high
    assert [line.reason for line in found.judges[0].lines if line.state == "unjudged"] == ["failed"]


def test_a_file_is_the_system_of_answers_that_name_none(write, tmp_path):
    rows = [{key: value for key, value in row.items() if key != "system"} for row in ANSWERS[:2]]
    one = gather([write(rows, "left.jsonl")])
    assert {(answer.id, answer.system) for answer in one} == {("1", "left"), ("2", "left")}
    both = gather([write(rows, "left.jsonl"), write(rows, "right.jsonl")])
    # The same question in both files is drawn together.
    assert [(answer.id, answer.system, answer.group) for answer in both] == [
        (f"{name}/{number}", name, f"q{number}") for name in ("left", "right") for number in (1, 2)
    ]
    (tmp_path / "other").mkdir()
    with pytest.raises(UserError, match="in answers, answers"):
        gather([write(), write(name="other/answers.jsonl")])
    nameless = [{key: value for key, value in row.items() if key != "system"} for row in ANSWERS]
    with pytest.raises(UserError, match=r"Answers in right name the system 'left', .* rename the file"):
        gather([write(nameless, "left.jsonl"), write([{**ANSWERS[0], "system": "left"}], "right.jsonl")])


def test_the_pooled_variation_of_positions(write):
    cups, cats = "Cups are made of glass [1] or plastic [2][3].", "Cats sleep all day [1]."
    texts = [f"{cups} {cats}", f"{cups} {cats}", cats]
    answers = gather([write([{**row, "text": text} for row, text in zip(ANSWERS, texts, strict=False)])])
    statistic = read_aliice(answers, aliice_profile("released")).statistics["cvcp"]
    own = [*(cups.index(mark) / len(cups) for mark in ("[1]", "[2]", "[3]")), cats.index("[1]") / len(cats)]
    offsets = [*own, *own, own[-1]]
    pooled = statistic.of(statistic.moments.sum(axis=0)[:, None])[0]
    assert pooled == pytest.approx(np.std(offsets) / np.mean(offsets), abs=1e-14)
    # An answer's value is of the same profile: by the paper, it is the mean over the answer's sentences.
    by_answer = [np.std(each) / np.mean(each) for each in (own, own, own[-1:])]
    assert statistic.alone == pytest.approx(by_answer, abs=1e-14)
    assert read_aliice(answers).statistics["cvcp"].alone[0] != pytest.approx(by_answer[0])


def test_claim_recall_is_asked_of_the_answer_as_a_whole(cited, backend):
    rows = [{**ANSWERS[2], "reference": {"claims": ["Cats sleep.", "Cats run.", "Cats eat."]}}, ANSWERS[3]]
    whole = "Cats sleep all day."
    asked = {(whole, "Cats sleep."): 0.9, (whole, "Cats run."): 0.1, (whole, "Cats eat."): None}
    # One of the two claims with a verdict; the other answer has no claims.
    assert of(cited(backend(SCORES | asked), rows=rows), CLAIM_RECALL, "new").value == 0.5


def test_measures_are_those_asked_for(write):
    answers = gather([write([{**row, "reference": {"qa_pairs": [{"short_answers": ["cats"]}]}} for row in ANSWERS])])
    assert list(text_measures(answers)[0]) == ["str_em", "str_hit", "length"]
    assert list(text_measures(answers, wanted=["str_em"])[0]) == ["str_em"]
    with pytest.raises(UserError, match="Did you mean 'str_em'"):
        text_measures(answers, wanted=["str_me"])


def warnings_of(cited):
    return [note.text for note in note_of(cited, "warning")]


def test_what_decides_how_a_table_is_read_is_a_warning(cited):
    assert warnings_of(cited()) == []
    other = [{**row, "id": f"x{row['id']}", "group": f"x{row['group']}", "system": "far"} for row in ANSWERS[2:]]
    for rows, systems in ((ANSWERS, 3), (ANSWERS[:2], 2)):
        (said,) = warnings_of(cited(rows=[*rows, *other]))
        assert said.startswith(f"no question is answered by all {systems} systems")
    copied = [{**row, "id": f"x{row['id']}", "system": "newer"} for row in ANSWERS[2:]]
    assert warnings_of(cited(rows=[*ANSWERS, *copied])) == ["new and newer gave the same answers, word for word"]
    # The same words to other questions are other answers.
    moved = [{**row, "group": {"q1": "q2", "q2": "q1"}[row["group"]]} for row in copied]
    assert warnings_of(cited(rows=[*ANSWERS, *moved])) == []


@pytest.mark.parametrize(("cut", "warned"), [(0, []), (1, []), (2, ["10.0 %"]), (10, ["50.0 %"])])
def test_a_table_of_pairs_that_were_read_in_part_has_a_warning(cited, backend, cut, warned):
    read = {("p", str(n)): PairScore(0.5, tokens=9, cut=3 if n < cut else 0) for n in range(20)}
    said = warnings_of(cited(replace(backend(name="short"), answers=read)))
    assert said == [f"short truncates {of} of pairs: it misses support in the part that is cut off" for of in warned]


RIVER = [{"text": "The Oder is 840 kilometres long."}, {"text": "Barges carry coal."}]
ROWS = [
    {"id": "a", "group": "q1", "text": "The Oder is long [1]. Barges carry coal [2] and salt [1].", "passages": RIVER},
    {"id": "b", "group": "q2", "text": "Barges carry coal [1].", "passages": RIVER},
]


@pytest.fixture
def cite(tmp_path):
    """`metaeval.cite` with results in the test's folder."""

    def made(*args, **given):
        return metaeval.cite(*args, results=tmp_path / "results", **given)

    return made


@pytest.mark.parametrize("pipeline", ["alce", "aliice", "scifi"])
def test_files_objects_and_the_command_give_the_same_rows(cite, write, tmp_path, pipeline, recorded, sheets):
    file = write(ROWS)
    one, other = cite(pipeline, ROWS, nli=["overlap"]), cite(pipeline, [file], metrics=["overlap"])
    read = [{name: [dict(row) for row in rows] for name, rows in each.rows.items()} for each in (one, other)]
    assert read[0] == read[1]
    recorded.held(f"aliice-cite-{pipeline}", sheets(one), whole=True)
    typed = ["cite", pipeline, str(file), "--nli", "overlap", "--results", str(tmp_path / "typed"), "-q"]
    assert CliRunner().invoke(app, typed).exit_code == 0
    folder = tmp_path / "typed" / "latest"
    for name, rows in one.rows.items():
        written = (folder / f"per-{name.replace(':', '-')}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in written] == [dict(row) for row in rows]


def test_options_are_those_of_the_command_and_others_are_refused(cite):
    found = cite("scifi", ROWS, nli=["overlap"], uncited="fails", group="joint", interval={"resamples": 20})
    settings = found["scifi-scores"].settings
    assert ("uncited=fails,group=joint" in settings["options"], settings["resamples"]) == (True, 20)
    for answers, pipeline, given, says in (
        (ROWS, "scify", {}, "'scifi'"),
        (ROWS, "alce", {"model": "tiny"}, "'model'"),
        ([{"txt": "Long."}], "alce", {}, "line 1.*'txt'"),
        ([{"text": object()}], "alce", {}, "JSON"),
        ([*ROWS, "answers.jsonl"], "alce", {}, "files and objects"),
        ("gone.jsonl", "alce", {}, "gone.jsonl"),
        ([], "alce", {}, "No file"),
    ):
        with pytest.raises(UserError, match=says):
            cite(pipeline, answers, **given)


def test_all_that_is_told_of_claims_is_as_recorded(cite, told, recorded):
    runs = json.loads(Path(__file__).with_name("told_runs.json").read_text(encoding="utf-8"))
    usual = {"nli": "overlap", "splitter": "rules", "interval": {"resamples": 50, "fewest": 2}}
    results = [cite("alce", runs["answers"], **{**usual, **run}) for run in runs["alce"]]
    recorded.held("cited-alce", {number: told(one, ["answers"]) for number, one in enumerate(results)})
