"""SCiFi from answers to numbers of systems: on paper, with bounds, notes, rankings, options, and what is refused.

Replies and verdicts are made by hand, so that every number can be.
"""

import json
from dataclasses import replace

import pytest

import metaeval
from metaeval.citation.measures import estimate, group_codes, micro
from metaeval.citation.pipelines.run_pipeline import prepare
from metaeval.citation.pipelines.scifi import SCIFI, read_run, scifi_sheets, value_facts
from metaeval.citation.scifi.answer_measures import answer_rows, fact_row
from metaeval.citation.scifi.facts import read_with_model
from metaeval.errors import UserError
from metaeval.llm.messages import read_reply
from metaeval.stats.intervals import Resampling

# Passages are single letters: a premise is the letter of the passage.
PASSAGES = [{"text": letter} for letter in "abc"]
REFERENCE = {"answer": "Dams store water. Coal is black."}
DAMS = "Dams store water and barges carry coal."
ANSWERS = [
    {
        "id": "1",
        "group": "q1",
        "system": "old",
        "text": "Dams store water [1] and barges carry coal [2]. Fish swim.",
        "reference": REFERENCE,
    },
    {"id": "2", "group": "q2", "system": "old", "text": "Geese fly south [3]. Geese sing [7]. Nobody knows [1]."},
    {"id": "3", "group": "q1", "system": "new", "text": "Dams store water [2].", "reference": REFERENCE},
    {"id": "4", "group": "q2", "system": "new", "text": "Geese sing [1]."},
]
# Of the sentence with two citations; the third fact is not in it, and its segment is not either.
SEGMENTS = {
    "Dams store water.": "Dams store water",
    "Barges carry coal.": "barges carry coal",
    "Rivers flow.": "wild rivers of gold",
}
SCORES = {
    ("a", "Dams store water."): 0.9,
    ("b", "Barges carry coal."): 0.6,
    ("b", "Rivers flow."): 0.0,
    ("c", "Geese fly south."): None,
    ("b", "Dams store water."): 0.3,
    ("a", "Geese sing."): 0.5,
    (f"{DAMS} Fish swim.", "Dams store water."): 1.0,
    (f"{DAMS} Fish swim.", "Coal is black."): 0.2,
    ("Dams store water.", "Dams store water."): 0.8,
    ("Dams store water.", "Coal is black."): None,
}


def ask(requests):
    """The sentence itself is its one fact; DAMS has three, and one sentence gets no facts but talk."""
    replies = []
    for request in requests:
        *_, sentence, last = request.body["messages"][0]["content"].splitlines()
        if last.startswith("Fact: "):
            assert json.loads(sentence.removeprefix("Sentence: ")) == DAMS, "no other sentence has two citations"
            said = json.dumps({"segment": SEGMENTS[json.loads(last.removeprefix("Fact: "))]})
        else:
            text = json.loads(last.removeprefix("Sentence: "))
            facts = [*SEGMENTS, 7] if text == DAMS else [text]
            said = "I see no facts." if text == "Nobody knows." else json.dumps({"facts": facts})
        choice = {"message": {"content": said}, "finish_reason": "stop"}
        replies.append(read_reply(json.dumps({"model": "tiny-2", "choices": [choice]})))
    return replies


@pytest.fixture
def backend(stored_backend):
    """Make a backend of the scores above."""

    def made(scores=SCORES, threshold=None, name="stored"):
        return stored_backend(scores, threshold, name, premise="joint")

    return made


@pytest.fixture
def assessed(write, backend, tmp_path):
    """Make the facts from the replies above, and value them with backends."""

    def made(*backends, overrides=("interval.resamples=200", "interval.fewest=2"), rows=ANSWERS):
        options = SCIFI.options(files=[write(rows)], splitter="rules", model="t")
        run = prepare(SCIFI, options, {"results": tmp_path / "results"}, overrides)
        source = read_run(run)
        read = read_with_model(run.answers, source.options, ask, run.chat, run.splitter)
        return value_facts(replace(source, read=read, models=["tiny-2"]), backends or (backend(),))

    return made


