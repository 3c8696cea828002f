"""SCiFi's scores of a set of answers: citation entailment, coverage and density, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metaeval.citation.measures import Estimate, Share, estimate, group_codes, macro, micro
from metaeval.citation.scifi.model import AnswerFacts, CoverageLine, FactLine
from metaeval.citation.scifi.options import ScifiOptions
from metaeval.citation.scifi.shares import (
    citations_without_facts,
    counts,
    coverages,
    densities,
    entailments,
    sub_densities,
    uncited,
    unmapped,
)


@dataclass(frozen=True, slots=True)
class ScifiScores:
    """SCiFi's scores of a set of answers; entailment and coverage are in [0, 1], densities are citations a sentence.

    entailment, coverage: the headline, over facts or over answers as the option `average` says; _micro: over all facts
    together; _macro: the mean over answers of each answer's own value, answers without one left out. _bounds: the
    headline, were every missing value 0, and were it 1, where a sentence that gave no facts counts as one (see
    `shares`). density, sub_density: over all sentences together. uncited, unmapped, without_facts: shares over all
    facts in uncited sentences, of segments that were not found, of citations that no fact was assigned. of_answers:
    (entailment, coverage, density, sub_density) of each answer, in order. counts, problems: what there was, and what
    was wrong in replies.
    """

    entailment: Estimate
    entailment_micro: Estimate
    entailment_macro: Estimate
    entailment_bounds: tuple[float | None, float | None]
    coverage: Estimate
    coverage_micro: Estimate
    coverage_macro: Estimate
    coverage_bounds: tuple[float | None, float | None]
    density: Estimate
    sub_density: Estimate
    uncited: Estimate
    unmapped: Estimate
    without_facts: Estimate
    of_answers: tuple[tuple[float | None, float | None, float | None, float | None], ...]
    counts: Mapping[str, int]
    problems: Mapping[str, int]
    options: str


def scifi_scores(
    read: Sequence[AnswerFacts],
    lines: Sequence[FactLine],
    covered: Sequence[CoverageLine],
    options: ScifiOptions | None = None,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> ScifiScores:
    """Scores from the lines of `fact_lines` and `coverage_lines`, made with the same options; intervals draw groups."""
    options = options or ScifiOptions()
    answers = [each.answer for each in read]
    codes, n_codes = group_codes(answers)
    headline = micro if options.average == "facts" else macro

    def over_facts(shares: Sequence[Share]) -> Estimate:
        return estimate(micro(shares), codes, n_codes, resamples, seed, level)

    def over_answers(shares: Sequence[Share]) -> Estimate:
        return estimate(macro(shares), codes, n_codes, resamples, seed, level)

    def bounds(shares: Sequence[Share]) -> tuple[float | None, float | None]:
        worst, best = (
            estimate(headline([share.filled(hit) for share in shares]), codes, n_codes, 0).value
            for hit in (False, True)
        )
        return worst, best

    entailment, coverage = entailments(read, lines), coverages(read, covered)
    density, sub = densities(read, options), sub_densities(read, options)
    average = over_facts if options.average == "facts" else over_answers
    problems = sum((each.problems for each in read), Counter[str]())
    return ScifiScores(
        entailment=average(entailment),
        entailment_micro=over_facts(entailment),
        entailment_macro=over_answers(entailment),
        entailment_bounds=bounds(entailment),
        coverage=average(coverage),
        coverage_micro=over_facts(coverage),
        coverage_macro=over_answers(coverage),
        coverage_bounds=bounds(coverage),
        density=over_facts(density),
        sub_density=over_facts(sub),
        uncited=over_facts(uncited(answers, lines)),
        unmapped=over_facts(unmapped(read)),
        without_facts=over_facts(citations_without_facts(read, lines, options)),
        of_answers=tuple(
            (own.value, covers.value, dense.value, dense_inside.value)
            for own, covers, dense, dense_inside in zip(entailment, coverage, density, sub, strict=True)
        ),
        counts=counts(read, lines),
        problems=dict(sorted(problems.items())),
        options=options.signature,
    )
