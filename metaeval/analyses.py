"""The analyses of the command line as functions of the same names; see `metaeval COMMAND --help` for what they tell.

The two commands of `metaeval gate` are `fit_gate` and `check_gate`; the other groups of commands are `metaeval.groups`.

Settings have the names of `RunConfig`. Scores come from the score store and go there; nothing else is written, but by
`view`. Every function raises `metaeval.errors.UserError` (one sentence) for anything wrong in settings, data or scores.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from metaeval.config import RunConfig, load_run, validated
from metaeval.declared import typed
from metaeval.errors import UserError
from metaeval.experiment.evaluation import readings_of
from metaeval.experiment.metric_scores import Panel, as_metrics, load_panel, protocols_of
from metaeval.experiment.metrics import able_defaults
from metaeval.experiment.run import run_scores
from metaeval.report.notebook import Changes, Records, Results, Sheets, notebook_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from metaeval.experiment.check_claim import Tried
    from metaeval.experiment.labelling.estimate import Estimates
    from metaeval.experiment.labelling.gate import Checked
    from metaeval.experiment.labelling.gate_fit import Fitted
    from metaeval.labelling.gates import Gate
    from metaeval.report.multiverse import Multiverse

_log = logging.getLogger("metaeval")


@typed
def evaluate(*files: str | Path, data: Any = None, **settings: Any) -> Results:
    """Evaluate score files, or without one the scores that were published with a rated set (dataset="frank").

    data: a folder or a file; of ratings of your own also a data frame, whose columns of numbers are the scores.
    """
    from metaeval.api import load_ratings, told
    from metaeval.experiment.prepared_run import find_dataset

    named = [str(file) for file in files]
    if not (data is None or isinstance(data, str | Path)):
        asked = {"dataset": "ratings", **settings}
        return told(run_scores(_config(named, {"metrics": (), **asked}), None, load_ratings(data=data, **asked)))
    config = _config(named, {"metrics": (), "data": data, **settings})
    if not files and find_dataset(config.dataset, config)[0].kind == "corpus":
        raise UserError(f"No score file is given, and {config.dataset} has no published scores.")
    return told(run_scores(config))


@typed
def annotators(*metrics: str, **settings: Any) -> Sheets:
    """Values of a rated set's metrics (or score files) against each annotator, and what their votes leave open."""
    from metaeval.experiment.annotators import annotator_sheets

    return Sheets(annotator_sheets(_panel(_config(metrics, {"metrics": (), **settings}), bool(metrics), 1)))


@typed
def compare(
    *metrics: str,
    by: str | None = None,
    bias: bool = False,
    agreement: bool = False,
    complementarity: bool = False,
    margin: float = 0.02,
    **settings: Any,
) -> Sheets:
    """Compare every pair of metrics under every protocol, their agreement, and what they gain together.

    by: subgroups, "system", "length", "position" or a field of ratings. bias, agreement, complementarity: that analysis
    alone. margin: raw difference within which two metrics count as equally good.
    """
    from metaeval.experiment.comparing.contrasts import check_comparison, compare_pairs
    from metaeval.experiment.comparing.further import further_sheets
    from metaeval.experiment.comparing.subgroups import check_division

    config = able_defaults(_config(metrics, settings))
    if by == "dataset":
        raise UserError("compare of Python takes one data set: 'metaeval compare --by dataset' takes several.")
    if by:
        check_division(by, config)
    plain = not (by or bias or agreement or complementarity)
    if plain:
        check_comparison(config, margin)
    panel = _panel(config, bool(metrics))
    pairs = [compare_pairs(panel, asked, margin).sheet for asked in protocols_of(panel)] if plain else []
    others, lacking = further_sheets([panel], by, bias, agreement, complementarity)
    for sentence in lacking:
        _log.warning("%s", sentence)
    return Sheets([*pairs, *others])


@typed
def power(
    one: str,
    other: str,
    *,
    difference: float | Sequence[float] = (),
    protocol: str = "",
    measure: str = "",
    **settings: Any,
) -> Sheets:
    """How many rows it takes to tell two metrics apart. difference: in the table's units, by default the one found."""
    from metaeval.experiment.comparing.planning import plan_sheet, planned

    config = _config([one, other], settings)
    differences = [difference] if isinstance(difference, int | float) else list(difference)
    asked = planned(config, measure, differences, protocol)
    return Sheets([plan_sheet(_panel(config, True), asked, measure, differences)])


@typed
def certify(*metrics: str, protocol: str = "", measure: str = "", runs: int = 300, **settings: Any) -> Sheets:
    """How often intervals hold the true value and tests reject on data built like these; runs: samples of each."""
    from metaeval.experiment.certifying import certificate_sheet, check_certificate
    from metaeval.experiment.comparing.planning import protocol_of

    config = _config(metrics, settings)
    check_certificate(config, runs)
    asked = protocol_of(config, measure, protocol)
    return Sheets([certificate_sheet(_panel(config, bool(metrics), 1), asked, measure, runs)])