def records(found, name="scifi-scores"):
    (sheet,) = [one for one in scifi_sheets(found) if one.name == name]
    return sheet.records


def value(found, system, measure, name="scifi-scores"):
    return next(one["value"] for one in records(found, name) if (one["system"], one["measure"]) == (system, measure))


def notes(found):
    return {note.label: " ".join([note.text, *(text for _, text in note.items)]) for note in footer(found)}


def footer(found):
    return scifi_sheets(found)[0].footer


def test_scores_of_systems_on_paper(assessed):
    found = assessed()
    # old: 0.9, 0.6 and 0 of the first answer; of the second 0 for the mark that cites nothing, and one missing.
    assert value(found, "old", "entailment_facts") == pytest.approx((0.9 + 0.6 + 0 + 0) / 4)
    assert value(found, "old", "entailment_answers") == pytest.approx((1.5 / 3 + 0) / 2)
    assert value(found, "new", "entailment_facts") == pytest.approx((0.3 + 0.5) / 2)
    # Two facts of one reference; of the other answer one is missing. Answers without a reference have no coverage.
    assert value(found, "old", "coverage_facts") == pytest.approx((1.0 + 0.2) / 2)
    assert value(found, "new", "coverage_answers") == pytest.approx(0.8)
    counted = [value(found, *which) for which in (("old", "count_valued"), ("new", "count_reference"))]
    assert counted == [4, 1]
    grid = scifi_sheets(found)[0]
    assert [(group.title, group.columns) for group in grid.groups] == [("entailment", 2), ("coverage", 2), ("facts", 2)]
    assert grid.headings[:2] == ("over facts", "over answers")


def test_a_threshold_makes_values_of_0_and_1(assessed, backend):
    found = assessed(backend(threshold=0.5))
    # old: 0.9 and 0.6 reach it, 0 and the mark that cites nothing do not. new: 0.3 does not, 0.5 does.
    assert value(found, "old", "entailment_facts") == 2 / 4
    assert value(found, "new", "entailment_facts") == 1 / 2
    assert value(found, "old", "coverage_facts") == 1 / 2
    both = scifi_sheets(assessed(backend(), backend(threshold=0.5, name="other")))[0]
    assert [block.title for block in both.blocks] == ["stored", "other at 0.5"]
    assert {one["backend"] for one in both.records} == {"stored", "other"}


def test_what_the_answers_are_like(assessed):
    found = assessed()
    of = {key: value(found, "old", key, "scifi-answers") for key in ("density", "density_sub", "facts_per_sentence")}
    # Five marks in five sentences, one of them before "and"; six facts in the four sentences whose facts are known.
    assert of == {"density": 5 / 5, "density_sub": 1 / 5, "facts_per_sentence": 6 / 4}
    assert value(found, "old", "uncited", "scifi-answers") == 1 / 6
    # Of the five marks one is in the sentence without facts: nobody knows whether it is used.
    assert value(found, "old", "citations_without_facts", "scifi-answers") == 0 / 4
    assert value(found, "old", "not_found", "scifi-answers") == 1 / 3
    assert value(found, "new", "not_found", "scifi-answers") is None


def test_what_is_missing_is_told_by_reason_and_bounded(assessed):
    said = notes(assessed())
    assert said["not judged"].strip() == (
        "failed 1 (of 8 facts); first: 2, fact 1: Geese fly south.; "
        "failed 1 (of 4 reference facts); first: 3, fact 2: Coal is black."
    )
    # (1.5 + 0 to 2) / 6, with one fact in the sentence that was lost; (0.8 + 0 or 1) / 2.
    assert said["could be"].strip() == (
        "new coverage 40.0 to 90.0; old citation entailment 25.0 to 58.3 (if the 1 sentence without facts states one)"
    )
    assert said["without facts"] == "unparsed 1 (of 7 sentences): their facts are unknown; first: 2, sentence 3"
    assert said["problems"] == "fact out of schema 1"
    assert said["counts"].endswith("problem: out of range 1 (first: 2, offset 32)")
    assert said["facts"].startswith("model=t, temperature=0.0")
    assert said["facts"].endswith("answered as tiny-2")


