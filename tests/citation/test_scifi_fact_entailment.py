"""Citation entailment of facts: chunks, groups, marks of no passage, and missing verdicts, by hand-made arithmetic."""

import pytest

from metaeval.citation.data_model import Verdict
from metaeval.citation.scifi.answer_measures import entailments, text_shares
from metaeval.citation.scifi.data_model import ScifiOptions
from metaeval.citation.scifi.fact_entailment import fact_lines, most
from metaeval.errors import UserError


def test_a_value_is_the_most_over_the_chunks_of_what_is_cited(made):
    read = [made.facts_of("It is Danish [1] and flows north [2].", (1, "Danish"), (1, "north"))]
    scored = made.Scored(Dane=0.4, steel=0.7, May=0.1, river=0.2)
    lines = fact_lines(read, scored, ScifiOptions(window=4), soft=True)
    assert scored.calls == [
        [
            ("Title: Bridge\nA Dane built it.", "Danish?"),
            ("Title: Bridge\nIt is of steel.", "Danish?"),
            ("Title: Bridge\nIt opened in May.", "Danish?"),
            ("The river flows north.", "north?"),
        ]
    ]
    assert [(line.value, line.passage, line.chunk, line.citations, line.distance) for line in lines] == [
        (0.7, 1, 2, (1,), 0),
        (0.2, 2, 1, (2,), 0),
    ]
    # (0.7 + 0.2) / 2; decided at 0.5 it is (1 + 0) / 2.
    assert entailments(read, lines)[0].value == pytest.approx(0.45)
    binary = fact_lines(read, made.Scored(steel=0.7, river=0.2), ScifiOptions(window=4))
    assert [line.value for line in binary] == [1.0, 0.0]
    assert [(line.segment, line.sentence_start, line.sentence_end, line.cited_at) for line in binary] == [
        ("Danish", 0, 37, 12),
        ("north", 0, 37, 28),
    ]


def test_titles_open_every_chunk_and_a_cut_premise_is_told(made):
    read = [made.facts_of("It is Danish [1].", (1, "Danish"))]
    scored = made.Scored(Bridge=0.6)
    (line,) = fact_lines(read, scored, ScifiOptions(window=4), soft=True)
    assert {premise.partition("\n")[0] for premise, _ in scored.calls[0]} == {"Title: Bridge"}
    # Of equal values the first chunk decided. "Title: Bridge A Dane built it." has 6 words, the others too.
    assert (line.value, line.chunk, line.cut) == (0.6, 1, False)
    (line,) = fact_lines(read, scored, ScifiOptions(), soft=True)
    assert line.cut


@pytest.mark.parametrize(
    ("group", "value", "passage", "citations", "asked"),
    [
        # Each passage by itself, once, however often it is cited: the most of 0.3 and 0.6.
        ("max", 0.6, 2, (1, 2, 1), 2),
        # One premise with both, in which "river" stands too; it is of several passages.
        ("joint", 0.6, None, (1, 2, 1), 1),
    ],
)
def test_marks_that_stand_together_are_taken_as_asked(made, group, value, passage, citations, asked):
    read = [made.facts_of("It is of steel and long [1][2][1].", (1, "long"))]
    scored = made.Scored(steel=0.3, river=0.6)
    (line,) = fact_lines(read, scored, ScifiOptions(group=group), soft=True)
    assert (line.value, line.passage, line.citations) == (value, passage, citations)
    assert len(scored.calls[0]) == asked
    assert all(premise.count("A Dane built it.") <= 1 for premise, _ in scored.calls[0])


def test_a_citation_of_no_passage_fails_or_is_left_out(made):
    read = [made.facts_of("It is long [7]. It is old [0][2]. Nobody knows.", (1, "long"), (2, "old"), (3, "knows"))]
    scored = made.Scored(river=1.0)
    lines = fact_lines(read, scored)
    assert [(line.state, line.value, line.citations) for line in lines] == [
        ("fails", 0.0, (7,)),
        ("judged", 1.0, (0, 2)),  # what of a group cites no passage is passed over
        ("uncited", None, ()),
    ]
    assert len(scored.calls[0]) == 1
    assert entailments(read, lines)[0].value == 0.5
    assert text_shares(read, lines)["uncited"][0].value == pytest.approx(1 / 3)


def test_the_same_question_is_asked_once_and_nothing_where_nothing_is_cited(made):
    twice = [made.facts_of("It is long [2].", (1, "long"), answer=name) for name in "ab"]
    scored = made.Scored(river=1.0)
    assert [line.value for line in fact_lines(twice, scored)] == [1.0, 1.0]
    assert scored.calls == [[("The river flows north.", "long?")]]
    silent = made.Scored()
    assert [line.state for line in fact_lines([made.facts_of("It is long.", (1, "long"))], silent)] == ["uncited"]
    assert silent.calls == []


def test_a_missing_verdict_leaves_a_fact_open_unless_it_has_the_most_already(made):
    read = [made.facts_of("It is old [1]. It is long [1][2].", (1, "old"), (2, "long"))]
    options = ScifiOptions(window=4)
    lines = fact_lines(read, made.Scored(Dane=None, steel=0.9, river=1.0), options, soft=True)
    assert [(line.state, line.value, line.reason, line.passage) for line in lines] == [
        ("unjudged", None, "failed", None),
        ("judged", 1.0, "", 2),
    ]
    (share,) = entailments(read, lines)
    # 1 of 1 known; the open one could be 0 or 1.
    assert [share.value, share.filled(False).value, share.filled(True).value] == [1.0, 0.5, 1.0]
    decided = fact_lines(read, made.Scored(Dane=None, steel=0.9), options)
    assert [line.value for line in decided] == [1.0, 1.0]


def test_the_most_of_several_verdicts():
    missing = Verdict(None, None, "too long")
    half, all_ = Verdict(True, 0.5), Verdict(True, 1.0)
    assert most([half, Verdict(True, 0.5)], soft=True) == (0, 0.5, "")
    assert most([half, missing], soft=True) == (None, None, "too long")
    assert most([half, missing], soft=False) == (0, 1.0, "")
    assert most([missing, all_], soft=True) == (1, 1.0, "")
    assert most([missing], soft=False) == (None, None, "too long")


def test_scores_that_are_no_shares_are_refused(made):
    read = [made.facts_of("It is long [2].", (1, "long"))]
    with pytest.raises(ValueError, match=r"a score from 0 to 1, but the backend gave 1\.5"):
        fact_lines(read, made.Scored(river=1.5), soft=True)
    assert fact_lines(read, made.Scored(river=1.5))[0].value == 1.0


def test_a_window_in_tokens_of_nothing_known_is_an_error_before_anything_is_asked(made, tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'models'")
    with pytest.raises(UserError, match="tokenizer="):
        fact_lines(
            [made.facts_of("It is long [2].", (1, "long"))], made.Scored(), ScifiOptions(tokenizer=str(tmp_path))
        )
