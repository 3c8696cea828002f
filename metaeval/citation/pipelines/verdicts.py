"""Any registered metric as judge of whether a premise entails a claim, and the score from which on it does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from metaeval.citation.model import Entails, Pair, Verdict
from metaeval.corpus.chunks import Chunking, chunk_document
from metaeval.corpus.model import Document
from metaeval.corpus.units import Aggregation, UnitRow
from metaeval.errors import RequestsWritten, UserError, unknown
from metaeval.files import sha256_json
from metaeval.llm.batch import write_batch
from metaeval.report.formats import load_table
from metaeval.report.result import Ledger
from metaeval.runs.columns import FILE_PREFIX, ledger_of, signed_as
from metaeval.runs.metrics import LoadedMetrics, MetricProgress, executed, plug_in
from metaeval.scoring.contract import Combination, Metric, PairScore
from metaeval.scoring.engine import aggregate, score_pairs
from metaeval.scoring.executors.pool import Pool
from metaeval.scoring.store import ScoreStore

SOFT = "soft"
"""The threshold that decides nothing: scores are degrees of support."""

SHEET = "calibration"
"""Name of the sheet that thresholds are read from."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """value: in the metric's own scores, supported from there on in the direction of its card; None: soft. source: who
    says so, in words.
    """

    value: float | None
    source: str


def read_thresholds(text: str | None, names: Sequence[str]) -> dict[str, float | None]:
    """Thresholds by metric from what was typed: one for all (0.5, soft), or NAME=X with commas.

    Raises `UserError` for a name that is not among the metrics, and for what is neither a number nor `soft`.
    """
    found: dict[str, float | None] = {}
    for part in (part.strip() for part in (text or "").split(",") if part.strip()):
        # A metric's name may hold an equals sign in no case, and a colon in some.
        name, equals, said = part.rpartition("=")
        if equals and name not in names:
            raise unknown("backend in --threshold", name, names)
        try:
            value = None if said == SOFT else float(said)
        except ValueError:
            value = math.nan
        if value is not None and not math.isfinite(value):
            raise UserError(f"--threshold is {said!r}; allowed: a number, soft, or NAME=X for one of several backends.")
        found |= dict.fromkeys([name] if equals else names, value)
    return found


def find_cutoff(
    name: str, metric: Metric, given: Mapping[str, float | None], calibrations: Sequence[Path] = ()
) -> Cutoff:
    """A metric's cut-off: the one given, else a calibration file's, else the one that its card declares.

    Raises `UserError` where there is none, and for a file that calibrated the metric with other options or weights.
    """
    if name in given:
        return Cutoff(given[name], "as given")
    for path in calibrations:
        if (found := _calibrated(name, metric, path)) is not None:
            return found
    card = metric.card
    # A calibrated threshold was found with the default options, and means nothing with others.
    if card.threshold is not None and (card.threshold == card.neutral or _as_default(metric)):
        return Cutoff(card.threshold, card.threshold_from)
    why = "none with these options" if card.threshold is not None else "none that is known"
    raise UserError(
        f"From which score of {name!r} on is a claim supported? It has {why}: give --threshold X, or learn one from "
        f"human labels (metaeval thresholds {name} --learn -d NAME) and give --calibration FILE."
    )


def identity_of(name: str, metric: Metric) -> str:
    """A hash of everything that can change the metric's scores."""
    with plug_in(name):
        return sha256_json(metric.identity())[:16]


def _calibrated(name: str, metric: Metric, path: Path) -> Cutoff | None:
    sheet = load_table(path)
    if sheet.name != SHEET:
        raise UserError(f"{path} is a sheet of {sheet.name!r}, not of learnt ones: type 'metaeval thresholds --learn'.")
    for record in sheet.records:
        if record.get("metric") != name:
            continue
        if record.get("identity") != identity_of(name, metric):
            raise UserError(
                f"{path}: {name!r} was calibrated with other options, weights or code than it has here: calibrate it "
                "again, with the same --set."
            )
        value = record.get("threshold")
        if not isinstance(value, float):
            raise UserError(f"{path}: the threshold of {name!r} is {value!r}, and should be a number.")
        target = sheet.settings.get("target", "full")
        return Cutoff(value, f"calibrated on {sheet.data.name}/{sheet.data.split}, {target} support")
    return None


def _as_default(metric: Metric) -> bool:
    """Whether every option that can change a score has its default value."""
    runtime = set(metric.options.runtime)
    return bool(metric.options.model_dump(exclude=runtime) == type(metric.options)().model_dump(exclude=runtime))


Premise = Literal["joint", "max over chunks"]
"""Whether the metric reads a premise as one text, or in chunks, the best of which decides."""