def test_without_anything_missing_there_is_nothing_told(assessed, backend):
    scores = {pair: 0.5 if score is None else score for pair, score in SCORES.items()}
    said = notes(assessed(backend(scores), rows=[ANSWERS[0], ANSWERS[2], ANSWERS[3]]))
    assert {"not judged", "could be", "without facts", "truncation"}.isdisjoint(said)


def test_lost_sentences_alone_are_bounded_too(assessed, backend):
    scores = {pair: 0.5 if score is None else score for pair, score in SCORES.items()}
    rows = [{**ANSWERS[1], "reference": {"answer": "Geese sing. Nobody knows."}}]
    scores["Geese fly south. Geese sing. Nobody knows.", "Geese sing."] = 1.0
    said = notes(assessed(backend(scores), rows=rows))
    assert "not judged" not in said
    # Facts of 0.5 and 0 and a third one: 0.5 / 3 to 1.5 / 3. One fact of the reference of 1 and another: 1/2 to 2/2.
    taken = "(if the 1 sentence without facts states one)"
    assert said["could be"].strip() == (f"citation entailment 16.7 to 50.0 {taken}, coverage 50.0 to 100.0 {taken}")


def test_one_group_with_a_value_has_no_interval_however_many_there_are(assessed, backend):
    # Of three groups one cites; another one has a reference.
    rows = [
        {"id": "1", "text": "Geese sing [1].", "system": "old"},
        {"id": "2", "text": "Fish swim.", "system": "old"},
        {"id": "3", "text": "Fish swim.", "system": "old"},
        {"id": "4", "text": "Geese sing [1].", "system": "new"},
        {"id": "5", "text": "Dams store water [2].", "system": "new"},
    ]
    found = assessed(backend(name="one"), backend(name="other"), rows=rows)
    ends = {(one["system"], one["measure"]): (one["low"], one["high"]) for one in records(found)}
    assert ends["old", "entailment_facts"] == ends["old", "entailment_answers"] == (None, None)
    low, high = ends["new", "entailment_facts"]
    assert low < 0.4 < high
    # All three of old have a density: 1, 0 and 0.
    (density,) = [
        one for one in records(found, "scifi-answers") if (one["system"], one["measure"]) == ("old", "density")
    ]
    assert density["value"] == 1 / 3
    assert density["low"] < 1 / 3 < density["high"]
    (agreed,) = records(found, "scifi-agreement")
    assert (agreed["tau"], agreed["tau_low"], agreed["flips"], agreed["flips_high"]) == (1.0, None, 0.0, None)


def test_intervals_draw_groups_as_the_pipelines_own_measures_do(assessed):
    found = assessed()
    rows = [number for number, answer in enumerate(found.run.answers) if answer.system == "old"]
    group, n_groups = group_codes([found.run.answers[number] for number in rows])
    expected = estimate(
        micro([found.scored[0].entailment[number] for number in rows]),
        group,
        n_groups,
        Resampling(200, fewest=2),
    )
    (one,) = [one for one in records(found) if (one["system"], one["measure"]) == ("old", "entailment_facts")]
    assert (one["value"], one["low"], one["high"]) == (expected.value, expected.low, expected.high)


