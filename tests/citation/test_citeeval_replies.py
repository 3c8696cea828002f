"""What is taken from a judge's reply: what keeps to the form to the letter, once; the rest is counted."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.chat_models import chat_request
from metaeval.citation.citeeval.citation_edits import REASONS, Edit
from metaeval.citation.citeeval.judge import Asking
from metaeval.citation.citeeval.judge_replies import ParsedReply, read_json, read_released, read_tags, reply_schema
from metaeval.core.errors import UserError
from metaeval.llm.messages import is_malformed
from tests.citation.generation_made import reply as made

DELETE = {"action": "delete", "citation": 6, "reason": "misleading"}
ADD = {"action": "add", "citation": 7, "reason": "credibility"}


def review(number, rating=2, edits=(), **changes):
    return {"id": number, "thinking": "t", "edits": list(edits), "rating": rating, **changes}


def context(number, name="retrieval", **changes):
    return {"id": number, "thinking": "t", "context": name, **changes}


def reply(*statements):
    return json.dumps({"statements": statements})


def test_contexts_edits_and_ratings_by_statement():
    found = read_json(reply(*(context(n, name) for n, name in enumerate(["query", "model"], 1))), "attribution", {1, 2})
    assert found == ParsedReply(contexts={1: 1, 2: 4})
    found = read_json(reply(review(2, 5), review(1, 2, [DELETE, ADD])), "editing", {1, 2})
    assert found == ParsedReply(edits={1: (Edit("delete", 1, 6), Edit("add", 3, 7)), 2: ()}, stars={1: 2, 2: 5})
    for action, reasons in REASONS.items():
        edits = [{"action": action, "citation": 3, "reason": reason} for reason in reasons]
        found = read_json(reply(review(1, edits=edits)), "editing", {1}).edits[1]
        assert found == tuple(Edit(action, number, 3) for number in range(1, len(reasons) + 1))


@pytest.mark.parametrize(
    "text",
    [
        *("", "Rating: 5", "[]", "null", '{"statements": {}}'),
        '{"statements": [], "note": 1}',
        f"Here it is: {reply(review(1))}",
        reply(review(1))[:-2],
    ],
)
def test_a_reply_of_another_form_is_not_read_at_all(text):
    assert read_json(text, "editing", {1}, strict=True) is None
    assert read_json(text, "attribution", {1}, strict=True) is None


@pytest.mark.parametrize(
    "entry",
    [
        *(review(1, rating) for rating in (0, 6, 2.5, "2", True)),
        *(review("1"), review(1, note="more"), review(1, thinking=None), review(1, edits="none")),
        review(1, edits=[DELETE, {**ADD, "reason": "misleading"}]),  # a reason of the other action
        *(review(1, edits=[{**DELETE, "reason": reason}]) for reason in ("wrong", ["misleading"])),
        *(review(1, edits=[{**DELETE, "action": action}]) for action in ("move", ["delete"])),
        *(review(1, edits=[{**DELETE, "citation": citation}]) for citation in ("6", -1)),
        review(1, edits=[{"action": "delete", "citation": 6}]),
        *("statement 1 is fine", None),
    ],
)
def test_an_entry_out_of_the_schema_is_counted_as_a_whole_and_the_others_are_read(entry):
    said = read_json(reply(entry, review(2, 3)), "editing", {1, 2}, strict=True)
    assert said == ParsedReply(edits={2: ()}, stars={2: 3}, problems=Counter({"out of schema": 1}))


def test_invented_and_repeated_statements_are_counted_and_count_for_nothing():
    said = read_json(
        reply(review(0), review(1, 1), review(1, 5), review(2, 4), review(9), review(9)), "editing", {1, 2}
    )
    assert (said.edits, said.stars) == ({2: ()}, {2: 4})  # two words on statement 1: neither stands
    assert said.problems == {"no such statement": 3, "said twice": 1}
    assert read_json(reply(context(1, "other"), context(3)), "attribution", {1, 2}).problems == {
        "out of schema": 1,
        "no such statement": 1,
    }


# 64 kinds of replies that mean two stars and a deletion for statement 1, and four stars for 2: the stars that may be
# read (null: nothing), and what is counted.
KINDS = json.loads(Path(__file__).with_name("citeeval_json_replies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case["kind"])
def test_what_takes_no_guess_is_repaired_and_counted_and_nothing_else(case):
    said = read_json(case["text"], "editing", {1, 2})
    stars = case["stars"] and {int(number): rating for number, rating in case["stars"].items()}
    edits = {1: (Edit("delete", 1, 6),), 2: ()}
    if stars is None:
        assert said is None
    else:
        assert said == ParsedReply(edits={n: edits[n] for n in stars}, stars=stars, problems=Counter(case["counted"]))
    is_repaired = any(name.startswith("repaired") for name in case["counted"])
    assert (read_json(case["text"], "editing", {1, 2}, strict=True) == said) == (not is_repaired)
    # A second try (ask_again) is for what will not be read, and for nothing else.
    for reading in ("repaired", "strict"):
        request = chat_request(Asking(model="t"), "", reply_schema("editing"), repairs=reading == "repaired")
        read = read_json(case["text"], "editing", {1, 2}, strict=reading == "strict")
        assert is_malformed(request, made(case["text"])) == (read is None)


def test_what_is_read_in_json_of_any_kind_by_each_mode(recorded):
    texts = [case["text"] for case in KINDS[::5]]
    texts += [text.replace('"rating": ', '"context": "Query", "rating": ') for text in texts[:3]]
    texts += [reply(context("2", name), context(3, "model"), context(1, note=1)) for name in (*CONTEXTS, None)]
    texts += [reply(review(one, 6 - one, [DELETE] * one) | more) for one in range(4) for more in ({}, {"edits": 1})]
    texts += [reply({"id": 1, "rating": 5}, {"id": "2", "rating": "4"}, {"id": 1.0, "thinking": "", "rating": 3.0})]
    found = {}
    for number, text in enumerate(texts):
        for mode in ("attribution", "edits", "cot", "vanilla"):
            module = "editing" if mode != "attribution" else mode
            for strict in (False, True):
                said = read_json(text, module, {1, 2}, **({} if module == mode else {"mode": mode}), strict=strict)
                if said is not None:
                    edits = {n: [f"{one.name}:{one.citation}" for one in own] for n, own in said.edits.items()}
                    told = [said.contexts, edits, said.stars, said.problems]
                    found.setdefault(str(number), {})[f"{mode}{' strictly' * strict}"] = told
    recorded.held("citeeval-json", found)


CONTEXTS = ["query", "retrieval", "response", "model", "Retrieval", "", 2]


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        *(("editing", e) for e in (review(1), review(1, 5, [DELETE, ADD]), review(1, 7), review(1, note=1), {})),
        *(("attribution", context(1, name)) for name in CONTEXTS),
    ],
)
def test_the_schema_that_is_asked_for_and_the_reading_agree(module, entry):
    jsonschema = pytest.importorskip("jsonschema", reason="checks replies against the schema as a server would")
    validator = jsonschema.Draft202012Validator(reply_schema(module)["json_schema"]["schema"])
    said = read_json(reply(entry), module, {1}, strict=True)
    assert validator.is_valid({"statements": [entry]}) == (not said.problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 8) | st.sampled_from(["delete", "evidence", "query", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "thinking", "edits", "rating", "context", "statements"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(JSON | st.builds(lambda entries: {"statements": entries}, st.lists(JSON, max_size=3)))
def test_no_json_whatsoever_makes_the_reading_fail(value):
    for module in ("editing", "attribution"):
        said = read_json(json.dumps(value), module, {1, 2, 3})
        assert said is None or {*said.contexts, *said.edits, *said.stars} <= {1, 2, 3}


def test_tags_are_read_once_within_the_statements_and_outside_thinking():
    text = (
        '<thinking><rating sentence_id="1">1</rating></thinking>'
        '<rating sentence_id="1"> 5 </rating><rating sentence_id="2">7</rating>'
        '<rating sentence_id="3">4</rating><rating sentence_id="3">4</rating><rating sentence_id="9">4</rating>'
    )
    said = read_tags(text, "editing", {1, 2, 3})
    assert said.stars == {1: 5}
    assert said.problems == {"out of schema": 1, "said twice": 1, "no such statement": 1}
    for tag in ("category", "attribution"):
        text = f'<{tag} sentence_id="1">2</{tag}><{tag} sentence_id="2">5</{tag}>'
        contexts = read_tags(text, "attribution", {1, 2})
        assert (contexts.contexts, contexts.problems) == ({1: 2}, {"out of schema": 1})
        twice = read_tags(f'{text}<category sentence_id="1">2</category>', "attribution", {1, 2})
        assert twice.problems["said twice"] == 1
    assert read_tags(text.replace("attribution", "type"), "attribution", {1, 2}) is None


def test_numbers_too_long_to_be_meant_are_out_of_the_schema():
    long = "1" * 5000  # Python refuses to read more than 4300 digits
    for module, tag in (("editing", "rating"), ("attribution", "attribution")):
        said = read_tags(f'<{tag} sentence_id="1">{long}</{tag}><{tag} sentence_id="2"> 4 </{tag}>', module, {1, 2})
        assert ({**said.contexts, **said.stars}, said.problems) == ({2: 4}, {"out of schema": 1})
        said = read_tags(f'<{tag} sentence_id="{long}">4</{tag}>', module, {1, 2})
        assert said == ParsedReply(problems=Counter({"no such statement": 1}))
    with pytest.raises(UserError, match="released code fails"):  # no float holds it
        read_released(f'<rating sentence_id="1">{long}</rating>', "editing", {1})
    # A context beyond 4 counts by its first digit.
    assert read_released(f'<category sentence_id="1">{long}</category>', "attribution", {1}).contexts == {1: 1}
    for citation, reason in ((long, "1"), ("1", long)):
        text = f'<editing sentence_id="1"><DELETE citation="{citation}">{reason}</DELETE></editing>'
        assert read_tags(text, "editing", {1}) == ParsedReply(problems=Counter({"out of schema": 1}))


@pytest.mark.parametrize(
    ("body", "edits"),
    [
        (" N/A ", ()),
        ('<ADD citation="0"> ADD REASON 1 </ADD>', (Edit("add", 1, 0),)),
        ('First,\n<DELETE citation="2">3</DELETE>', (Edit("delete", 3, 2),)),
        ("Delete 6, which is misleading.", None),
        ('<DELETE citation="six">DELETE REASON 1</DELETE>', None),
        ('<DELETE citation="6">DELETE REASON 0</DELETE>', None),
        ('<ADD citation="2">1</ADD><MOVE citation="2">1</MOVE>', None),
    ],
)
def test_edits_in_tags_are_read_whole_or_counted(body, edits):
    said = read_tags(f'<editing sentence_id="1">{body}</editing>', "editing", {1})
    assert said.edits == ({} if edits is None else {1: edits})
    assert said.problems == ({"out of schema": 1} if edits is None else {})


def test_tags_that_nobody_closes_are_read_in_linear_time():
    many = 20_000  # 0.5 MB: minutes where each start is searched to the end
    assert read_tags('<rating sentence_id="1">' * many, "editing", {1}) is None
    said = read_tags('<rating sentence_id="1">4</rating>' + '<rating sentence_id="2">' * many, "editing", {1, 2})
    assert said.stars == {1: 4}
    edits = '<DELETE citation="1">' * many
    said = read_tags(f'<editing sentence_id="1">{edits}</editing>', "editing", {1})
    assert said.problems == {"out of schema": 1}


@pytest.mark.parametrize(
    "piece", ['<editing sentence_id="1">', '<ADD citation="1"> ADD', "<rating ", "</editing>", "DELETE"]
)
def test_a_long_hostile_reply_is_read_at_once(piece):
    text = f'<editing sentence_id="1">{piece * (500_000 // len(piece))}'
    for read in (read_tags, read_released):
        for end in ("", "</editing>"):
            said = read(text + end, "editing", {1})
            assert said is None or not any(said.edits.values())
