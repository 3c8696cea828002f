"""A citation run: what is asked for, checked before any work; then read, judged and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from metaeval.citation.alce.mauve import MODEL as MAUVE_MODEL
from metaeval.citation.alce.questions import MODEL as READER
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.config import RunConfig, load_run
from metaeval.errors import UserError, unknown
from metaeval.experiment.citing.agreement import gather_labels
from metaeval.experiment.citing.agreement_sheet import agreement_sheet
from metaeval.experiment.citing.human_labels import read_labels
from metaeval.experiment.citing.judging import Cited, gather, judge
from metaeval.experiment.citing.pipelines import read_pipeline
from metaeval.experiment.citing.rows import write_rows
from metaeval.experiment.citing.sheets import citation_sheets
from metaeval.experiment.columns import check_names
from metaeval.experiment.cutoffs import Cutoff, find_cutoff, read_thresholds
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.sheet import Sheet
from metaeval.experiment.verdicts import Backend, Premise, entailment, load_judge
from metaeval.files import safe_name
from metaeval.scoring.store import ScoreStore

DEFAULT_BACKEND = "minilm-bertscore"
"""The one that does best on WiCE dev of those that need no download."""


@dataclass(frozen=True)
class Asked:
    """What a user asks of a pipeline; see `read_pipeline`, `find_cutoff` and `entailment`. nli: metrics by name."""

    pipeline: str
    files: Sequence[Path]
    form: str = "auto"
    nli: Sequence[str] = ()
    threshold: str | None = None
    calibrations: Sequence[Path] = ()
    premise: str = "joint"
    profile: str = "paper"
    parser: str = "small"
    splitter: str = "auto"
    units: str = "sentences"
    measures: Sequence[str] = ()
    reader: str = READER
    mauve_model: str = MAUVE_MODEL

    @property
    def name(self) -> str:
        """The files' names, without folders and endings."""
        return "+".join(path.name.split(".")[0] or path.name for path in self.files)


def run_cited(
    asked: Asked, settings: Mapping[str, Any], overrides: Sequence[str] = (), progress: MetricProgress | None = None
) -> tuple[Cited, list[Sheet]]:
    """Judge the answers with every backend, and lay out the results; nothing is written but the score store.

    settings, overrides: those of a run (results, store, budget; interval.resamples=..., metric_options...).

    Raises `UserError` for whatever is wrong in what is asked, in the files and in the backends, before any scoring.
    """
    names = tuple(dict.fromkeys(asked.nli)) or (DEFAULT_BACKEND,)
    config = load_run(None, {**settings, "metrics": names}, overrides)
    if asked.premise not in get_args(Premise):
        raise unknown("premise", asked.premise, get_args(Premise))
    cutoffs = find_cutoffs(names, config, asked.threshold, asked.calibrations)
    answers = gather(asked.files, asked.form)
    if not any(answer.passages for answer in answers):
        raise UserError(f"No answer of {asked.name} comes with passages: there is nothing that its citations point at.")
    pipeline = read_pipeline(
        asked.pipeline,
        answers,
        asked.profile,
        asked.parser,
        asked.splitter,
        asked.units,
        asked.measures,
        asked.reader,
        asked.mauve_model,
    )
    with ScoreStore(config.store_path) as store:
        cited = judge(pipeline, backends_of(cutoffs, config, store, asked.premise, progress), config)
    return cited, citation_sheets(cited, asked.name)


def find_cutoffs(
    names: Sequence[str], config: RunConfig, threshold: str | None = None, calibrations: Sequence[Path] = ()
) -> dict[str, Cutoff]:
    """The cut-off of each backend, in their order; `UserError` for a wrong backend, and one without a cut-off."""
    check_names(config)
    given = read_thresholds(threshold, names)
    return {name: find_cutoff(name, load_judge(name, config), given, calibrations) for name in names}


def write_cited(asked: Asked, cited: Cited) -> tuple[Path, list[Path]]:
    """Write the tables of answers, sentences and citations; the folder, RESULTS/cite/PIPELINE/NAME, and the paths."""
    folder = cited.config.results / "cite" / asked.pipeline / safe_name(asked.name)
    return folder, write_rows(cited, folder)


def backends_of(
    cutoffs: Mapping[str, Cutoff], config: RunConfig, store: ScoreStore, premise: Any, progress: MetricProgress | None
) -> Iterator[Backend]:
    """The backends, each made when the one before it has judged: its model is then let go."""
    for name, cutoff in cutoffs.items():
        yield entailment(name, config, cutoff, store, premise, progress)


def run_agreement(
    file: Path,
    nli: Sequence[str],
    threshold: str | None,
    calibrations: Sequence[Path],
    splitter: str,
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    progress: MetricProgress | None = None,
) -> tuple[RunConfig, Sheet]:
    """Hold the published automatic verdicts and those of backends against the human labels in a file.

    Raises `UserError` as `run_cited` does, and for a soft cut-off.
    """
    names = tuple(dict.fromkeys(nli))
    config = load_run(None, {**settings, "metrics": names or (DEFAULT_BACKEND,)}, overrides)
    cutoffs = find_cutoffs(names, config, threshold, calibrations) if names else {}
    if soft := [name for name, cutoff in cutoffs.items() if cutoff.value is None]:
        raise UserError(f"Agreement is between decisions, and {soft[0]!r} is asked for soft scores: give a threshold.")
    cutter = find_sentence_splitter(splitter)
    labelled = read_labels(file)
    with ScoreStore(config.store_path) as store:
        backends = list(backends_of(cutoffs, config, store, "joint", progress))
        labels = gather_labels(labelled, backends, cutter)
    if not labels["sentence"].raters:
        raise UserError(f"{file} holds no automatic verdicts to hold against its labels: name a backend with --nli.")
    return config, agreement_sheet(labelled, labels, backends, config, file.name.split(".")[0], cutter.name)
