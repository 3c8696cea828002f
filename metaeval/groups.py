"""The groups of commands as Python has them: `metaeval.data.audit("wice")` is `metaeval data audit wice`.

What a command prints, its function returns; see `metaeval GROUP COMMAND --help` for what it tells. Settings and errors
are those of `metaeval.analyses`. `metaeval metrics serve` speaks over standard input, and has no function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from metaeval import registry
from metaeval.config import RunConfig, dataset_variant, load_run, metric_variant
from metaeval.config_files import variants
from metaeval.declared import option_docs, typed
from metaeval.errors import Problem, UserError
from metaeval.files import canonical_json
from metaeval.report.notebook import Card, Records, Text

if TYPE_CHECKING:
    from metaeval.corpus.model import Corpus
    from metaeval.database import Compacted, Database
    from metaeval.database import Verified as CheckedStore
    from metaeval.experiment.doctor import Diagnosis
    from metaeval.experiment.sharding import Checked
    from metaeval.report.audit import Audit
    from metaeval.report.result import Result
    from metaeval.scoring.canaries import Verified
    from metaeval.scoring.shards import Merged, PlanState

Place = str | Path


class data:  # noqa: N801 - the name that is typed
    """Data sets."""

    @staticmethod
    @typed
    def list() -> Records:
        """The data sets and their named variants: name, splits, what."""
        found = Records()
        for name in registry.names("dataset"):
            card = registry.find("dataset", name)
            found.append({"name": name, "splits": ", ".join(card.files), "what": card.title})
        for name, path in variants("datasets").items():
            variant = dataset_variant(path)
            found.append({"name": name, "splits": variant.split or "", "what": f"{variant.dataset}: {variant.note}"})
        return found

    @staticmethod
    @typed
    def show(name: str) -> Card:
        """A data set's card: origin, licence, files, options."""
        from metaeval.experiment.prepared_run import find_dataset

        card, split, options = find_dataset(name, RunConfig(dataset=name))
        lines = [
            ("name", name if name == card.name else f"{name} (variant of {card.name})"),
            ("title", card.title),
            ("origin", f"{card.origin} @ {card.commit}" if card.commit else card.origin),
            ("licence", card.licence),
            ("citation", card.citation),
            ("schema", card.schema),
            ("splits", ", ".join(card.files) + f" (default: {split or card.default_split})"),
            ("folder", f"{card.folder}/ in a local mirror" if card.folder else ""),
        ]
        for key, option in card.options.items():
            values = f" ({' | '.join(map(str, option.allowed))})" if option.allowed else ""
            lines.append((f"option {key}", f"{option.help}{values}, default {options.get(key, option.default)}"))
        lines.append(("note", card.note))
        for file in dict.fromkeys(file for files in card.files.values() for file in files):
            splits = ", ".join(name for name, files in card.files.items() if file in files)
            size = f"{file.size:,} bytes, " if file.size else ""
            lines.append(("file", f"{file.name} ({splits}): {size}SHA-256 {file.sha256 or 'not pinned'}"))
            lines.append(("from", file.url))
        return Card(lines)

    @staticmethod
    @typed
    def fetch(name: str, split: str | None = None) -> Sequence[Path]:
        """Download a data set's files into the cache, checked by SHA-256; their paths."""
        from metaeval.corpus.loading import locate
        from metaeval.experiment.prepared_run import find_dataset

        card, _, _ = find_dataset(name, RunConfig(dataset=name))
        parts = card.files if split is None else [split]
        return [*{file: path for part in parts for file, path in locate(card, part, None).items()}.values()]

    @staticmethod
    @typed
    def verify(name: str, data: Place | None = None) -> Records:
        """The status of each published file, in a folder or in the cache: ok, missing, differs, unpinned; its path."""
        from metaeval.corpus.loading import verify
        from metaeval.experiment.prepared_run import find_dataset

        card, _, _ = find_dataset(name, RunConfig(dataset=name))
        rows = verify(card, None if data is None else Path(data))
        return Records({"status": row.status, "path": str(row.path)} for row in rows)

    @staticmethod
    @typed
    def convert(name: str, out: Place, **settings: Any) -> Corpus:
        """Write a data set as a corpus file, and return it."""
        from metaeval.corpus.jsonl import write_corpus
        from metaeval.experiment.prepared_run import load_corpus

        corpus, _, _ = load_corpus(load_run(None, {"dataset": name, **settings}))
        write_corpus(corpus, Path(out))
        return corpus

    @staticmethod
    @typed
    def validate(file: Place) -> Sequence[Problem]:
        """What is wrong with a corpus file, each problem with its line."""
        from metaeval.corpus.jsonl import validate

        return validate(Path(file))

    @staticmethod
    @typed
    def audit(name: str, sizes: Sequence[int] = (), **settings: Any) -> Audit:
        """What a data set's labels mean, and what gives them away. sizes: of chunks, in words."""
        from metaeval.experiment.auditing import SIZES, audit

        return audit(load_run(None, {"dataset": name, **settings}), sizes or SIZES)


