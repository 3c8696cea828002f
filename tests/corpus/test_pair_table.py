"""Pairs: which chunk takes which level, and what is dropped, counted or refused."""

from typing import get_args

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.chunks import Chunking, chunk_corpus
from metaeval.corpus.model import Citation, Corpus, Document, Evidence, Statement, SupportLevel
from metaeval.corpus.pair_table import (
    GIVEN,
    INCOMPLETE,
    UNMATCHED,
    UNPLACED,
    WHOLE,
    Pair,
    Rule,
    build_pairs,
    check_pool,
    place_evidence,
    pool_encoder,
)

RULES = get_args(Rule)
NONE, PARTIAL, FULL = SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL
# At two words a chunk: three chunks, one chunk, none, none; chunk 1 of "blank" is sentence 2.
DOCUMENTS = [
    Document("three", sentences=("One rain.", "Two rivers.", "Three floods.")),
    Document("one", sentences=("Short page.",)),
    Document("empty"),
    Document("spaces", " \n "),
    Document("blank", sentences=("One rain.", " ", "Two rivers.")),
]


def corpus_of(*citations, text="It rained.", dropped=()):
    """Citations of (document, level, evidence) by one statement."""
    statement = Statement("s", text, group="g")
    judged = tuple(
        Citation(f"c{number}", "s", document, level, evidence)
        for number, (document, level, evidence) in enumerate(citations)
    )
    return Corpus("made", {d.id: d for d in DOCUMENTS}, {"s": statement}, judged, dict(dropped))


def table_of(*citations, threshold=0.5, size=2, rule="complete", **options):
    return build_pairs(chunk_corpus(corpus_of(*citations, **options), Chunking(size)), threshold, rule)


def levels(*citations, **options):
    return [pair.level for pair in table_of(*citations, **options).pairs]


def at(*sentences):
    return Evidence(sentences=sentences)


def said(*texts):
    return Evidence(texts=texts)


@pytest.mark.parametrize("level", [PARTIAL, FULL])
def test_the_chunks_with_evidence_take_the_level_and_the_others_none(level):
    assert levels(("three", level, at(1))) == [NONE, level, NONE]
    assert levels(("three", level, at(0, 2)), rule="touched") == [level, NONE, level]
    assert levels(("three", level, (at(0), at(2)))) == [level, NONE, level]
    assert levels(("three", level, said("Three floods!"))) == [NONE, NONE, level]


# At four words a chunk: sentences 0 and 1, sentence 2. One set needs 0, 1 and 2; the other one 0 and 1.
@pytest.mark.parametrize(
    ("rule", "level", "sets", "found"),
    [
        ("touched", FULL, (at(0, 1, 2),), [FULL, FULL]),
        ("complete", FULL, (at(0, 1, 2),), [PARTIAL, PARTIAL]),
        ("drop", FULL, (at(0, 1, 2),), [None, None]),
        ("whole", FULL, (at(0, 1, 2),), [None, None]),
        ("touched", FULL, (at(0, 1, 2), at(0, 1)), [FULL, FULL]),
        ("complete", FULL, (at(0, 1, 2), at(0, 1)), [FULL, PARTIAL]),
        ("drop", FULL, (at(0, 1, 2), at(0, 1)), [FULL, None]),
        ("whole", FULL, (at(0, 1, 2), at(0, 1)), [FULL, None]),
        ("touched", PARTIAL, (at(0, 1, 2), at(0, 1)), [PARTIAL, PARTIAL]),
        ("complete", PARTIAL, (at(0, 1, 2), at(0, 1)), [PARTIAL, PARTIAL]),
        ("drop", PARTIAL, (at(0, 1, 2), at(0, 1)), [PARTIAL, PARTIAL]),
        ("whole", PARTIAL, (at(0, 1, 2), at(0, 1)), [PARTIAL, None]),
        *((rule, NONE, (at(0, 1, 2),), [NONE, NONE]) for rule in RULES),
    ],
)
def test_the_rule_says_which_level_a_chunk_with_a_part_of_the_evidence_has(rule, level, sets, found):
    assert levels(("three", level, sets), rule=rule, size=4) == found


