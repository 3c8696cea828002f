"""Compare claims of answers with claims that people wrote: this project's own measure of the parser and the rules.

An answer's reference holds the gold claims in its field `gold_claims`; `cited` may be left out:

    {"gold_claims": [{"text": "Cups can be made of glass", "cited": [1]}]}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from metaeval.citation.aliice.claims import AnswerClaims
from metaeval.citation.data_model import Claim
from metaeval.citation.measures import f1
from metaeval.corpus.data_rows import DataRow

FIELD = "gold_claims"
EXACT, TOKEN_F1 = "claims_exact", "claims_token_f1"


def gold_values(read: Sequence[AnswerClaims]) -> Mapping[str, list[float | None]]:
    """Return, for each answer, the share of its gold claims that equal a claim (`EXACT`), and the mean `TOKEN_F1`.

    A gold claim is compared with the claims that cite the same passages, or with all if it has no `cited`. The F1 of
    its words is that with the most similar claim; without a claim to compare with, it is 0. Words are compared without
    case and punctuation. None for an answer without gold claims; an empty dict where no answer has any. Raises
    `UserError` for gold claims of another form.
    """
    pairs = [_best(each) for each in read]
    if not any(pairs):
        return {}
    return {
        EXACT: [sum(score == 1 for score in scores) / len(scores) if scores else None for scores in pairs],
        TOKEN_F1: [sum(scores) / len(scores) if scores else None for scores in pairs],
    }


def _best(each: AnswerClaims) -> list[float]:
    """Return the similarity of each gold claim to the most similar claim; 0 without a claim to compare with."""
    row = DataRow(f"answer {each.answer.id}, reference", each.answer.reference)
    return [
        max((_similarity(claim.text, gold) for claim in each.claims if _cites(claim, cited)), default=0.0)
        for gold, cited in map(_gold, row.rows(FIELD) if each.answer.reference.get(FIELD) is not None else ())
    ]


def _gold(row: DataRow) -> tuple[str, frozenset[int] | None]:
    return row.text("text"), None if row.fields.get("cited") is None else frozenset(row.numbers("cited"))


def _cites(claim: Claim, cited: frozenset[int] | None) -> bool:
    return cited is None or frozenset(claim.citations) == cited


def _similarity(claim: str, gold: str) -> float:
    """Return the F1 of the words of two claims; just below 1 for the same words in another order."""
    words, wanted = (re.findall(r"\w+", text.casefold()) for text in (claim, gold))
    shared = (Counter(words) & Counter(wanted)).total()
    value = f1(shared / max(len(words), 1), shared / max(len(wanted), 1)) or 0.0
    return value if words == wanted else min(value, 1 - 1e-9)