class metrics:  # noqa: N801
    """Metrics."""

    @staticmethod
    @typed
    def list() -> Records:
        """The metrics and their named variants: name, what each still needs here, what."""
        from metaeval.experiment.doctor import registered, variant_states

        rows = [(one.name, str(one), one.card.summary if one.card else one.detail) for one in registered()]
        rows += [(name, str(state), what) for name, what, state in variant_states()]
        return Records({"name": name, "state": state, "what": what} for name, state, what in rows)

    @staticmethod
    @typed
    def show(name: str, /, **options: Any) -> Card:
        """A metric's card, options and identity; downloads nothing."""
        from metaeval.experiment.doctor import readiness
        from metaeval.experiment.metrics import load_metric
        from metaeval.experiment.prepared_run import variant_path

        config, path = RunConfig(metric_options={name: options}), variant_path("metric", name)
        try:
            metric = load_metric(name, config)
        except UserError as error:
            if options or name not in registry.names("metric"):
                raise
            # Metrics that are nothing without an argument (worker:COMMAND) still have a card.
            return Card([*card_lines(asdict(registry.find("metric", name).card)), ("needs", str(error))])
        state = readiness(name, metric)
        lines = [("variant", f"{name}: {metric_variant(path).note}")] if path else []
        lines += [("state", str(state)), *card_lines(asdict(metric.card))]
        words = option_docs(metric.Options)
        for option, value in metric.describe_options().items():
            about = f"  ({words[option]})" if option in words else ""
            lines.append(("option", f"{option} = {in_words(value)}".rstrip() + about))
        # It holds the hash of the model's files, which are not fetched for it.
        known = state.state in ("ready", "needs key")
        identity = canonical_json(metric.identity()) if known else "known once the model's files are here"
        return Card([*lines, ("identity", identity)])

    @staticmethod
    @typed
    def verify(name: str, /, **options: Any) -> Verified:
        """A metric's scores of thirteen pairs here, in batches and one by one; `.agrees` says the verdict."""
        from metaeval.experiment.verify import verify

        return verify(name, RunConfig(metric_options={name: options}))

    @staticmethod
    @typed
    def doctor() -> Diagnosis:
        """What this machine has, and what each metric needs."""
        from metaeval.experiment.doctor import examine

        return examine()


class results:  # noqa: N801
    """Jobs that are done."""

    @staticmethod
    @typed
    def list(results: Place = "results") -> Records:
        """The jobs of a results folder, the newest first: job, command, metrics, files, finished."""
        from metaeval.experiment.job_folder import Kept, done_jobs

        rows = Records()
        for job in done_jobs(Path(results)):
            changed = sum(kept is not Kept.SAME for kept in job.files.values())
            files = f"{len(job.files)}, {f'{changed} changed' if changed else 'as written'}"
            made = {"job": job.name, "command": job.command, "metrics": ", ".join(job.metrics)}
            rows.append({**made, "files": files, "finished": job.finished[:16]})
        return rows

    @staticmethod
    @typed
    def show(job: str | int = "latest", results: Place = "results") -> Text:
        """The tables of a job, as they were printed."""
        from metaeval.experiment.job_folder import find_job
        from metaeval.reading import read_text

        found = find_job(Path(results), str(job))
        lines = [f"{found.name}: metaeval {found.command}, {found.finished}"]
        for path in map(found.folder.joinpath, found.files):
            if path.suffix == ".txt" and path.is_file():
                lines += ["", *(line.rstrip() for line in read_text(path).splitlines())]
        return Text("\n".join([*lines, f"Files: {found.folder}/"]))

    @staticmethod
    @typed
    def rm(*jobs: str | int, results: Place = "results") -> Mapping[Path, int]:
        """Delete the files of jobs; the folders, and how many files were deleted. Scores stay in the store."""
        from metaeval.experiment.job_folder import find_job, remove_job

        found = [find_job(Path(results), str(name)) for name in dict.fromkeys(jobs)]
        return {job.folder: remove_job(Path(results), job) for job in {one.name: one for one in found}.values()}