def test_levels_shares_and_counts_by_every_rule(recorded):
    """Citations of three pages at every level, with every kind of evidence, by rule, place, size and threshold."""
    kinds = [at(), at(1), at(0, 2), (at(0), at(1, 2)), said("Three floods! No."), said("One drop.")]
    kinds.append(Evidence((2,), ("Rain, two!",)))
    cited = [("three", level, kind) for level in (FULL, PARTIAL, NONE) for kind in kinds]
    cited += [(page, level, at()) for page in ("one", "blank") for level in (FULL, PARTIAL, NONE)]
    found = {}
    ways = (2, 0.5, "sentence"), (4, 1 / 3, "sentence"), (4, 0.3, "chunk"), (1, 0.34, "chunk")
    for rule in RULES:
        for size, threshold, place in ways:
            chunked = chunk_corpus(corpus_of(*cited), Chunking(size))
            table = build_pairs(chunked, threshold, rule, place)
            levels = "".join("-" if pair.level is None else str(int(pair.level)) for pair in table.pairs)
            found[f"{rule} {size} {place}"] = [levels, [*table.evidence.values()]]
            if rule == "drop":
                shares = [pair.held and round(pair.held, 4) for pair in table.pairs]
                found[f"held {size} {place}"] = [shares, table.threshold, table.rule, table.pool, table.pairs[-1]]
    pools = "own bm25:3 dense:3 dense:12:cosine:a/b dense:3:cosine: dense:0 bm25:3:cosine:x dense".split()
    found["pools"] = [[recorded.told(check_pool, pool), pool_encoder(pool)] for pool in pools]
    placed = place_evidence(DOCUMENTS[0], Citation("c", "s", "three", FULL, at(0, 1)), 0.5, Chunking(4))
    spans = [placed.spans(pair) for pair in table_of(("three", FULL, at(0, 1)), size=4).pairs]
    found["spans"] = [spans, repr(table.pairs[0]).split()]
    recorded.held("corpus-levels", found)


def test_a_chunk_holds_the_share_of_the_set_of_which_it_holds_most():
    def held(*sets, size=4):
        return [pair.held for pair in table_of(("three", FULL, sets), size=size).pairs]

    assert held(at(0, 1, 2)) == [2 / 3, 1 / 3]
    assert held(at(0, 1, 2), at(0, 2)) == [2 / 3, 1 / 2]
    assert held(at(0, 1, 2), at(2)) == [2 / 3, 1]
    assert held(at(0, 1, 2), size=6) == [1]  # one chunk, whatever is marked
    assert held(at(2)) == [0, 1]
    # A sentence of two words that is cut into chunks of one word is whole in none.
    assert held(at(1), size=1) == [0, 0, 1 / 2, 1 / 2, 0, 0]
    # Copied text of which one sentence of two is found nowhere: who knows what it said.
    assert held(said("Three floods. Unheard of.")) == [0, 1 / 2]
    # A sentence without words is no part of a set.
    assert [pair.held for pair in table_of(("blank", FULL, at(1, 2))).pairs] == [0, 1]


def test_where_evidence_is_not_placed_no_share_is_known():
    table = table_of(("three", FULL, at()), ("three", FULL, at(0)), ("three", NONE, at()))
    assert [pair.held for pair in table.pairs] == [None, None, None, 1, 0, 0, 0, 0, 0]
    # Sentence 1 is blank, so no chunk holds it: that neither chunk supports the statement would be a made-up level.
    table = table_of(("blank", FULL, at(1)))
    assert [pair.level for pair in table.pairs] == [None, None]
    assert table.evidence[UNPLACED] == 1
    assert levels(("blank", FULL, at(1, 2))) == [NONE, FULL]
    # Else the NONE citations of long documents would stay and the supported ones go, and length would tell the level.
    table = table_of(("three", NONE, at()), ("three", FULL, at()), ("one", NONE, at()), ("one", FULL, at()))
    assert [pair.level for pair in table.pairs] == [None] * 6 + [NONE, FULL]
    assert table.evidence[UNPLACED] == 2


