"""Everything ALCE measures beside citations, of each answer: what its reference holds decides which measures it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metaeval.citation.alce.correctness import (
    claim_recalls,
    clean_answer,
    length,
    list_scores,
    short_answers,
    short_answers_of,
)
from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.alce.rouge import references_of, rouge_lsum
from metaeval.citation.model import Answer, Entails
from metaeval.citation.sentences import RULES, SentenceSplitter

Values = Mapping[str, Sequence[float | None]]
"""Measure to its value for each answer, in order; None where an answer has none."""


def answer_values(
    answers: Sequence[Answer],
    options: AlceOptions = PAPER,
    splitter: SentenceSplitter = RULES,
    entails: Entails | None = None,
) -> Values:
    """The measures of correctness and length, under the released code's names, as shares in [0, 1] and counts.

    A measure that no answer has is left out; `claims_nli` needs a backend.
    """
    texts = [clean_answer(answer, options) for answer in answers]
    short = [short_answers(text, short_answers_of(answer)) for answer, text in zip(answers, texts, strict=True)]
    lists = [
        list_scores(text, answer.reference.get("answers") or ()) for answer, text in zip(answers, texts, strict=True)
    ]
    claims = claim_recalls(answers, entails, options)[0] if entails else [None] * len(answers)
    values: dict[str, list[float | None]] = {
        "length": [float(length(text)) for text in texts],
        "str_em": [own.value if own else None for own in short],
        "str_hit": [float(own.hits == own.total) if own else None for own in short],
        "rougeLsum": rouge_lsum(texts, [references_of(answer) for answer in answers], splitter, options.split_on),
        "num_preds": [float(own.predictions) if own else None for own in lists],
        "qampari_prec": [own.precision if own else None for own in lists],
        "qampari_rec": [own.recall if own else None for own in lists],
        "qampari_rec_top5": [own.recall_top5 if own else None for own in lists],
        "qampari_f1": [own.f1 if own else None for own in lists],
        "qampari_f1_top5": [own.f1_top5 if own else None for own in lists],
        "claims_nli": [own.value if own else None for own in claims],
    }
    return {name: column for name, column in values.items() if any(value is not None for value in column)}