def test_two_backends_are_held_against_each_other(assessed, backend):
    # Under the second one the answers of the new system hold, and those of the old one do not.
    other = {**SCORES, ("a", "Dams store water."): 0.0, ("b", "Dams store water."): 1.0, ("a", "Geese sing."): 0.0}
    found = assessed(backend({**SCORES, ("a", "Geese sing."): 0.1}, name="one"), backend(other, name="other"))
    # one: old 0.375, new (0.3 + 0.1) / 2 = 0.2. other: old 0.6 / 4 = 0.15, new 0.5.
    ranks = {
        (one["backend"], one["system"]): one["rank"]
        for one in records(found, "scifi-rankings")
        if one["measure"] == "entailment"
    }
    assert ranks == {("one", "old"): 1, ("one", "new"): 2, ("other", "old"): 2, ("other", "new"): 1}
    agreed = {one["measure"]: one for one in records(found, "scifi-agreement")}
    assert (agreed["entailment"]["tau"], agreed["entailment"]["flips"], agreed["entailment"]["pairs"]) == (-1, 1, 1)
    # Both say 0.6 and 0.8 of coverage.
    assert (agreed["coverage"]["tau"], agreed["coverage"]["flips"]) == (1, 0)
    assert [sheet.name for sheet in scifi_sheets(assessed(backend(), rows=ANSWERS))] == [
        "scifi-scores",
        "scifi-answers",
    ]


def test_where_nothing_is_cited_nothing_has_a_value(assessed, backend):
    rows = [{"id": "1", "system": "a", "text": "Fish swim."}, {"id": "2", "system": "b", "text": ""}]
    found = assessed(backend(name="one"), backend(name="other"), rows=rows)
    assert [sheet.name for sheet in scifi_sheets(found)] == ["scifi-scores", "scifi-answers"]
    assert (value(found, "a", "entailment_facts"), value(found, "a", "count_valued")) == (None, 0)
    assert (value(found, "a", "uncited", "scifi-answers"), value(found, "b", "uncited", "scifi-answers")) == (1, None)
    assert value(found, "b", "density", "scifi-answers") is None
    scores, answers = (sheet for sheet in scifi_sheets(found))
    assert scores.headings == ("over facts", "over answers", "valued")
    assert [[cell.number for cell in line.cells] for line in scores.lines] == [["–", "–", "0"]] * 4
    assert [(group.title, group.columns) for group in scores.groups] == [("entailment", 2), ("facts", 1)]
    # No segment was looked for, and no citation is there to be used.
    (reading,) = (note.text for note in answers.footer if note.label == "reading")
    assert reading.endswith("uncited: facts of sentences without a citation")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("group=joint", 1.5 / 4),
        # A fact without a citation counts 0.
        ("uncited=fails", 1.5 / 5),
    ],
)
def test_options_reach_the_numbers_and_the_signature(assessed, option, expected):
    found = assessed(overrides=("interval.resamples=0", option))
    assert value(found, "old", "entailment_facts") == pytest.approx(expected)
    (line,) = scifi_sheets(found)[0].signatures
    assert f",{option.replace(chr(39), '')}," in line
    assert "|facts:model=t, " in line
    assert "|answered_as:tiny-2|" in line
    assert "decomposition=own@" in line
    assert "premise:" not in line


def test_rows_say_what_became_of_every_fact(assessed):
    found = assessed()
    rows = {(row["answer"], row["fact"]): row for row in map(fact_row, found.scored[0].facts)}
    assert len(rows) == 8
    strayed = rows["1", "Rivers flow."]
    # It is not in the sentence of 39 characters, whose last citation stands before the full stop, one from the end.
    assert (strayed["segment"], strayed["found"], strayed["citations"], strayed["distance"]) == (
        DAMS,
        "sentence",
        "2",
        1,
    )
    first = rows["1", "Dams store water."]
    assert (first["segment"], first["citations"], first["distance"]) == ("Dams store water", "1", 0)
    assert (first["value"], first["passage"], first["chunk"], first["made_by"]) == (0.9, 1, 1, "model")
    assert (rows["1", "Fish swim."]["state"], rows["1", "Fish swim."]["value"]) == ("uncited", None)
    assert (rows["2", "Geese sing."]["state"], rows["2", "Geese sing."]["citations"]) == ("fails", "7")
    assert (rows["2", "Geese fly south."]["state"], rows["2", "Geese fly south."]["reason"]) == ("unjudged", "failed")
    answers = {row["answer"]: row for row in answer_rows(found.read, found.scored[0], found.options)}
    assert (answers["1"]["entailment"], answers["1"]["coverage"], answers["1"]["facts"]) == (0.5, 0.6, 4)
    assert (answers["2"]["facts_unjudged"], answers["2"]["sentences_without_facts"]) == (1, 1)
    assert (answers["2"]["coverage"], answers["4"]["reference_facts"]) == (None, 0)


