"""Verification of a metric on fixed pairs: its scores in batches against those alone, published and official ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from metaeval.scoring.contract import Metric, PairScore
from metaeval.scoring.engine import score_pairs


class FixedPair(NamedTuple):
    """A pair of texts on which metrics are verified. name: the case that it stands for, such as negation."""

    name: str
    source: str
    statement: str


_BRIDGE = (
    "The Halver bridge was closed to lorries in 2009 after inspectors found cracks in two of its nine piers. It was "
    "reopened in May 2012. The repair cost 4.6 million euros, a third of which the province paid."
)
_MOTH = (
    "In a trial with 312 gardeners, those who hung up pheromone traps found codling moth in 11 % of their apples, "
    "against 27 % in gardens without traps. The traps did nothing against scab."
)
_TOWN = (
    "The parish council of Nether Oving met on the first Tuesday of the month. Mr. Dale asked for a bench at the bus "
    "stop. Mrs. Harrow said that the last one had been taken away by the flood of 1998, and that nobody had missed it. "
    "The clerk read out a letter from the water board about the new pumping station, which will be built north of the "
    "mill. It was agreed to ask for the drawings. The footpath to the school was discussed for the fourth time. "
)
_FLOOD = "The pumping station was moved south of the mill after the public hearing in March, as Dr. Lund had proposed. "

VERIFICATION_PAIRS = (
    FixedPair("supported", _BRIDGE, "The bridge was opened again in May 2012."),
    FixedPair("contradicted", _BRIDGE, "The bridge was never reopened."),
    FixedPair("unrelated", _BRIDGE, "Codling moths lay their eggs on leaves close to the fruit."),
    FixedPair("partial", _BRIDGE, "The repair cost 4.6 million euros, and the province paid all of it."),
    FixedPair("numbers", _MOTH, "With traps, moths were in 27 % of the apples; without them, in 11 %."),
    FixedPair("negation", _MOTH, "The traps did not reduce scab."),
    FixedPair(
        "several sentences", _MOTH, "The trial had 312 participants. Traps helped against moths. They also cured scab!"
    ),
    FixedPair(
        "unicode", "Die Brücke über die Würm heißt «Zoë-Steg» — 橋は1931年に完成した。🙂", "橋は1931年に完成した。"
    ),
    FixedPair("short", "No.", "Yes."),
    FixedPair("the same text", _MOTH, _MOTH),
    FixedPair("long source", _TOWN * 6 + _FLOOD + _TOWN, "The pumping station was moved after a public hearing."),
    FixedPair("long statement", _BRIDGE, _TOWN.strip()),
    FixedPair("white space and marks", f"\n  {_BRIDGE}\t\n\n[3][4]  ", "  The province paid\na third. [3] "),
)


class Published(NamedTuple):
    """A score that a metric's authors published (`where`) for its checkpoint, compared to so many `decimals`."""

    source: str
    statement: str
    score: float
    decimals: int
    where: str


PUBLISHED: dict[str, tuple[Published, ...]] = {
    "bartscore": (
        Published("This is interesting.", "This is fun.", -2.510652780532837, 6, "README of neulab/BARTScore"),
    ),
    "hhem": (
        Published(
            "The capital of France is Berlin.", "The capital of France is Paris.", 0.0110615, 4, "card of HHEM-2.1-Open"
        ),
    ),
    "alignscore": (Published("hello world.", "hello world.", 0.9887, 4, "issue 8 of yuh-zha/AlignScore"),),
}
"""Published scores by metric name, for the default options and the published weights."""

BATCH_TOLERANCE = 1e-5
"""Largest allowed difference between the scores of a pair in a batch and alone, in float32."""

OFFICIAL_TOLERANCE = 1e-4
"""Largest allowed difference from the official package's score, in float32: its batches and versions differ."""


@dataclass(frozen=True)
class OfficialComparison:
    """The official package's results for the test pairs, in order. pairs: number of those that have a score here.

    largest: largest difference of the scores of these; infinite if the package gives one of them no score.
    """

    package: str
    answers: Sequence[PairScore]
    pairs: int
    largest: float

    @property
    def agrees(self) -> bool:
        """Return whether at least one pair was compared and no scores differ by more than `OFFICIAL_TOLERANCE`."""
        return self.pairs > 0 and self.largest <= OFFICIAL_TOLERANCE


