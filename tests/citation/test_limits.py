"""Limits of what is read of answers and of replies: the last length that is taken, and the first that is not."""

from collections import Counter

import pytest

from metaeval.citation.aliice.claim_options import PAPER
from metaeval.citation.aliice.claims import draft
from metaeval.citation.citeeval.judge_replies import read_released, read_tags
from metaeval.citation.marks_and_sentences import find_marks, leading_in, whole
from metaeval.citation.readers.answer_files import FORMATS
from metaeval.citation.readers.cited_text import CitedText
from metaeval.citation.readers.formats.answer_format import unread_text
from metaeval.citation.readers.mark_insertion import with_marks
from metaeval.citation.readers.source_lists import source_lists
from metaeval.core.errors import UserError

EDIT = '<editing sentence_id="1"><ADD citation="{}"> ADD REASON 1 </ADD></editing>'
RATING = '<rating sentence_id="1">{}</rating>'


def cuts_mark(length):
    cited = CitedText()
    cited.write(f"So. [{'x' * (length - 2)}]")
    cited.cite("either", 4, 4 + length, [cited.source("a")])
    return "x" not in with_marks(cited, Counter())


@pytest.mark.parametrize(
    ("most", "takes"),
    [
        (50, lambda n: draft(" ".join(["so"] * (n - 1)) + " [1].", PAPER).text),
        (5000, lambda n: draft("x" * (n - 5) + " [1].", PAPER).text),
        (18, lambda n: find_marks(f"So [{'1' * n}].")[0].number),
        (11, lambda n: leading_in(whole(f"So.{' ' * n}[1] No.{' ' * n}[2]"), "auto") == "move all"),
        (80, lambda n: source_lists(f"So [1].\n\nSources{' ' * (n - 8)}:\n- A. Name, Book\n- B. Name, Other")),
        (2000, cuts_mark),
        (308, lambda n: read_released(RATING.format("9" * n), "editing", {1})),
        (9, lambda n: read_tags(EDIT.format("1" * n), "editing", {1}).edits),
        (11, lambda n: not unread_text(FORMATS["anthropic"], {"content": [{"text": "x" * n}]}, ())),
    ],
)
def test_up_to_a_limit_it_is_taken(most, takes):
    assert takes(most)
    try:
        assert not takes(most + 1)
    except UserError:
        assert most == 308