def prepared(write, *overrides, nli=(), threshold=None, chat=None, **settings):
    options = SCIFI.options(files=[write()], nli=nli, threshold=threshold, splitter="rules", **(chat or {}))
    return read_run(prepare(SCIFI, options, settings, overrides))


def test_scores_from_0_to_1_are_values_as_they_are_and_others_are_decided(write):
    names = ("overlap", "minilm-bertscore", "rouge")
    found = prepared(write, nli=names, threshold="rouge=0.3").run.cutoffs
    assert {name: cutoff.value for name, cutoff in found.items()} == {
        "overlap": None,
        "minilm-bertscore": 0.67,
        "rouge": 0.3,
    }
    assert prepared(write, nli=("overlap",), threshold="0.2").run.cutoffs["overlap"].value == 0.2
    assert prepared(write, nli=("overlap",), threshold="soft").run.cutoffs["overlap"].value is None


def test_who_makes_the_facts_is_told_by_what_is_given(write):
    assert prepared(write).options.facts == "parser"
    named = prepared(write, "price_in=1", "price_out=2", chat={"model": "m"}, budget=3.0)
    assert (named.options.facts, named.parser, named.run.chat.model, named.run.chat.budget) == ("model", None, "m", 3.0)
    assert prepared(write, "budget=2", "metric_options={}").run.config.budget == 2
    assert prepared(write, "model=m").run.chat.model == "m"


@pytest.mark.parametrize(
    ("overrides", "more", "says"),
    [
        (("wndow=3",), {}, "Unknown setting 'wndow'. Did you mean 'window'?"),
        (("window=some",), {}, "--set window should be a valid integer"),
        (("group=all",), {}, "--set group should be 'max' or 'joint'"),
        (("facts=model",), {}, "A chat model makes the facts, and none is given: give --model NAME"),
        (("facts=parser",), {"chat": {"model": "m"}}, "by the parser (facts=parser) or by a chat model: leave out"),
        (("price_in=1",), {}, "--set price_in is for chat models, and a parser makes the facts: give --model"),
        ((), {"chat": {"base_url": "http://h/v1"}}, "--base-url is for chat models, and a parser makes"),
        (("temperature=3",), {"chat": {"model": "m"}}, "temperature should be less than or equal to 2"),
        (("mapping_file=none.txt",), {"chat": {"model": "m"}}, "none.txt"),
        (("tokenizer=/none/such",), {}, "tokenizer=/none/such cannot be loaded"),
        ((), {"nli": ("minilm-bertscore",), "threshold": "soft"}, "A fact's value is a score from 0 to 1, and"),
        ((), {"nli": ("overlap",), "threshold": "rouge=1"}, "Unknown backend in --threshold 'rouge'"),
        ((), {"nli": ("overlpa",)}, "Did you mean 'overlap'?"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_is_made(write, overrides, more, says):
    with pytest.raises(UserError) as error:
        prepared(write, *overrides, **more)
    assert says in str(error.value)
    assert str(error.value).count("\n") == 0


def test_answers_without_passages_have_nothing_to_cite(write, tmp_path):
    path = write([{"text": "Fish swim [1].", "passages": []}])
    with pytest.raises(UserError, match="No answer in answers has passages"):
        metaeval.cite("scifi", path, results=tmp_path)
