"""ALCE's citation scores of a set of answers: of each answer, their mean, all together, and the log's counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metaeval.citation.alce.options import PAPER, AlceOptions
from metaeval.citation.measures import (
    Estimate,
    Share,
    estimate,
    group_codes,
    macro,
    micro,
    precisions,
    recalls,
    zero_where_undefined,
)
from metaeval.citation.model import Answer
from metaeval.citation.table import Line, claims_of
from metaeval.stats.arrays import Floats


@dataclass(frozen=True, slots=True)
class CitationScores:
    """Citation recall and precision, in [0, 1].

    macro: the mean over answers of each answer's value, as published; micro: over all statements or citations
    together. Answers without a statement have no value and are left out. recall, precision: of each answer, in order.
    recall_bounds, precision_bounds: the macro value if every missing verdict were a miss, and a hit.
    """

    recall_macro: Estimate
    recall_micro: Estimate
    precision_macro: Estimate
    precision_micro: Estimate
    recall: tuple[Share, ...]
    precision: tuple[Share, ...]
    recall_bounds: tuple[float | None, float | None]
    precision_bounds: tuple[float | None, float | None]
    counters: Counters


@dataclass(frozen=True, slots=True)
class Counters:
    """What the released code logs, as counts: statements; those with several marks; those of them that are supported.

    needless_citations: citations of supported statements that are not needed; needless_statements: statements that
    hold one. needless: how the rate counts them.
    """

    statements: int
    several: int
    several_supported: int
    needless_citations: int
    needless_statements: int
    needless: str = "sentences"

    @property
    def several_rate(self) -> float | None:
        """Share of statements with several marks."""
        return self.several / self.statements if self.statements else None

    @property
    def supported_rate(self) -> float | None:
        """Share of the statements with several marks that are supported."""
        return self.several_supported / self.several if self.several else None

    @property
    def needless_rate(self) -> float | None:
        """Share of the supported ones that hold a needless citation.

        Counted in "citations", as released, it is citations over statements, no share: two needless ones in the only
        such statement are 200 %.
        """
        hits = self.needless_citations if self.needless == "citations" else self.needless_statements
        return hits / self.several_supported if self.several_supported else None


def citation_scores(
    answers: Sequence[Answer],
    lines: Sequence[Line],
    options: AlceOptions = PAPER,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> CitationScores:
    """Scores from the lines of `alce_lines`; intervals draw groups."""
    recall, precision = recalls(answers, lines), precisions(answers, lines)
    own = zero_where_undefined(precision, recall) if options.uncited_precision == "zero" else precision
    group, n_groups = group_codes(answers)

    def of(parts: tuple[Floats, Floats]) -> Estimate:
        return estimate(parts, group, n_groups, resamples, seed, level)

    return CitationScores(
        recall_macro=of(macro(recall)),
        recall_micro=of(micro(recall)),
        precision_macro=of(macro(own)),
        precision_micro=of(micro(precision)),
        recall=tuple(recall),
        precision=tuple(own),
        recall_bounds=_bounds(recall),
        precision_bounds=_bounds(own),
        counters=counters(lines, options),
    )


def _bounds(shares: Sequence[Share]) -> tuple[float | None, float | None]:
    ends = []
    for hit in (False, True):
        values = [value for share in shares if (value := share.filled(hit).value) is not None]
        ends.append(sum(values) / len(values) if values else None)
    return ends[0], ends[1]


def counters(lines: Sequence[Line], options: AlceOptions = PAPER) -> Counters:
    """The counters of multiple and needless citations."""
    marks: dict[tuple[str, int], int] = {}
    needless: dict[tuple[str, int], int] = {}
    for line in lines:
        if line.claim_number is None or line.state not in ("judged", "unjudged", "fails"):
            continue
        key = (line.answer, line.claim_number)
        marks[key] = marks.get(key, 0) + 1
        if line.alone is False and line.rest is True:
            needless[key] = needless.get(key, 0) + 1
    several = {key for key, count in marks.items() if count > 1}
    claims = claims_of(lines)
    supported = {(line.answer, line.claim_number) for line in claims if line.recall == 1}
    return Counters(
        statements=len(claims),
        several=len(several),
        several_supported=len(several & supported),
        needless_citations=sum(needless.values()),
        needless_statements=len(needless),
        needless=options.needless,
    )
