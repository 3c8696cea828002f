"""Marks, blank passages, texts without a word: 250 answers in every spelling of their marks have the same values."""

import json
import random
from dataclasses import replace

import pytest

import metaeval
from metaeval.citation.alce.citations import PAPER, read_alce
from metaeval.citation.citeeval.baselines import autoais
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import NO_TEXT, Answer, Passage, Verdict
from metaeval.citation.scifi.data_model import read_sentences
from metaeval.citation.support.citation_judging import support_statements

SENTENCES = [
    "The dam opened in 1936",
    "Its wall is made of concrete in Nevada",
    "The lake behind it covers 640 km² of desert",
    "Turbines supply a third of the energy of Las Vegas",
    "Some say that visitors rose by 45%",
]
PASSAGES = [f"{sentence}." for sentence in SENTENCES[:4]]

# The group of marks of a sentence as (its numbers, before or behind the full stop).
FORMS = {
    "clean": lambda numbers: ("", "".join(f" [{n}]" for n in numbers)),
    "a list": lambda numbers: ("", f" [{', '.join(numbers)}]"),
    "full-width commas": lambda numbers: ("", f" [{'，'.join(numbers)}]"),
    "and": lambda numbers: ("", f" [{', '.join(numbers[:-1])}{' and ' * (len(numbers) > 1)}{numbers[-1]}]"),
    "full-width brackets": lambda numbers: ("", "".join(f"［{n}］" for n in numbers)),
    "other brackets": lambda numbers: ("", "".join(f"〔{n}〕" for n in numbers)),
    "superscripts": lambda numbers: ("", ",".join("⁰¹²³⁴"[int(n)] for n in numbers)),
    "superscripts behind": lambda numbers: (",".join("⁰¹²³⁴"[int(n)] for n in numbers), ""),
    "tags": lambda numbers: ("", f"<sup>{','.join(numbers)}</sup>"),
    "tags of brackets": lambda numbers: ("", "".join(f"<sup>[{n}]</sup>" for n in numbers)),
    "tags behind": lambda numbers: (f"<sup>{', '.join(numbers)}</sup>", ""),
    "carets": lambda numbers: ("", "".join(f"[^{n}]" for n in numbers)),
    "names": lambda numbers: ("", "".join(f" [doc{n}]" for n in numbers)),
    "names in a list": lambda numbers: ("", f" [{'; '.join(f'Source: {n}' for n in numbers)}]"),
    "behind": lambda numbers: ("".join(f"[{n}]" for n in numbers), ""),
    "behind a space": lambda numbers: (" " + "".join(f"[{n}]" for n in numbers), ""),
    "a tag behind a space": lambda numbers: (f" <sup>{', '.join(numbers)}</sup>", ""),
    "a name behind a space": lambda numbers: (" " + "".join(f"[doc {n}]" for n in numbers), ""),
}


def written(draft, form):
    parts = []
    for sentence, numbers in draft:
        behind, before = FORMS[form](numbers) if numbers else ("", "")
        parts.append(f"{sentence}{before}.{behind}")
    return " ".join(parts)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    rng, rows = random.Random(7), []
    for number in range(250 // len(FORMS) + 1):
        draft = [
            (sentence, sorted(rng.sample("1234", rng.choice([0, 1, 1, 2, 3]))))
            for sentence in rng.sample(SENTENCES, rng.randint(1, 4))
        ]
        rows += [
            {"id": f"{form}{number}", "system": form, "question": f"q{number}", "text": written(draft, form)}
            | {"passages": [{"text": passage} for passage in PASSAGES]}
            for form in FORMS
        ]
    path = tmp_path_factory.mktemp("marks") / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("pipeline", ["alce", "support"])
def test_every_form_of_a_mark_has_the_values_of_the_clean_one(answers, tmp_path, pipeline):
    result = getattr(metaeval.cite, pipeline)(
        answers, nli=["overlap"], splitter="rules", results=tmp_path, store=tmp_path / "s", interval={"resamples": 20}
    )
    values = {form: {} for form in FORMS}
    for row in result.estimates:
        if row["measure"] != "length":
            values[row["system"]][row["measure"]] = row["value"]
    assert {form: own for form, own in values.items() if own != values["clean"]} == {}
    assert all(values["clean"].values())


CASES = {
    "all behind the stop": ("It rained. [1] The river rose. [2]", {"move all": 1}, [(1,), (2,)]),
    "all behind, one without a space": ("It rained.[1] The river rose. [2]", {"move all": 1}, [(1,), (2,)]),
    "all behind, with a quotation": ("“It rained.” [1] The river rose. [2][3]", {"move all": 1}, [(1,), (2, 3)]),
    "before the stop": ("It rained [1]. The river rose [2].", {}, [(1,), (2,)]),
    "some behind": ("It rained. [1] The river rose [2].", {"keep": 1}, [(), (1, 2)]),
    "marks first": ("[1] It rained. [2] The river rose.", {}, [(1,), (2,)]),
    "at the start of a line": ("It rained.\n[1] The river rose.", {"keep": 1}, [(), (1,)]),
}


@pytest.mark.parametrize(("text", "opened", "cited"), CASES.values(), ids=CASES.keys())
def test_marks_move_where_all_of_an_answer_stand_behind_stops(text, opened, cited):
    stated = read_alce([Answer("a", text, (Passage("x"),) * 3)])
    assert {leading: n for leading, n in stated.opened.items() if n} == opened
    assert [one.claim.citations for one in stated.statements[0] if one.number is not None] == cited
    kept = read_alce([Answer("a", text, (Passage("x"),) * 3)], replace(PAPER, leading="keep"))
    assert not any(kept.opened.values())


def test_a_move_is_said_and_released_profiles_keep_theirs(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "It rained. [1] It snowed. [2]", "passages": [{"text": "It rained."}] * 2}))
    own = {"nli": ["overlap"], "results": tmp_path, "store": tmp_path / "s", "interval": {"resamples": 20}}
    labels = [
        {note.label for note in metaeval.cite.alce(path, **own, **more).notes}
        for more in ({}, {"leading": "keep"}, {"leading": "move all"}, {"profile": "released"})
    ]
    assert [one & {"leading"} for one in labels] == [{"leading"}, set(), set(), set()]


TWO = (Passage(" ", "T"), Passage("It rained."))
BLANK = Answer("a", "It rained [1]. It snowed [2][1].\n\n1.\n\n--\n\n1936 [2].", TWO)


def entails(pairs):
    assert all(text.strip() for text, _ in pairs)
    return [Verdict(claim in text) for text, claim in pairs]


def test_blank_passages_are_a_missing_verdict_and_texts_without_a_word_no_statement():
    stated = read_alce([BLANK])
    lines = stated.judge(entails)[0]
    # The passage without text alone, or beside one that does not support the claim, leaves it open.
    assert [(line.claim, line.citation, line.recall, line.reason) for line in lines] == [
        ("It rained.", 1, None, NO_TEXT),
        ("It snowed.", 2, None, NO_TEXT),
        ("It snowed.", 1, None, NO_TEXT),
        ("1936.", 2, 0, ""),
    ]
    facts = [ok.text for ok in read_sentences(BLANK)]
    responses = [one.text for one in split_response(BLANK).statements]
    assert facts == responses == ["It rained.", "It snowed.", "1936."]
    assert [len(one.cited) for one in support_statements(BLANK)] == [1, 2, 1]
    ais = autoais([BLANK], [split_response(BLANK)], entails)
    assert [*zip(ais["recall"].worst, ais["recall"].best, strict=True)] == [(0, 1), (0, 1), (0, 0)]
