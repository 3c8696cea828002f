"""The tree and its rules on trees drawn at random, and on small trees worked by hand."""

import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.citation.aliice.claim_options import PAPER, RELEASED
from metaeval.citation.aliice.claims import draft, read, read_sentences
from metaeval.citation.aliice.dependency_tree import Tree, separated, tree_of
from metaeval.citation.aliice.mark_positions import sentence_cvcp, unit_positions
from metaeval.citation.parsers.dependency_parsers import Parse, find_parser, stored_parser

LABELS = ["nsubj", "prep", "pobj", "advcl", "cc", "conj", "punct", "dobj", "relcl"]


@st.composite
def parsed_sentences(draw, roots=1):
    """A sentence of letters and commas with citation groups, and a random parse with so many roots."""
    count = draw(st.integers(roots, 9))
    words = [draw(st.sampled_from([letter, letter, ","])) for letter in "abcdefghi"[:count]]
    order = draw(st.permutations(range(count)))
    heads, labels = [0] * count, [""] * count
    for rank, place in enumerate(order):
        # Every token hangs on one that was placed before it: a tree, whatever is drawn.
        heads[place] = place if rank < roots else order[draw(st.integers(0, rank - 1))]
        labels[place] = "ROOT" if rank < roots else draw(st.sampled_from(LABELS))
    cited = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True).map(sorted))
    numbers = iter(range(1, 30))
    marks = {place: [next(numbers) for _ in range(draw(st.integers(1, 3)))] for place in cited}
    text = " ".join(
        word + "".join(f"[{number}]" for number in marks.get(place, [])) for place, word in enumerate(words)
    )
    return text, Parse(tuple(words), tuple(labels), tuple(heads)), [tuple(group) for group in marks.values()]


def is_subsequence(words, of):
    rest = iter(of)
    return all(word in rest for word in words)


@given(parsed_sentences())
def test_the_paper_profile_keeps_every_citation_once_and_adds_no_word(drawn):
    text, parse, groups = drawn
    found = read(draft(text, PAPER), parse, PAPER)
    assert found.kind == "claims"
    assert sorted(number for claim in found.claims for number in claim.citations) == sorted(sum(groups, ()))
    for (place, _), claim in zip(found.nodes, found.claims, strict=True):
        assert parse.tokens[place] in claim.text.split()
        if claim.made_by == "tree":
            assert is_subsequence(claim.text.split(), parse.tokens)


@given(parsed_sentences(roots=2))
def test_the_paper_profile_loses_nothing_to_a_second_root(drawn):
    text, parse, groups = drawn
    found = read(draft(text, PAPER), parse, PAPER)
    assert sorted(number for claim in found.claims for number in claim.citations) == sorted(sum(groups, ()))
    assert found.lost == ()
    outside = sum(place not in tree_of(parse) for place, _ in found.nodes)
    assert sum(claim.made_by == "fallback: citation outside the parse tree" for claim in found.claims) == outside


@given(parsed_sentences(), st.sampled_from([replace(RELEASED, strip_words=False), RELEASED]))
def test_the_released_rules_invent_no_citation_and_no_word(drawn, profile):
    text, parse, groups = drawn
    ready = draft(text, profile)
    found = read(ready, parse, profile)
    for claim in found.claims:
        if found.kind == "claims":
            assert claim.citations in groups or claim.citations in [cited for _, cited in found.nodes]
            assert is_subsequence(claim.text.split(), parse.tokens)
        assert set(claim.citations) <= set(sum(groups, ()))
    assert len({claim.text for claim in found.claims}) == len(found.claims)


@given(parsed_sentences())
def test_the_lowest_common_ancestor_is_the_lowest(drawn):
    tree = tree_of(drawn[1])
    for one in range(len(tree.tokens)):
        for other in range(len(tree.tokens)):
            lca = tree.lca(one, other)
            assert {one, other} <= set(tree.subtree(lca))
            assert not any({one, other} <= set(tree.subtree(child)) for child in tree.children(lca))


#        1 b
#       / | \
#    0 a 2 c 4 e      c: the conjunction; 3 d hangs on e
TREE = Tree(tuple("abcde"), ("nsubj", "ROOT", "cc", "dobj", "conj"), (1, -1, 1, 4, 1), 1)


def words_of(tree):
    return tuple(tree.tokens[node] for node in tree.subtree(tree.root))


@pytest.mark.parametrize(
    ("i", "j", "words", "rule"),
    [
        (4, 3, "abce", "lca_is_i:drop_Tj"),
        (0, 3, "ab", "cc:i_first:drop_Tj_and_Tc"),
        (3, 0, "de", "cc:i_last:root:root=Ti"),
        (3, 4, "abcd", "lca_is_j:replace_lca_by_Ti"),
        (0, 2, "a", "nocc:root:root=Ti"),
    ],
)
def test_rules_on_a_small_tree(i, j, words, rule):
    tree, named = separated(TREE, i, j, replace_root=True)
    assert ("".join(words_of(tree)), named) == (words, rule)