@pytest.mark.parametrize("level", [NONE, PARTIAL, FULL])
@pytest.mark.parametrize("evidence", [at(), at(0), said("Unheard of.")])
def test_the_one_chunk_of_a_document_takes_the_level_evidence_or_not(level, evidence):
    table = table_of(("one", level, evidence))
    assert [pair.level for pair in table.pairs] == [level]
    assert table.evidence[UNPLACED] == 0


@pytest.mark.parametrize("level", [PARTIAL, FULL])
@pytest.mark.parametrize("evidence", [at(), said("Unheard of."), said("", "...")])
def test_support_that_no_evidence_places_is_unknown_and_counted(level, evidence):
    table = table_of(("three", level, evidence), ("three", FULL, at(0)))
    assert [pair.level for pair in table.pairs] == [None, None, None, FULL, NONE, NONE]
    assert [pair.citation_level for pair in table.pairs] == [level] * 3 + [FULL] * 3
    assert table.evidence[UNPLACED] == 1


@pytest.mark.parametrize("evidence", [at(), at(0, 1), said("Two rivers.")])
def test_no_support_is_none_everywhere_even_with_evidence(evidence):
    table = table_of(("three", NONE, evidence), ("three", FULL, at(2)))
    assert [pair.level for pair in table.pairs] == [NONE, NONE, NONE, NONE, NONE, FULL]
    assert table.evidence[UNPLACED] == 0


def test_evidence_in_a_sentence_that_two_chunks_share_counts_in_both():
    document = Document("d", sentences=("One two three.", "Four."))
    citation = Citation("c", "s", "d", FULL, at(0))
    corpus = Corpus("made", {"d": document}, {"s": Statement("s", "It rained.", "g")}, (citation,))
    # Sentences of 3 and 1 words at size 2: "One two", "three. Four."
    chunked = chunk_corpus(corpus, Chunking(2))
    assert [pair.level for pair in build_pairs(chunked, rule="touched").pairs] == [FULL, FULL]
    assert [pair.level for pair in build_pairs(chunked).pairs] == [PARTIAL, PARTIAL]


def test_evidence_is_counted_given_and_unmatched_once():
    table = table_of(
        ("three", FULL, said("One rain. Unheard of.")), ("three", NONE, at(0, 2)), ("one", FULL, said("No."))
    )
    # Two sentences of text (one not found), two indices, one text (not found).
    # Of the chunks of full citations, "One rain." holds one of two sentences, and the short page is the whole page.
    assert table.evidence == {GIVEN: 5, UNMATCHED: 2, UNPLACED: 0, WHOLE: 1, INCOMPLETE: 1}
    sets = (at(0, 1), at(1, 2), said("No. Three floods."), said("No. Three floods."))
    table = table_of(("three", FULL, sets), size=4)
    assert table.evidence == {GIVEN: 5, UNMATCHED: 1, UNPLACED: 0, WHOLE: 1, INCOMPLETE: 1}


def test_the_threshold_is_the_one_asked_for():
    # {one, drop} against {one, rain}: 1/3.
    assert levels(("three", FULL, said("One drop.")), threshold=0.33) == [FULL, NONE, NONE]
    table = table_of(("three", FULL, said("One drop.")), threshold=0.34)
    assert [pair.level for pair in table.pairs] == [None] * 3
    assert table.threshold == 0.34


@pytest.mark.parametrize(
    ("evidence", "threshold", "place", "held"),
    [
        # Chunks of four words: {one, rain, two, rivers} and {three, floods}. {rain, two} shares one word with each of
        # the first two sentences, 1/3, and two with the first chunk, 2/4.
        (said("Rain, two!"), 0.5, "sentence", [None, None]),
        (said("Rain, two!"), 0.5, "chunk", [1, 0]),
        (said("Rain, two!"), 0.51, "chunk", [None, None]),
        # Of two sentences of text each chunk holds one (2/4 and 2/2), or the first is found nowhere (2/4 < 0.6).
        (said("One rain. Three floods."), 0.5, "chunk", [0.5, 0.5]),
        (said("One rain. Three floods."), 0.6, "chunk", [0, 0.5]),
        # Twice in the same chunk; and beside a sentence given by its number, which stays where it is.
        (said("One rain. Two rivers."), 0.5, "chunk", [1, 0]),
        (Evidence(sentences=(2,), texts=("Rain, two!",)), 0.5, "chunk", [0.5, 0.5]),
    ],
)
def test_copied_evidence_goes_to_the_nearest_sentence_or_to_the_nearest_chunk(evidence, threshold, place, held):
    chunked = chunk_corpus(corpus_of(("three", FULL, evidence)), Chunking(4))
    assert [pair.held for pair in build_pairs(chunked, threshold, place=place).pairs] == held


