"""Facts from claims that stand alone: what they say, where they stand, and what becomes of parses that fit badly."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.citation.aliice.claims import has_mark
from metaeval.citation.aliice.dependency_tree import Tree
from metaeval.citation.chat_models import ChatOptions
from metaeval.citation.data_model import Answer, Verdict
from metaeval.citation.measures import AnswerShare
from metaeval.citation.parsers.dependency_parsers import Parse, find_parser, stored_parser
from metaeval.citation.scifi.answer_measures import citations_without_facts
from metaeval.citation.scifi.claim_cuts import SUBJECTS, cut_claim
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.fact_entailment import assign, fact_lines
from metaeval.citation.scifi.facts import facts_signature, read_with_parser
from metaeval.citation.scifi.parser_claims import claims_of, prepared

pytest.importorskip("spacy", reason="needs the extra 'citation'")


OPTIONS = ScifiOptions()
NO_PARSER = stored_parser({})


@pytest.fixture(scope="module")
def small():
    return find_parser("small")


def failing(pairs):
    """Asked about passages that are not there, as those of these answers."""
    return [Verdict(False, 0.0) for _ in pairs]


def read(text, parser, **reference):
    (found,) = read_with_parser([Answer("a", text, (), reference=reference)], parser)
    return found


def said(found):
    """(fact, segment, how it was found, rule) of each fact."""
    texts = {one.number: one.text for one in found.sentences}
    return [
        (fact.text, texts[fact.sentence][slice(*fact.segment[:2])], fact.segment[2], fact.made_by)
        for fact in found.facts
    ]


def test_a_sentence_with_one_citation_or_none_is_one_fact_and_is_not_parsed():
    found = read("It rained (a lot). Cups are of glass; [1] nobody knows [x] why. 42 [1].", NO_PARSER)
    assert said(found) == [
        (text, text, "verbatim", "sentence")
        for text in ("It rained (a lot).", "Cups are of glass; nobody knows [x] why.")
    ]
    assert [fact.number for fact in found.facts] == [1, 2]


TEXT = "Cups hold tea and ink."
TOKENS = ("Cups", "hold", "tea", "and", "ink", ".")


def parse(*tokens, heads=(1, 1, 1, 2, 2, 1), labels=("nsubj", "ROOT", "dobj", "cc", "conj", "punct")):
    return stored_parser({TEXT: Parse(tokens or TOKENS, labels, heads)})


def test_a_claim_said_twice_is_held_against_the_nearest_citation():
    # Both groups hang under "hold", and take away nothing of each other: subject and object are kept by both.
    found = read("Cups [1] hold tea [2] and ink.", parse())
    assert said(found) == [(TEXT, TEXT, "sentence", "fallback: nothing to leave out")]
    assert found.problems == {"duplicate fact": 1}
    lines = fact_lines([found], failing)
    # Nearest to the end, 22, is [2] at 13; no fact is held against [1].
    assert [(line.citations, line.cited_at, line.distance) for line in lines] == [((2,), 13, 9)]
    assert citations_without_facts([found], lines) == [AnswerShare(1, 2, 0)]


def test_a_fact_has_the_nearest_citation_whichever_it_was_cut_out_for(small):
    found = read("Aspirin [1], which lowers fever [2], was made in 1897 [3].", small)
    assert [fact.text for fact in found.facts[:2]] == ["Aspirin was made", "Aspirin lowers fever"]
    lines = fact_lines([found], failing)
    # The first claim ends with "made", behind which [3] is nearer than [1] and [2].
    assert [line.citations for line in lines] == [(3,), (2,), (3,)]
    assert citations_without_facts([found], lines) == [AnswerShare(1, 3, 0)]


def test_a_parse_whose_tokens_are_not_the_texts_own_gives_facts_without_segments():
    found = read("Cups hold tea [1] and ink [2].", parse("Cups", "&", "tea", "&", "ink", "."))
    assert said(found) == [
        ("Cups & tea", "Cups hold tea and ink.", "sentence", "tree"),
        ("Cups & ink", "Cups hold tea and ink.", "sentence", "tree"),
    ]


def test_a_citation_that_the_tree_does_not_reach_takes_the_whole_sentence():
    # Two roots, and the last one wins: "Cups", which hangs under the first, is out of reach.
    apart = parse(heads=(1, 1, 2, 2, 2, 2), labels=("nsubj", "dep", "ROOT", "cc", "conj", "punct"))
    found = read("Cups [1] hold tea and ink [2].", apart)
    assert said(found) == [
        ("Cups hold tea and ink.", "Cups hold tea and ink.", "sentence", "fallback: citation outside the parse tree")
    ]


def test_reference_facts_are_its_claims_else_its_sentences_without_marks():
    given = read("It rained.", NO_PARSER, claims=["It rained.", "It poured [1]."], answer="Not this.")
    assert given.reference == ("It rained.", "It poured [1].")
    made = read("It rained.", NO_PARSER, answer="It rained [1] hard [2]. 1. It poured. [3]", claims=[])
    assert made.reference == ("It rained hard.", "It poured.")
    assert read("It rained.", NO_PARSER, answer=["It rained."], claims=["It rained.", 3]).reference is None
    assert read("It rained.", NO_PARSER, answer=" ").reference is None


PIECES = [
    *("Cups", "glass", "and", "or", "which", ",", ".", "(", ")", "[1]", "[2][3]", "[4, 9]", "[[1]2]", "é", "½", "\n"),
    *("\ud800", "\x00", "a" * 300, "[1]" * 30, f"[{'9' * 24}]", "[[[", "[٣]", "שלום", "🙂", "\u200b"),
]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from([" ", ""]))
def test_whatever_the_text_facts_stand_in_their_sentences(pieces, between):
    found = read(between.join(pieces), find_parser("small"))
    assert [fact.number for fact in found.facts] == list(range(1, len(found.facts) + 1))
    for fact in found.facts:
        sentence = found.sentences[fact.sentence - 1]
        assert fact.text.strip() == fact.text != ""
        assert 0 <= fact.segment[0] < fact.segment[1] <= len(sentence.text)
        # A tree claim has no word that its sentence lacks.
        assert {*fact.text.split()} <= {*sentence.text.split()} or all(
            word in sentence.text for word in fact.text.split()
        )
        group, distance = assign(fact, sentence)
        assert (group is None) == (not sentence.groups) == (distance is None)


def test_the_signature_names_who_made_the_facts(small, tmp_path):
    made = facts_signature(OPTIONS, small)
    assert made.startswith("claims that stand alone, parser small (")
    chat = ChatOptions(model="tiny", base_url="http://127.0.0.1:9/v1")
    (tmp_path / "mapping.txt").write_text("{sentence} {fact}")
    ours, own = (facts_signature(options, chat) for options in (OPTIONS, ScifiOptions(prompts=tmp_path)))
    assert ours.startswith("model=tiny, temperature=0.0, ")  # not where it is asked: a replay does not know it
    (head, _, prompt), (own_head, _, own_prompt) = (line.rpartition(", mapping@") for line in (ours, own))
    assert (head, prompt != own_prompt) == (own_head, True)


GOLDEN = Path(__file__).parents[1] / "golden" / "aliice_parser.json"
RECORDS = json.loads(GOLDEN.read_text(encoding="utf-8"))["sentences"]


def claims_in(sentence):
    ready = prepared(sentence)
    (parse,) = find_parser().parse([ready[0].text])
    return claims_of(ready, parse)


def test_claims_and_facts_of_sentences_of_every_kind(recorded, small):
    """The keys of the record are the sentences; the claims of the first 30 were written by hand before."""
    sentences = [*json.loads((recorded.FOLDER / "scifi-claims.json").read_text(encoding="utf-8"))]
    ready = [prepared(sentence) for sentence in sentences]
    parses = small.parse([text.text for text, *_ in ready])
    found = read_with_parser([Answer("a", sentence, ()) for sentence in sentences], small)
    held = {
        sentence: {
            "groups": text[1:],
            "claims": [f"{claim} | {rule} {places}" for claim, rule, places in claims_of(text, parse)],
            "facts": [f"{fact.number} in {fact.sentence}: {(*fact.segment, fact.text)}" for fact in own.facts],
            "problems": own.problems,
        }
        for sentence, text, parse, own in zip(sentences, ready, parses, found, strict=True)
    }
    assert len(sentences) > 140
    recorded.held("scifi-claims", held, whole=True)


def test_claims_of_trees_that_no_sentence_has(recorded):
    """Trees drawn at random, which reach what the parses of the sentences above do not."""
    trees = json.loads(Path(__file__).with_name("drawn_trees.json").read_text(encoding="utf-8"))
    held = {
        " ".join(tokens): [cut_claim(Tree(tuple(tokens), tuple(labels), tuple(heads), root), i, nodes) for i in nodes]
        for tokens, labels, heads, root, nodes in trees
    }
    recorded.held("scifi-trees", held, whole=True)


@st.composite
def trees(draw):
    count = draw(st.integers(1, 10))
    order = draw(st.permutations(range(count)))
    heads, labels = [-1] * count, ["ROOT"] * count
    kinds = ["nsubj", "prep", "pobj", "advcl", "cc", "conj", "punct", "dobj", "relcl", "auxpass", "advmod"]
    for rank, place in enumerate(order[1:], start=1):
        heads[place], labels[place] = order[draw(st.integers(0, rank - 1))], draw(st.sampled_from(kinds))
    tokens = [draw(st.sampled_from([f"w{place}", f"w{place}ed", ",", "and", "which"])) for place in range(count)]
    nodes = draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    return Tree(tuple(tokens), tuple(labels), tuple(heads), order[0]), nodes


@given(trees())
def test_the_cited_word_stays_and_no_word_is_invented(drawn):
    tree, nodes = drawn
    for node in nodes:
        places, fault, _ = cut_claim(tree, node, [other for other in nodes if other != node])
        assert set(places) <= set(range(len(tree.tokens)))
        # A cited relative pronoun gives its place to its noun; a comma joins nothing.
        assert fault or node in places or tree.tokens[node] in ("which", ",", "and")


def is_finite(parse, root):
    """Whether a root has a subject, and is neither an infinitive nor an -ing form without an auxiliary."""
    children = [place for place, head in enumerate(parse.heads) if head == root and place != root]
    auxiliaries = [parse.tokens[child].lower() for child in children if parse.labels[child] in ("aux", "auxpass")]
    if not any(parse.labels[child] in SUBJECTS for child in children) or auxiliaries == ["to"]:
        return False
    return bool(auxiliaries) or not parse.tokens[root].lower().endswith("ing")


def test_nine_claims_of_ten_are_clauses():
    # Of the golden sentences, each claim parsed alone.
    read = [claims_in(record["sentence"]) for record in RECORDS if has_mark(record["sentence"])]
    texts = [claim for claims in read if len(claims) > 1 for claim, rule, _ in claims if rule == "tree"]
    clauses = [any(is_finite(parse, root) for root in parse.roots) for parse in find_parser().parse(texts)]
    assert (sum(clauses), len(texts)) == (70, 71)
