"""Label forms: what annotators are asked about a citation, as questions with a fixed set of choices.

Each question is a column of the sheet, and a row of buttons on the HTML page. The default form asks for the level of
support, which `metaeval estimate` reads. The others have the choices of a paper (ALiiCE); their words are our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.corpus.corpus_file import LEVELS

# A question about a statement and its source, as the page has it.
#
# column: heading of the labels; words: what is asked; choices: mappings with the key to press on the page, the value
# in the sheet's column, and the words on the button.
LabelQuestion = Mapping[str, Any]


def label_question(column: str, words: str, answers: Mapping[str, str], keys: Sequence[str] = ()) -> LabelQuestion:
    """Return a question (words), whose labels are in `column`. answers: the words of each button, by the label's value.

    keys: the keys to press on the page (default: a value that is a number, else the button's number from 1).
    """
    names = keys or [value if value.isdigit() else str(number) for number, value in enumerate(answers, start=1)]
    pairs = zip(names, answers.items(), strict=True)
    choices = [{"key": key, "value": value, "words": text} for key, (value, text) in pairs]
    return {"column": column, "words": words, "choices": choices}


_LIKERT = {"1": "strongly disagree", "2": "disagree", "3": "neutral", "4": "agree", "5": "strongly agree"}

SUPPORT = (
    label_question(
        "level",
        "How far does the source support the statement?",
        dict(zip(LEVELS, ("full support", "partial support", "no support"), strict=True)),
        ("3", "2", "1"),
    ),
)

# The forms by name.
FORMS: Mapping[str, tuple[LabelQuestion, ...]] = {
    "support": SUPPORT,
    # ALiiCE (arXiv 2406.13375), section 5.3: where an error of its claims comes from.
    "errors": (
        label_question(
            "error_type",
            "Which error does this claim have?",
            {"none": "none", "grammatical": "the sentence is not grammatical", "parsing": "the parse is wrong"},
        ),
    ),
    # ALiiCE, appendix B: a Likert scale and a binary rule.
    "utility": (
        label_question("answer_utility", "The answer helps to answer the question.", _LIKERT),
        label_question(
            "citation_utility",
            "Is the place of the citation useful: at a clear claim, easier to read and verify than one at the "
            "sentence's end, and not redundant?",
            {"0": "no", "1": "yes"},
            ("1", "2"),
        ),
    ),
}