class shards:  # noqa: N801
    """Jobs in shards (`metaeval score --shard`)."""

    @staticmethod
    @typed
    def status(folder: Place) -> Sequence[PlanState]:
        """How far the shards of each metric's plan are; `.complete` says whether that is all.

        `.missing` are the blocks that no part has, and `.unbegun` the windows of its tables that no task has begun.
        """
        from metaeval.scoring.shards import shard_states

        return shard_states(Path(folder))

    @staticmethod
    @typed
    def merge(folder: Place, **settings: Any) -> Sequence[Merged]:
        """Put the scores of shards into the score store (`store`, or that of `results`); what it has stays."""
        from metaeval.scoring.shards import merge_shards
        from metaeval.scoring.store import ScoreStore

        with ScoreStore(load_run(None, settings).store_path) as opened:
            return [*merge_shards(Path(folder), opened)]

    @staticmethod
    @typed
    def verify(folder: Place, blocks: int = 3, seed: int = 0, **settings: Any) -> Sequence[Checked]:
        """Score random blocks again here, and compare; `.agrees` says the verdict of each metric."""
        from metaeval.experiment.sharding import verify_shards

        return [*verify_shards(Path(folder), settings, (), blocks, seed, None)]


class store:  # noqa: N801
    """Score store and reply store."""

    @staticmethod
    @typed
    def verify(replies: Place | None = None, **settings: Any) -> Mapping[Path, CheckedStore]:
        """What a check of every stored score and reply against its checksum found, by file.

        settings: `store`, or the `results` folder that holds it. replies: by default those in the cache.
        """
        return {one.path: one.verify() for one in stores(replies, **settings)}

    @staticmethod
    @typed
    def compact(replies: Place | None = None, **settings: Any) -> Mapping[Path, Compacted]:
        """Delete damaged rows, and give unused space back to the disk; what was done, by file."""
        return {one.path: one.compact() for one in stores(replies, **settings)}


@typed
def table(
    of: Place | Result,
    format: Literal["terminal", "markdown", "latex", "csv"] = "terminal",
    controls: bool = False,
    results: Place = "results",
) -> Text:
    """The table of a result, of a result file, or of each result of a job.

    controls: LaTeX with the controls too.
    """
    from metaeval.experiment.explaining.job_files import results_of
    from metaeval.report.result import Result
    from metaeval.report.sheet import table_text

    found = [of] if isinstance(of, Result) else results_of(str(of), Path(results))
    return Text("\n".join(table_text(one, format, controls) for one in found))


@typed
def slurm(
    *metrics: str,
    tasks: int = 8,
    out: Place = "shards",
    cpus: int = 4,
    gpus: int = 0,
    time: str = "04:00:00",
    ray: bool = False,
    **settings: Any,
) -> Text:
    """A Slurm batch file that scores a job in shards: tasks of an array, or with ray nodes."""
    from metaeval.experiment.sharding import batch_file

    given = {**({"metrics": metrics} if metrics else {}), **settings}
    # --set reads YAML, and JSON is YAML.
    typed = [f"{name}={dumps(value, ensure_ascii=False, default=str)}" for name, value in given.items()]
    words = [word for one in typed for word in ("--set", one)]
    return Text(batch_file(load_run(None, given), words, tasks, Path(out), cpus, gpus, time, ray))


def stores(replies: Place | None, **settings: Any) -> Iterator[Database]:
    """The stores that are there, each open until the next one is asked for; `UserError` for one that is not."""
    from metaeval.llm.replies import ReplyStore, replies_path
    from metaeval.scoring.store import ScoreStore

    named = None if replies is None else Path(replies)
    kinds: dict[Path, type[Database]] = {}
    scores = load_run(None, settings).store_path
    if scores.exists() or "store" in settings or named is None:
        kinds[scores] = ScoreStore
    if named is not None or replies_path(None).exists():
        kinds[replies_path(named)] = ReplyStore
    for path, kind in kinds.items():
        if not path.is_file():
            raise UserError(
                f"There is no {kind.kind.lower()} {path}: name the file with --store or --replies "
                "(in Python: store= or replies=)."
            )
    for path, kind in kinds.items():
        with kind(path) as opened:
            yield opened


def card_lines(card: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    """The fields of a card with their values, in words."""
    return [(key.replace("_", " "), in_words(value)) for key, value in card.items()]


def in_words(value: object) -> str:
    """A field in words; an empty text for what the metric does not have."""
    if isinstance(value, tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={in_words(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