@dataclass(frozen=True, eq=False)
class Backend:
    """A metric that gives verdicts.

    fields: what the signature says of it. entails: pairs to verdicts. answers: what the metric said of every pair that
    was asked so far.
    """

    name: str
    cutoff: Cutoff
    fields: Mapping[str, object]
    entails: Entails
    answers: Mapping[Pair, PairScore]

    @property
    def soft(self) -> bool:
        """Whether scores are read as degrees of support, and nothing is decided."""
        return self.cutoff.value is None

    @property
    def ledger(self) -> Ledger:
        """What the metric read so far, and what its input limit cut off."""
        return ledger_of(self.answers.values())


def refuse_files(names: Iterable[str]) -> None:
    """Refuse score files where a metric has to give verdicts."""
    for name in names:
        if name.startswith(FILE_PREFIX):
            raise UserError(
                f"{name} holds scores of pairs that were known before: verdicts need a metric, by its name."
            )


def judge_of(name: str, metrics: LoadedMetrics) -> Metric:
    """A metric that can judge pairs one by one, as it has to be prepared; no model is loaded or fetched yet.

    Raises `UserError` for a file of scores, and a metric whose score of a pair depends on the other pairs: it would
    change from wave to wave.
    """
    refuse_files([name])
    metric = metrics.fresh(name)
    if isinstance(metric, Combination) or metric.corpus_dependent:
        raise UserError(
            f"{name!r} scores a pair by the other pairs of the run too, and cannot judge single claims: name a metric "
            "that reads each pair by itself (overlap, minilm-cosine, autoais ...)."
        )
    return metric


def entailment(
    name: str,
    metrics: LoadedMetrics,
    cutoff: Cutoff,
    store: ScoreStore | None = None,
    premise: Premise = "joint",
    progress: MetricProgress | None = None,
    pool: Pool | None = None,
    requests: Path | None = None,
) -> Backend:
    """A metric as judge, the premise as its source and the claim as its statement.

    pool: processes that score; None for this one. requests: a file to which a metric that asks a chat model writes what
    has no reply yet, in place of asking; `RequestsWritten` is then raised.

    Pairs are deduplicated, served from the store and stored by the engine. A pair without a score has no verdict, and
    keeps its status. With `max over chunks` the premise is cut as the run cuts documents (`chunk`), and its best chunk
    decides. A soft cut-off leaves every verdict open and gives the score alone.

    Raises `UserError` as `judge_of` does, and for soft verdicts of a metric whose scores are not from 0 to 1.
    """
    metric, config = judge_of(name, metrics), metrics.config
    card = metric.card
    if cutoff.value is None and (card.low, card.high, card.direction) != (0.0, 1.0, 1):
        raise UserError(
            f"Soft verdicts read scores as degrees of support from 0 to 1, and {name!r} gives others: give it a "
            f"threshold (--threshold {name}=X), or calibrate one (metaeval thresholds {name} --learn)."
        )
    answers: dict[Pair, PairScore] = {}
    report = partial(progress, name) if progress else None
    with plug_in(name):
        execute = executed(pool, [name], [metric], config)
    chunking = config.chunk.chunking() if premise == "max over chunks" else None

    def entails(pairs: Sequence[Pair]) -> list[Verdict]:
        asked: list[Pair] = []
        rows = []  # one per premise with the numbers of its chunks, for the rules of the engine's aggregation
        for source, claim in pairs:
            first = len(asked)
            asked += [(text, claim) for text in _texts(source, chunking)]
            rows.append(UnitRow("", "", "", None, False, tuple(range(first, len(asked))), "", 0, 0))
        with plug_in(name):
            if requests is not None and (bodies := metric.requests(*zip(*asked, strict=True)) if asked else {}):
                raise RequestsWritten(write_batch(requests, bodies))
            found = score_pairs(metric, asked, store, report, execute).answers
        best = aggregate(found, rows, Aggregation("max"), card.direction)
        answers.update(zip(pairs, best, strict=True))
        return [_verdict(answer, cutoff, card.direction) for answer in best]

    with plug_in(name):
        backend = signed_as(name, metric, metric.identity())
    fields = {
        "backend": backend,
        **metric.provenance(),
        "threshold": SOFT if cutoff.value is None else f"{cutoff.value:g}",
        "premise": f"{premise} {chunking}" if chunking else premise,
    }
    return Backend(name, cutoff, fields, entails, answers)


def _texts(source: str, chunking: Chunking | None) -> list[str]:
    """What the metric reads of a premise; one without words as it is, so that the metric says what it makes of it."""
    if chunking is None:
        return [source]
    return [chunk.text for chunk in chunk_document(Document("premise", source), chunking)] or [source]


def _verdict(answer: PairScore, cutoff: Cutoff, direction: Literal[1, -1]) -> Verdict:
    """The verdict on an answer whose score is turned so that higher is more support; the score goes back as it was."""
    if answer.score is None:
        return Verdict(None, None, str(answer.status), answer.cut > 0)
    entailed = None if cutoff.value is None else answer.score >= direction * cutoff.value
    return Verdict(entailed, direction * answer.score, cut=answer.cut > 0)