@dataclass(frozen=True)
class VerificationReport:
    """A metric's results for the fixed test pairs.

    Parameters
    ----------
    metric : Metric
        What was verified.
    test_pairs : sequence of FixedPair
        The n pairs.
    batched : list of PairScore
        (n,) results in one run.
    single : list of PairScore or None
        (n,) results of the same pairs, each scored alone; None for a remote judge, which asks each pair alone and for
        money.
    published : list of (Published, float or None)
        The authors' scores, each with ours (None: no score); empty with options other than the defaults, and where no
        published score is known.
    """

    metric: Metric
    test_pairs: Sequence[FixedPair]
    batched: list[PairScore]
    single: list[PairScore] | None
    published: list[tuple[Published, float | None]]

    def __repr__(self) -> str:
        verdict = "agrees" if self.agrees else "does NOT agree"
        return f"<VerificationReport: {self.metric.card.name} {verdict}, {len(self.batched)} pairs>"

    @property
    def batch_difference(self) -> float | None:
        """Return the largest difference of scores in a batch and alone (infinite: one is missing); None for a judge."""
        if self.single is None:
            return None
        return max((difference(*both) for both in zip(self.batched, self.single, strict=True)), default=0.0)

    @property
    def agrees(self) -> bool:
        """Return whether scores in batches agree with those alone, and ours with all published ones.

        In another number type than float32, it is enough that the same pairs have a score in a batch and alone. What
        was not compared (`single` is None, `published` is empty) counts as agreement.
        """
        batch = self.batch_difference
        exact = getattr(self.metric.options, "dtype", "float32") == "float32"
        steady = batch is None or batch <= BATCH_TOLERANCE or (not exact and batch != float("inf"))
        return steady and all(
            ours is not None and abs(ours - score.score) <= 0.6 * 10.0**-score.decimals + 1e-4
            for score, ours in self.published
        )


def verify_metric(name: str, metric: Metric) -> VerificationReport:
    """Score the test pairs in batches and, unless the metric is a remote judge, each alone. name: as a run has it."""
    pairs = [(pair.source, pair.statement) for pair in VERIFICATION_PAIRS]
    repeated = not hasattr(metric.options, "api_key_env")
    # All pairs with their words reversed, then all with the first word moved to the end, fill up batches.
    words = [(source.split(), statement.split()) for source, statement in pairs if repeated]
    fillers = [(" ".join(source[::-1]), " ".join(statement[::-1])) for source, statement in words]
    fillers += [(" ".join(source[1:] + source[:1]), " ".join(claim[1:] + claim[:1])) for source, claim in words]
    batched = score_pairs(metric, [*pairs, *fillers]).answers[: len(pairs)]
    single: list[PairScore] = []
    for source, statement in pairs if repeated else ():
        if not metric.corpus_dependent:  # each pair is a job of its own, and shares no computation with others
            metric.prepare([source], [statement])
        single += metric.score([source], [statement])
    usual = metric.options == type(metric.options)()
    published = [
        (score, metric.score([score.source], [score.statement])[0].score)
        for score in (PUBLISHED.get(name, ()) if usual else ())
    ]
    return VerificationReport(metric, VERIFICATION_PAIRS, batched, single if repeated else None, published)


def compare_official(verified: VerificationReport, answers: Sequence[PairScore], package: str) -> OfficialComparison:
    """Compare the official package's answers to the test pairs, in order, with the scores in `verified`.

    Pairs without a score here are not compared: the official code may give
    them a meaningless number.
    """
    scored = [(ours, theirs) for ours, theirs in zip(verified.batched, answers, strict=True) if ours.score is not None]
    largest = max((difference(ours, theirs) for ours, theirs in scored), default=0.0)
    return OfficialComparison(package, answers, len(scored), largest)


def difference(ours: PairScore, theirs: PairScore) -> float:
    """Return the absolute difference of two scores of one pair; 0 if both are missing, infinite if only one is."""
    if ours.score is None or theirs.score is None:
        return 0.0 if ours.score is theirs.score else float("inf")
    return abs(ours.score - theirs.score)