def test_pairs_hold_all_that_is_read_under_ids_of_their_own():
    table = table_of(("one", FULL, at()), ("three", PARTIAL, at(2)))
    assert table.pairs[3] == Pair(
        "c1#2", "s", "three", 2, "c1", "g", PARTIAL, PARTIAL, "It rained.", "Three floods.", 1
    )
    assert table.pairs[3].cited
    assert [pair.pair_id for pair in table.pairs] == ["c0#0", "c1#0", "c1#1", "c1#2"]
    assert (table.chunking, table.pool, table.dropped) == (Chunking(2), "own", {})
    statement, document = Statement("s", "It rained.", "g"), DOCUMENTS[0]
    judged = tuple(Citation(own, "s", "three", FULL, at(0)) for own in ("c", "c#0", "c#0#0", "c#1"))
    table = build_pairs(chunk_corpus(Corpus("made", {"three": document}, {"s": statement}, judged), Chunking(2)))
    assert len({pair.pair_id for pair in table.pairs}) == len(table.pairs) == 12


def test_what_is_no_pair_is_dropped_counted_and_said():
    statements = {"s": Statement("s", " \n", "g"), "t": Statement("t", "It rained.", "g")}
    judged = tuple(Citation(f"{s}{d}", s, d, FULL) for s in "st" for d in ("one", "empty"))
    table = build_pairs(chunk_corpus(Corpus("made", {d.id: d for d in DOCUMENTS}, statements, judged), Chunking(2)))
    assert [pair.citation_id for pair in table.pairs] == ["tone"]
    assert table.dropped == {"no statement text": 1, "no document text": 2}
    with pytest.raises(UserError, match=r"'made' has no pair to judge: 2 of 2 .* no document text"):
        table_of(("empty", FULL, at()), ("spaces", FULL, at()))
    with pytest.raises(UserError, match=r"2 of 3 .* document text, 1 of 3 .* statement text"):
        table_of(("empty", FULL, at()), ("one", FULL, at()), ("spaces", NONE, at()), text="\t")
    with pytest.raises(UserError, match="no citations; 7 left out: no page text; 2 left out: odd"):
        table_of(dropped={"no page text": 7, "odd": 2})
    with pytest.raises(UserError, match=r"no pair to judge: it has no citations\. Choose"):
        table_of()


@pytest.mark.parametrize(
    ("evidence", "chunking", "pieces", "unplaced"),
    [
        (at(1, 2), Chunking(4), {0: {"Two rivers."}, 1: {"Three floods."}}, []),
        (at(0, 1), Chunking(4), {0: {"One rain.", "Two rivers."}, 1: set()}, []),
        # Chunks of three words: "One rain. Two", "rivers. Three floods."
        (at(1), Chunking(3, "words"), {0: {"Two"}, 1: {"rivers."}}, []),
        (said("Three floods!", "Nothing of it."), Chunking(4), {0: set(), 1: {"Three floods."}}, ["Nothing of it."]),
        (at(0, 2), None, {0: {"One rain.", "Three floods."}}, []),
    ],
)
def test_evidence_is_located_word_for_word_in_each_chunk(evidence, chunking, pieces, unplaced):
    citation = Citation("c", "s", "three", FULL, (evidence,))
    placed = place_evidence(DOCUMENTS[0], citation, 0.5, chunking)
    assert (placed.pieces, placed.unplaced) == (pieces, unplaced)