def test_a_clause_at_the_head_of_the_sentence_stands_alone():
    # "a , c b", all under b; a opens the sentence as a phrase, and a comma parts it from c.
    later = Tree(("a", ",", "c", "b"), ("prep", "punct", "dobj", "ROOT"), (3, 3, 3, -1), 3)
    assert separated(later, 0, 2, True)[1] == "cc:i_first:root:Ti_initial_clause:root=Ti"
    stripped, rule = separated(later, 2, 0, True)
    assert (words_of(stripped), rule) == (("c", "b"), "cc:i_last:root:Tj_initial_clause:drop_Tj_and_Tc")
    other = replace(later, labels=("nsubj", "punct", "dobj", "ROOT"))
    assert separated(other, 0, 2, True)[1] == "cc:i_first:drop_Tj_and_Tc"


def test_a_new_root_that_is_cited_is_replaced_or_doubled():
    # a > b > c, both b and c cited, b is the root. The released code hangs c under b once more and removes nothing;
    # its search then finds d, below c, at the root, and c becomes the root.
    tree = Tree(("b", "c", "d"), ("ROOT", "dobj", "prep"), (-1, 0, 1), 0)
    assert words_of(separated(tree, 1, 0, replace_root=True)[0]) == ("c", "d")
    doubled, _ = separated(tree, 1, 0, replace_root=False)
    assert words_of(doubled) == ("b", "c", "d")
    assert separated(doubled, 1, 2, replace_root=False) == (doubled.rooted_at(1), "nocc:root:root=Ti")


def test_a_word_that_is_no_token_takes_the_whole_sentence_or_loses_every_citation():
    parse = Parse(("Bees", "dance"), ("nsubj", "ROOT"), (1, 1))
    parser = stored_parser({"Bees dance flowers": parse})
    text = "Bees[1] dance flowers[2]."
    (paper,) = read_sentences([text], parser, PAPER)
    assert [(claim.text, claim.citations, claim.made_by) for claim in paper.claims] == [
        ("Bees dance", (1,), "tree"),
        ("Bees dance flowers", (2,), "fallback: citation matches no word of the parse"),
    ]
    (released,) = read_sentences([text], parser, RELEASED)
    assert [(claim.text, claim.citations) for claim in released.claims] == [("Bees[1] dance flowers[2]", ())]
    assert released.lost == ((1,), (2,))


def test_a_sentence_of_marks_alone_is_no_crash():
    parser = stored_parser({"": Parse((), (), ())})
    (paper,) = read_sentences(["[1][2]"], parser, PAPER)
    assert [(claim.text, claim.citations) for claim in paper.claims] == [("", (1, 2))]
    (released,) = read_sentences(["[1][2]"], parser, RELEASED)
    assert [(claim.text, claim.citations) for claim in released.claims] == [("[1][2]", ())]


SWITCHES = ("strip_words", "merge_groups", "hangs_on", "cited_root", "lost_group", "replace_root", "key")
PROFILES = {"paper": PAPER, "released": RELEASED} | {
    f"{own.name}, {name}": replace(own, **{name: getattr(other, name)})
    for own, other in ((PAPER, RELEASED), (RELEASED, PAPER))
    for name in SWITCHES
}


def claims_under(profile, sentences):
    """The claims of sentences; the trees are those of the small parser, each text parsed once."""
    texts = dict.fromkeys(draft(sentence, one).text for sentence in sentences for one in (PAPER, RELEASED))
    texts = [text for text in texts if text is not None]
    return read_sentences(
        sentences, stored_parser(dict(zip(texts, parses(profile.one_root, *texts), strict=True))), profile
    )


@cache
def parses(one_root, *texts):
    return find_parser("small", one_root).parse(texts)


def test_sentences_have_their_claims_under_every_choice_of_the_profiles(recorded):
    """The keys of the record are the sentences. Under one other choice than a profile's, only what changes is held."""
    sentences = [*json.loads((recorded.FOLDER / "aliice-sentences.json").read_text(encoding="utf-8"))]
    assert len(sentences) > 50
    found = {name: claims_under(profile, sentences) for name, profile in PROFILES.items()}
    held = {
        sentence: {of: [unit_positions(sentence, of), sentence_cvcp(sentence, of)] for of in ("marks", "groups")}
        for sentence in sentences
    }
    for name, profile in PROFILES.items():
        for sentence, claims, own in zip(sentences, found[name], found[profile.name], strict=True):
            told = [f"{one.text} | {one.marks} {one.made_by} {one.places}" for one in claims.claims]
            if name == profile.name:
                ready = draft(sentence, profile)
                groups = [f"{group.word}: {group.citations}" for group in ready.groups]
                held[sentence][name] = [claims.kind, ready.text, groups, claims.nodes, told, claims.lost, claims.trace]
            elif claims != own:
                held[sentence][name] = [told, claims.lost]
    recorded.held("aliice-sentences", held, whole=True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((("a",), (), (0,)), "1 tokens, 0 labels, 1 heads"),
        ((("a",), ("x",), (1,)), "Token 0 has head 1; allowed are 0 to 0"),
        ((("a", "b"), ("x", "y"), (1, 0)), "The heads of token 0 go in a circle"),
    ],
)
def test_a_parse_that_is_no_tree_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Parse(*columns)