@typed
def decide(*metrics: str, to: Mapping[str, Any] | str | None = None, **settings: Any) -> Sheets:
    """Evaluate scores as decisions between the levels; to: another data set (or settings of it) for the thresholds."""
    from metaeval.experiment.deciding import decided, decision_sheets, prepare_decisions
    from metaeval.experiment.other_levels import carried_over

    config = _config(metrics, {**settings, "protocols": ("decision",)})
    panel = _panel(config, bool(metrics), 1)
    frame, asked = prepare_decisions(panel)
    sheets = decision_sheets(panel, frame, asked[1], [decided(frame, column, asked[1]) for column in panel.columns])
    if to is not None:
        there = {"split": None, "dataset_options": {}, **({"dataset": to} if isinstance(to, str) else to)}
        other = validated(RunConfig, {**config.model_dump(), **there}, "the settings of 'to'")
        sheets.append(carried_over(panel, _panel(other, bool(metrics), 1)))
    return Sheets(sheets)


@typed
def calibrate(
    *metrics: str, target: str = "full", objective: str = "macro-f1", folds: int = 5, **settings: Any
) -> Sheets:
    """Learn the score from which on each metric says "supported", and how well that decides; unit: citation."""
    from metaeval.experiment.calibrate import calibrate as learn
    from metaeval.experiment.calibrate import calibration_sheet

    with notebook_progress() as progress:
        panel, found = learn(_config(metrics, {"unit": "citation", **settings}), target, objective, folds, progress)
    return Sheets([calibration_sheet(panel, found, target, objective, folds)])


