"""Citations judged: one pipeline's answers under each backend, with the values that resampling needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.measures import Share, citation_shares, filled, group_codes, system_codes, zero_where_undefined
from metaeval.citation.model import Answer
from metaeval.citation.readers.answers import read_answers
from metaeval.citation.soft import SoftLine, settled, soft_filled, soft_precisions, soft_recalls, soften
from metaeval.citation.table import Line
from metaeval.config import RunConfig
from metaeval.errors import UserError
from metaeval.experiment.citing.correctness import CLAIM_RECALL
from metaeval.experiment.citing.pipelines import Pipeline
from metaeval.experiment.citing.quantities import (
    Interval,
    Quantity,
    f1_of,
    interval_over,
    macro_of,
    mean_of,
    replicates,
)
from metaeval.experiment.verdicts import Backend
from metaeval.report.result import Column
from metaeval.stats.resampling import Draws, bootstrap

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RECALL = Column(key="recall", label="recall", scale=100, digits=1)
PRECISION = Column(key="precision", label="precision", scale=100, digits=1)
F1 = Column(key="f1", label="F1", scale=100, digits=1)
HEADLINES = (RECALL, PRECISION, F1)


@dataclass(frozen=True, eq=False)
class Judged:
    """One backend's judgement. lines: the citation table. recall, precision: of each answer. quantities: of all.

    degrees: of each line, where the backend is soft.
    """

    backend: Backend
    lines: Sequence[Line]
    recall: Sequence[Share]
    precision: Sequence[Share]
    quantities: Sequence[Quantity]
    degrees: Sequence[SoftLine] = ()


@dataclass(frozen=True, eq=False)
class Cited:
    """Answers of one or more systems, judged by one or more backends.

    systems: names, sorted. system, group: (n,) codes of each answer. draws: weightings of the groups, the same for
    every system and backend.
    """

    pipeline: Pipeline
    config: RunConfig
    systems: Sequence[str]
    system: Ints
    group: Ints
    draws: Draws
    judged: Sequence[Judged]

    def values(self, quantity: Quantity, system: int) -> Floats:
        """A quantity of one system under each weighting, (R,), the input itself first."""
        return replicates(quantity, np.flatnonzero(self.system == system), self.group, self.draws)

    def interval(self, quantity: Quantity, system: int) -> Interval:
        """A quantity of one system, with its interval; none from a single group that has a value."""
        rows = np.flatnonzero(self.system == system)
        return interval_over(quantity, rows, self.group, self.draws, self.config.interval.level)


def gather(files: Sequence[Path], form: str = "auto") -> list[Answer]:
    """The answers of one or more files.

    An answer that names no system is of its file's; with several files, ids begin with the file's name.

    Raises `UserError` for no file, a file that cannot be read as answers, two files of one name, and a system that
    goes by the name of another file.
    """
    if not files:
        raise UserError("No file of answers is given: name at least one.")
    names = [_stem(path) for path in files]
    if len(set(names)) < len(names):
        raise UserError(f"Files are told apart by their names, and two have the same: {', '.join(names)}.")
    read = {name: read_answers(path, form) for path, name in zip(files, names, strict=True)}
    _check_systems(read)
    answers: list[Answer] = []
    for name, own_answers in read.items():
        for answer in own_answers:
            prefix = f"{name}/" if len(files) > 1 else ""
            own = f"{prefix}{answer.id}", answer.system or name, answer.group
            written, system, group = (_writable(text) for text in own)
            answers.append(replace(answer, id=written, system=system, group=group))
    return answers


def _check_systems(read: Mapping[str, Sequence[Answer]]) -> None:
    """Answers that name no system go by their file's name; it must not be another system's."""
    for name in [name for name, answers in read.items() if any(not answer.system for answer in answers)]:
        for other, answers in read.items():
            if other != name and any(answer.system == name for answer in answers):
                raise UserError(
                    f"Answers in {other} are of a system {name!r}, and so are those of the file {name}, which name "
                    "none: rename the file, or name its system in the field 'system'."
                )


def judge(pipeline: Pipeline, backends: Iterable[Backend], config: RunConfig) -> Cited:
    """Judge the pipeline's answers with each backend in turn."""
    answers = pipeline.answers
    systems, system = system_codes(answers)
    group, n_groups = group_codes(answers)
    interval = config.interval
    return Cited(
        pipeline=pipeline,
        config=config,
        systems=systems,
        system=system,
        group=group,
        draws=bootstrap(n_groups, interval.resamples, interval.seed),
        judged=[_judged(pipeline, backend) for backend in backends],
    )


def _judged(pipeline: Pipeline, backend: Backend) -> Judged:
    answers = pipeline.answers
    lines: Sequence[Line] = pipeline.lines(backend.entails)
    degrees: Sequence[SoftLine] = ()
    if backend.soft:
        degrees = soften(answers, lines, backend.entails, pipeline.untitled, pipeline.zero)
        recall, precision = _soft_shares(pipeline, degrees)
        lines = [settled(line) for line in degrees]
    else:
        recall, precision = _shares(pipeline, lines)
    of_recall, of_precision = macro_of(RECALL, recall), macro_of(PRECISION, precision)
    quantities = [of_recall, of_precision, f1_of(F1, of_recall, of_precision)]
    if pipeline.claim_recalls and not backend.soft:
        quantities.append(mean_of(CLAIM_RECALL, pipeline.claim_recalls(backend.entails)))
    return Judged(backend, lines, recall, precision, quantities, degrees)


def _shares(pipeline: Pipeline, lines: Sequence[Line]) -> tuple[list[Share], list[Share]]:
    """Recall and precision of each answer, from decided verdicts."""
    return citation_shares(pipeline.answers, lines, pipeline.by_group, pipeline.undefined_is_zero)


def _soft_shares(pipeline: Pipeline, degrees: Sequence[SoftLine]) -> tuple[list[Share], list[Share]]:
    """Recall and precision of each answer, from degrees of support."""
    recall = soft_recalls(pipeline.answers, degrees)
    precision = soft_precisions(pipeline.answers, degrees, pipeline.by_group)
    return recall, zero_where_undefined(precision, recall) if pipeline.undefined_is_zero else precision


def bounds_of(cited: Cited, one: Judged, system: int) -> dict[str, tuple[float | None, float | None]]:
    """Lowest and highest recall and precision of a system, were every missing verdict against it, or for it.

    A missing soft score is then 0, or 1. Empty where nothing of the system is missing.
    """
    own = {answer.id for answer, code in zip(cited.pipeline.answers, cited.system, strict=True) if code == system}
    if not any(line.answer in own and line.reason for line in one.lines):
        return {}
    ends = []
    for verdict in (0, 1):
        if one.backend.soft:
            shares = _soft_shares(cited.pipeline, [soft_filled(line, verdict) for line in one.degrees])
        else:
            shares = _shares(cited.pipeline, [filled(line, verdict) for line in one.lines])
        ends.append([cited.interval(macro_of(RECALL, each), system).value for each in shares])
    return {column.key: (worst, best) for column, worst, best in zip((RECALL, PRECISION), *ends, strict=True)}


def by_key(quantities: Sequence[Quantity]) -> Mapping[str, Quantity]:
    """Quantities by the key of their column."""
    return {quantity.column.key: quantity for quantity in quantities}


def _writable(text: str) -> str:
    """A name as files can hold it: a lone surrogate, which JSON input may hold, as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _stem(path: Path) -> str:
    """A file's name without its endings: answers.jsonl.gz is answers."""
    return path.name.split(".")[0] or path.name
