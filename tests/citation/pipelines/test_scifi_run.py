"""SCiFi from answers to numbers of systems: on paper, with bounds, ranks, options, and what is refused.

Replies and verdicts are made by hand, so that every number can be.
"""

import json
import re

import pytest

import metaeval
from metaeval.citation.chat_models import recording
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.options import answers_in
from metaeval.citation.pipelines.scifi import SCIFI, fact_maker, judge_facts
from metaeval.citation.scifi.facts import read_with_model
from metaeval.core.errors import UserError
from metaeval.llm.messages import read_reply

# Passages are single letters: a premise is the letter of the passage.
PASSAGES = [{"text": letter} for letter in "abc"]
REFERENCE = {"answer": "Dams store water. Coal is black."}
DAMS = "Dams store water and barges carry coal."
ANSWERS = [
    {"id": "1", "group": "q1", "system": "old", "reference": REFERENCE}
    | {"text": "Dams store water [1] and barges carry coal [2]. Fish swim."},
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


class Stored(list):
    """Backends with stored scores, in the place of `Judges`."""

    def __init__(self, options, backends):
        super().__init__(backends)
        self.config = options.run()


@pytest.fixture
def assessed(tmp_path, write, stored_backend):
    """Make the facts from the replies above, value them with backends of scores, and return the tables."""

    def made(*scores, rows=ANSWERS, threshold=None, resamples=200, **settings):
        replies = tmp_path / "replies.jsonl"
        options = SCIFI.options(
            files=[write(rows)], splitter="rules", model="t", replay=replies, **settings,
            interval={"resamples": resamples, "fewest": 2},
        )  # fmt: skip
        chat, answers = fact_maker(options), answers_in(options)
        read_with_model(answers, options.rules, recording(ask, replies), chat)
        backends = [stored_backend(of, threshold, f"judge {n}") for n, of in enumerate(scores or (SCORES,), start=1)]
        cited, notes, counted = judge_facts(options, chat, answers, Stored(options, backends), None)
        return cited.done(options.files, *notes, counted=counted).value

    return made


def values(found, name="scifi-scores"):
    return {(row["system"], row["measure"]): row["value"] for row in found[name].records}


def notes(found):
    return {note.label: " ".join([note.text, *(text for _, text in note.items)]).strip() for note in found.notes}


def test_scores_of_systems_on_paper(assessed, recorded, sheets):
    found = assessed()
    recorded.held("scifi-run", sheets(found), whole=True)
    value = values(found)
    # old: 0.9, 0.6 and 0 of the first answer; of the second 0 for the mark that cites nothing, and one missing.
    assert value["old", "entailment_facts"] == pytest.approx((0.9 + 0.6 + 0 + 0) / 4)
    assert value["old", "entailment_answers"] == pytest.approx((1.5 / 3 + 0) / 2)
    assert value["new", "entailment_facts"] == pytest.approx((0.3 + 0.5) / 2)
    # Two facts of one reference; of the other answer one is missing. Answers without a reference have no coverage.
    assert value["old", "coverage_facts"] == pytest.approx((1.0 + 0.2) / 2)
    assert value["new", "coverage_answers"] == pytest.approx(0.8)
    assert (value["old", "count_valued"], value["new", "count_reference"]) == (4, 1)
    # A threshold makes 0 and 1. old: 0.9 and 0.6 reach it, 0 and the mark that cites nothing do not. new: 0.5 alone.
    found = assessed(threshold=0.5)
    recorded.held("scifi-run-decided", {name: table[3:5] for name, table in sheets(found).items()})
    value = values(found)
    keys = ("old", "entailment_facts"), ("new", "entailment_facts"), ("old", "coverage_facts")
    assert [value[key] for key in keys] == [2 / 4, 1 / 2, 1 / 2]


def test_what_is_missing_is_told_by_reason_and_bounded(assessed):
    said = notes(assessed())
    assert said["not judged"].startswith("failed 2, unparsed 1 (of 8 facts, 4 reference-facts); first: 2, fact 1: ")
    # (1.5 + 0 to 2) / 6, with one fact in the sentence that was lost; (0.8 + 0 or 1) / 2.
    assert said["could be"] == "new coverage 40.0 to 90.0; old entailment 25.0 to 58.3"
    assert "unparsed 1 (of 7 sentences): their facts are unknown; first: 2, sentence 3" in said["without facts"]
    assert said["problems"] == "fact out of schema 1"
    assert "problem: out of range 1" in said["counts"]


def test_lost_sentences_alone_are_bounded_too_and_where_nothing_lacks_nothing_is_told(assessed):
    scores = {pair: 0.5 if score is None else score for pair, score in SCORES.items()}
    said = notes(assessed(scores, rows=[ANSWERS[0], ANSWERS[2], ANSWERS[3]]))
    assert {"not judged", "could be", "without facts", "truncation"}.isdisjoint(said)
    rows = [{**ANSWERS[1], "reference": {"answer": "Geese sing. Nobody knows."}}]
    scores["Geese fly south. Geese sing. Nobody knows.", "Geese sing."] = 1.0
    # Facts of 0.5 and 0 and a third one: 0.5 / 3 to 1.5 / 3. One fact of the reference of 1 and another: 1/2 to 2/2.
    assert notes(assessed(scores, rows=rows))["could be"] == "entailment 16.7 to 50.0, coverage 50.0 to 100.0"


def test_one_group_with_a_value_has_no_interval_however_many_there_are(assessed):
    # Of three groups one cites; another one has a reference.
    texts = ["Geese sing [1].", "Fish swim.", "Fish swim.", "Geese sing [1].", "Dams store water [2]."]
    rows = [{"id": str(n), "text": text, "system": "old" if n < 3 else "new"} for n, text in enumerate(texts)]
    found = assessed(SCORES, SCORES, rows=rows)
    ends = {(row["system"], row["measure"]): (row["low"], row["high"]) for row in found["scifi-scores"].records}
    assert ends["old", "entailment_facts"] == ends["old", "entailment_answers"] == (None, None)
    assert ends["new", "entailment_facts"][0] < 0.4 < ends["new", "entailment_facts"][1]
    # All three of old have a density: 1, 0 and 0.
    (density,) = [
        row for row in found["scifi-answers"].records if (row["system"], row["measure"]) == ("old", "density")
    ]
    assert density["low"] < density["value"] == 1 / 3 < density["high"]


def test_two_backends_are_held_against_each_other(assessed, recorded, sheets):
    # Under the second one the answers of the new system hold, and those of the old one do not.
    other = {**SCORES, ("a", "Dams store water."): 0.0, ("b", "Dams store water."): 1.0, ("a", "Geese sing."): 0.0}
    found = assessed({**SCORES, ("a", "Geese sing."): 0.1}, other)
    # One: old 0.375, new (0.3 + 0.1) / 2 = 0.2. Other: old 0.6 / 4 = 0.15, new 0.5. Both say 0.6 and 0.8 of coverage.
    agreed = {row["measure"]: (row["tau"], row["flips"]) for row in found["ranking-agreement"].records}
    assert agreed == {"entailment_facts": (-1, 1), "coverage_facts": (1, 0)}
    # Where nothing is cited nothing has a value.
    rows = [{"id": "1", "system": "a", "text": "Fish swim."}, {"id": "2", "system": "b", "text": ""}]
    recorded.held("scifi-run-two", {name: table for name, table in sheets(found).items() if ":" not in name})
    found = assessed(SCORES, SCORES, rows=rows)
    assert list(found) == ["scifi-scores", "scifi-answers"]
    assert (values(found)["a", "entailment_facts"], values(found)["a", "count_valued"]) == (None, 0)
    texts = values(found, "scifi-answers")
    assert [texts["a", "uncited"], texts["b", "uncited"], texts["b", "density"]] == [1, None, None]


@pytest.mark.parametrize(
    ("option", "expected"),
    [(("group", "joint"), 1.5 / 4), (("group", "nearest"), 1.5 / 4), (("uncited", "fails"), 1.5 / 5)],
)
def test_options_reach_the_numbers_and_the_signature(assessed, option, expected):
    found = assessed(resamples=0, **dict([option]))
    assert values(found)["old", "entailment_facts"] == pytest.approx(expected)
    (line,) = found.signatures
    for part in (f",{'='.join(option)},", "|facts:model=t, ", "|answered_as:tiny-2|", "decomposition@"):
        assert part in line


def test_scores_from_0_to_1_are_values_as_they_are_and_others_are_decided():
    def cutoffs(names, threshold, profile=None):
        options = SCIFI.options(files=["a.jsonl"], nli=names, threshold=threshold, profile=profile)
        return {name: cutoff.value for name, cutoff in Judges(options, find=options.find).cutoffs.items()}

    assert cutoffs("overlap", None, "paper") == {"overlap": 0.63}
    names = ("overlap", "minilm-bertscore", "rouge")
    assert cutoffs(names, "rouge=0.3") == {"overlap": None, "minilm-bertscore": 0.67, "rouge": 0.3}
    assert cutoffs("overlap", 0.2) == {"overlap": 0.2}
    assert cutoffs("overlap", "soft") == {"overlap": None}


def test_the_profile_paper_is_what_it_names_and_typed_ones_go_before_it(assessed, letters, recorded, sheets):
    how = {"profile": "paper", "tokenizer": letters, "resamples": 0}
    found = assessed(threshold=0.5, **how)
    recorded.held("scifi-run-paper", {name: table[3] for name, table in sheets(found).items()}, whole=True)
    # Old: 0.9 and 0.6 are entailed; 0, the mark that cites nothing and "Fish swim." are not; one has no verdict.
    assert (values(found)["old", "entailment_facts"], values(found)["old", "count_valued"]) == (2 / 5, 5)
    assert f"uncited=fails,group=nearest,tokenizer={letters},window=256|" in found.signatures[0]
    typed = assessed(threshold=0.5, **how, uncited="left out", group="max")
    assert values(typed)["old", "entailment_facts"] == 2 / 4
    assert f"uncited=left out,group=max,tokenizer={letters},window=256|" in typed.signatures[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"profile": "released"}, "released"),
        ({"profile": "paper", "tokenizer": "/none"}, "tokenizer=/none cannot be loaded"),
        ({"grupo": "max"}, "grupo"),
        ({"group": "all"}, "Unknown group 'all'"),
        ({"base_url": "http://h/v1"}, "base-url is for chat models"),
        ({"model": "m", "chat": {"temperature": 3}}, "'temperature' in the options of the chat model is 3"),
        ({"model": "m", "prompts": "none"}, "prompts=none holds no decomposition.txt or mapping.txt"),
        ({"tokenizer": "/none/such"}, "tokenizer=/none/such cannot be loaded (HFValidationError: "),
        ({"nli": "minilm-bertscore", "threshold": "soft"}, "A fact's value is from 0 to 1"),
    ],
)
def test_what_cannot_be_is_one_sentence_before_anything_is_made(write, options, says):
    with pytest.raises((UserError, TypeError), match=re.escape(says)):
        metaeval.cite.scifi(write(), **options)