@typed
def label(
    answers: Any,
    n: int = 60,
    design: str = "random",
    unit: str = "item",
    metric: str = "overlap",
    seed: int = 0,
    *,
    pipeline: Literal["", "alce", "aliice"] = "",
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> Records:
    """Draw citations for people to label: mappings with the text, a blank level, and the probability of being drawn.

    answers: a file, a corpus, a data frame or mappings. pipeline: in place of citations, what it asks of claims.
    columns: the heading of each role, where it does not say it.
    """
    from metaeval.experiment.labelling.label import draw
    from metaeval.labelling.items import items_of

    with notebook_progress() as progress:
        config = _config((), settings)
        items = items_of(answers, columns, pipeline)
        return Records(draw(items, n, design, unit, metric, seed, None, config, progress).records)


@typed
def estimate(
    answers: Any,
    labels: Any = None,
    metric: str = "overlap",
    other: Any = None,
    *,
    estimand: Literal["set", "process"] = "set",
    pipeline: Literal["", "alce", "aliice"] = "",
    columns: Mapping[str, str] | None = None,
    assume_sample: bool = False,
    **settings: Any,
) -> Estimates:
    """Estimate citation quality from a metric's scores of all citations and people's labels of some.

    answers, pipeline, columns: as in `label`; other: those of a second system, for differences. labels: a file, a data
    frame, or a mapping of ids to levels. estimand: these answers, or the process that makes such answers.
    """
    from metaeval.experiment.labelling.estimate import estimate as make

    with notebook_progress() as progress:
        config = _config((), settings)
        return make(answers, labels, metric, other, estimand, columns, assume_sample, config, progress, pipeline)


@typed
def fit_gate(
    answers: Any,
    labels: Any = None,
    metrics: Sequence[str] = ("overlap", "support-mini", "minilm-bertscore"),
    *,
    max_missed: float = 0.1,
    max_flagged: float = 0.5,
    max_unsupported: float = 0.2,
    alpha: float = 0.05,
    target: Literal["partial", "full"] = "partial",
    promise: Literal["confidence", "mean"] = "confidence",
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> Fitted:
    """Fit a gate: the first of the metrics, the cheapest first, and its threshold, that keep a promise.

    The promise: at most `max_missed` of unsupported citations are not flagged, with confidence 1 - alpha ("mean": of
    one metric, on average). answers, labels, columns: as in `estimate`. The gate is None where no metric keeps it.
    """
    from metaeval.experiment.labelling.gate_fit import fit
    from metaeval.labelling.gates import Terms

    limits = {"max_missed": max_missed, "max_flagged": max_flagged, "max_unsupported": max_unsupported}
    terms = Terms(**limits, alpha=alpha, target=target, promise=promise)
    with notebook_progress() as progress:
        return fit(answers, labels, metrics, terms, columns, _config((), settings), progress)


@typed
def check_gate(
    answers: Any,
    gate: Gate | str | Path,
    *,
    max_unsupported: float | None = None,
    columns: Mapping[str, str] | None = None,
    **settings: Any,
) -> Checked:
    """Check a release against a gate (`.gate` of what `fit_gate` found) or its file, with another max_unsupported."""
    from metaeval.experiment.labelling.gate import check
    from metaeval.labelling.gates import Gate

    of = Path(gate) if isinstance(gate, str) else gate
    if not isinstance(of, Gate | Path):
        raise UserError(
            f"{type(gate).__name__!r} is no gate: give the .gate of what fit_gate found (None where no metric keeps "
            "the promise), or the file that 'metaeval gate fit -o' wrote."
        )
    with notebook_progress() as progress:
        return check(answers, of, max_unsupported, columns, _config((), settings), progress)


@typed
def check_claim(scores: Any, claim: str, **settings: Any) -> Tried:
    """Try a published number, "0.71 AUC on WiCE", under every choice that it leaves open. scores: a file, or by id."""
    from metaeval.experiment.check_claim import check_claim as check

    return check(scores, claim, _config((), settings))


@typed
def tables(*datasets: str, **settings: Any) -> Results:
    """Run each data set, without the metrics that cannot run here; what is left out is warned of."""
    from metaeval.experiment.suites.suite import read_suite, run_suite

    suite = read_suite(None, settings, (), datasets)
    found = []
    with notebook_progress() as progress:
        for part in run_suite(suite, progress):
            found += part.results
            for one in part.left_out:
                what = " on ".join(filter(None, (one.metric or one.protocol, one.dataset)))
                _log.warning("Left out: %s: %s", what, one.reason)
    if not found:
        raise UserError("Nothing could be run; the warnings say why.")
    return Results(found, readings_of(suite.protocols.values()))


@typed
def figures(results: Results) -> dict[str, Figure]:
    """The figures of results (of `run`, `evaluate` or `tables`), by the names of their files: forest plots, bars."""
    from metaeval.experiment.suites.figures import figures_of

    return figures_of(results)


@typed
def multiverse(*axes: str, **settings: Any) -> Multiverse:
    """Rank the metrics under every combination of open choices; axes: such as "chunk.size=100,150"."""
    from metaeval.experiment.suites.multiverse import explore, read_axes

    return explore(able_defaults(load_run(None, settings)), read_axes(axes), None)


@typed
def explain(of: str | int | Path, metric: str | None = None, results: str | Path = "results") -> Records:
    """Each field of a signature, or of the rows of a result file or job, with its value, meaning and setting.

    of: a signature, a result file, or a job in the folder `results`, by its hash or "latest". metric: of this row only.
    """
    from metaeval.experiment.explaining.explain import explain as explained
    from metaeval.experiment.explaining.explain import read_signature
    from metaeval.experiment.explaining.job_files import row_signatures, sources_of, titled

    paths = sources_of(str(of), Path(results))
    return Records(
        {
            "row": titled(paths, path, name),
            **{"field": one.name, "value": one.value, "what it says": one.text, "set by": one.setting},
        }
        for (path, name), text in row_signatures(str(of), paths, metric).items()
        for one in explained(read_signature(text))
    )


@typed
def diff(
    one: str | int | Path, other: str | int | Path, metric: str | None = None, results: str | Path = "results"
) -> Changes:
    """What two signatures, two result files or two jobs (by hash) differ in, by row; an empty list says: nothing."""
    from metaeval.experiment.explaining.job_files import differences

    found, alone = differences(str(one), str(other), metric, Path(results))
    for job, names in zip((one, other), alone, strict=True):
        for name in names:
            _log.warning("%s: only in %s", name, job)
    return Changes(
        (f"{row} ({name})" if name else row, changes) for name, rows in found.items() for row, changes in rows.items()
    )


@typed
def view(
    *jobs: str,
    output: str | Path = "view.html",
    results: str | Path = "results",
    data: str | Path | None = None,
    max_pairs: int = 5000,
    explain: str | Sequence[str] = (),
    trust_config: bool = False,
) -> Path:
    """Write a page to look at the pairs of jobs on (by default the latest); its path.

    max_pairs: pairs of a job on the page, above which statements are drawn. explain: metrics that read a model and are
    to explain their scores too. trust_config: the jobs' manifests may name code and addresses.
    """
    from metaeval.experiment.viewing import View, write_view

    if max_pairs < 1:
        raise UserError(f"max_pairs is {max_pairs}: a page has at least 1 pair.")
    asked = tuple([explain] if isinstance(explain, str) else explain)
    with notebook_progress() as progress:
        wanted = View(None if data is None else Path(data), max_pairs, asked, trust_config, progress)
        write_view(jobs or ("latest",), Path(results), Path(output), wanted)
    return Path(output)


def _config(metrics: Sequence[str], settings: Mapping[str, Any]) -> RunConfig:
    named = {"metrics": tuple(as_metrics(list(metrics)))} if metrics else {}
    return load_run(None, {**settings, **named})


def _panel(config: RunConfig, asked: bool, least: int = 2) -> Panel:
    with notebook_progress() as progress:
        return load_panel(config, asked, least, progress)
