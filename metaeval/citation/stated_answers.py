"""Answers with their statements, as ALCE or ALiiCE reads them, judged by verdicts or degrees of support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from metaeval.citation.citation_table import (
    CitationLine,
    CitedStatement,
    ClaimQuestion,
    Profile,
    find_place,
    judged_lines,
    verdicts_on,
)
from metaeval.citation.data_model import Answer, Entails, NliPair
from metaeval.citation.marks_and_sentences import Leading
from metaeval.citation.measures import AnswerShare, Statistic, citation_shares, filled, harmonic, macro

TITLES: Mapping[str, str] = {"alce": "ALCE", "aliice": "ALiiCE"}

# The reason on a line that has a score and no verdict: a soft backend decides nothing.
_OPEN = "ok"


@dataclass(frozen=True, eq=False)
class StatedAnswers:
    """Answers with the statements of each. name: alce or aliice. fields: those of the results' signatures.

    statistics: measures that need no verdict, by name. opened: the number of answers with a mark that opens a
    sentence, by what becomes of it, where the profile decides that by the answer.
    """

    name: str
    answers: Sequence[Answer]
    statements: Sequence[Sequence[CitedStatement]]
    profile: Profile
    fields: Mapping[str, str]
    statistics: Mapping[str, Statistic]
    opened: Mapping[Leading, int] = field(default_factory=dict)

    def judge(self, entails: Entails, soft: bool = False) -> tuple[list[CitationLine], list[CitationLine]]:
        """Return (the citation table, the lines that hold recall and precision), which are the same.

        soft: the scores of `entails` are degrees of support in [0, 1], without decisions. The second lines then have
        them as recall and precision: a claim's recall is the score of its passages together, a citation's precision
        that of its passage alone, from one more call. Lines that need no verdict (a mark without a passage, an uncited
        claim) are unchanged. The table has their reasons, and a mark is "judged" where its degree is known.
        """
        rules = self.profile
        lines = judged_lines(self.answers, self.statements, entails, rules.untitled, self.name == "aliice")
        if not soft:
            return lines, lines
        passages = {answer.id: answer.passages for answer in self.answers}
        pairs: list[NliPair | None] = []
        for line in lines:
            documents = passages[line.answer]
            place, _ = find_place(line.citation, len(documents), rules.zero)
            pairs.append(None)
            if line.state == "unjudged" and place is not None:
                pairs[-1] = ClaimQuestion(line.claim, documents, (place,)).pair([place], rules.untitled)
        known = verdicts_on(pairs, entails)
        table, degrees = [], []
        for line, pair in zip(lines, pairs, strict=True):
            reason = line.reason if line.reason != _OPEN else ""
            degree = replace(line, recall=line.recall if line.score is None else line.score, reason=reason)
            if pair is not None:
                alone = known[pair]
                reason = reason or ("" if alone.score is not None else alone.status)
                degree = replace(degree, precision=alone.score, reason=reason)
            degrees.append(degree)
            judged = line.state == "unjudged" and not reason
            table.append(replace(line, state="judged" if judged else line.state, reason=reason))
        return table, degrees

    def shares(self, lines: Sequence[CitationLine]) -> tuple[list[AnswerShare], list[AnswerShare]]:
        """Return (citation recall, citation precision), each of every answer in order."""
        return citation_shares(self.answers, lines, self.profile.by_group, self.profile.undefined_is_zero)

    def measure(self, lines: Sequence[CitationLine], missing: int | None = None) -> dict[str, Statistic]:
        """Return recall and precision, means over the answers that have a value, and F1, their harmonic mean, by name.

        missing: what each missing verdict or degree is taken to be, 0 or 1 (None: it is left out).
        """
        return headlines(*self.shares(lines if missing is None else [filled(line, missing) for line in lines]))


def headlines(recall: Sequence[AnswerShare], precision: Sequence[AnswerShare]) -> dict[str, Statistic]:
    """Return "recall" and "precision", the means over the answers that have a value, and "f1", their harmonic mean."""
    of_recall, of_precision = macro(recall), macro(precision)
    return {"recall": of_recall, "precision": of_precision, "f1": harmonic(of_recall, of_precision)}
