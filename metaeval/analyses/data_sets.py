"""Data sets: lists, cards and counts, files, conversion and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.core import registry
from metaeval.core.config import DataSettings, RunConfig
from metaeval.core.config_files import dataset_variant, variants
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.corpus.model import SupportLevel

if TYPE_CHECKING:
    from metaeval.corpus.dataset import Dataset
    from metaeval.corpus.model import Corpus


class DataSetOptions(DeclaredOptions):
    """Options of a command about a data set."""

    name: Annotated[str, Flag("NAME", argument=True)]
    """Data set, by name ('metaeval data list')."""


def _list(options: DeclaredOptions, progress: Progress) -> Done:
    from metaeval.report.table import Table

    rows = []
    for name in registry.names("dataset"):
        card = registry.find("dataset", name)
        rows.append({"name": name, "splits": ", ".join(card.files), "what": card.title})
    for name, path in variants("datasets").items():
        variant = dataset_variant(path)
        rows.append({"name": name, "splits": variant.split or "", "what": f"{variant.dataset}: {variant.note}"})
    return Done(value=Table(records=rows))


LIST = Analysis(
    name="data list",
    summary="List the data sets and their named variants.",
    returns="Table: A row for each data set.",
    examples=["data list"],
    options=DeclaredOptions,
    run=_list,
)


class DataCardOptions(DataSettings, DataSetOptions):
    """Options of a data set's card, and of what is counted in its data."""

    untyped = frozenset({"columns"})


def show_card(options: DataCardOptions, progress: Progress) -> Done:
    """Return the card of a data set or variant with counts of its data, (name, text) of each field, as the output."""
    from metaeval.report.notebook import Card
    from metaeval.runs.data import find_dataset

    name, config = options.name, options.run(dataset=options.name)
    card, split, defaults = find_dataset(name, config)
    lines = [
        ("name", name if name == card.name else f"{name} (variant of {card.name})"),
        ("title", card.title),
        ("origin", f"{card.origin} @ {card.commit}" if card.commit else card.origin),
        ("licence", card.licence),
        ("citation", card.citation),
        ("schema", card.schema),
        ("splits", ", ".join(card.files) + f" (default: {split or card.default_split})"),
        ("folder", f"{card.folder}/ in a local mirror" if card.folder else ""),
        ("scores", f"{', '.join(card.scores)} (published: -m published -u citation)" if card.scores else ""),
    ]
    for key, option in card.options.items():
        values = f" ({' | '.join(map(str, option.allowed))})" if option.allowed else ""
        lines.append((f"option {key}", f"{option.help}{values}, default {defaults.get(key, option.default)}"))
    lines.append(("note", card.note))
    lines += [] if card.questions else _count_lines(card, options.split or split or card.default_split, config)
    for file in dict.fromkeys(file for files in card.files.values() for file in files):
        splits = ", ".join(name for name, files in card.files.items() if file in files)
        size = f"{count(file.size, 'byte')}, " if file.size else ""
        lines.append(("file", f"{file.name} ({splits}): {size}SHA-256 {file.sha256 or 'not pinned'}"))
        lines.append(("from", file.url))
    return Done(value=Card(lines))


def _count_lines(card: Dataset, split: str, config: RunConfig) -> Sequence[tuple[str, str]]:
    """Return what is counted in a split's data, or how to have them: nothing is fetched here."""
    from metaeval.corpus.loading import verify

    here = replace(card, files={split: card.files_of(split)})
    if config.data is None and any(row.status in ("missing", "differs") for row in verify(here, None)):
        return [("counts", f"metaeval data fetch {config.dataset}, or --data FOLDER, to have the data counted")]
    try:
        return _counts(config)
    except UserError as error:
        if config.data is not None:
            raise
        return [("counts", str(error))]


def _counts(config: RunConfig) -> Sequence[tuple[str, str]]:
    from metaeval.corpus.duplicates import duplicates
    from metaeval.corpus.pair_table import GIVEN, INCOMPLETE, WHOLE
    from metaeval.report.table import share
    from metaeval.runs.data import kind_of_data, load_corpus, load_ratings, prepare

    if kind_of_data(config) == "ratings":
        ratings, _, split = load_ratings(config)
        groups, systems = ({getattr(row, name) for row in ratings.rows} for name in ("group", "system"))
        text = f"{split}: {count(len(ratings.rows), 'rating')}, {count(len(groups), 'group')}"
        return [("counts", f"{text}, {count(len(systems), 'system')}" if systems != {""} else text)]
    corpus, _, split = load_corpus(config)
    levels = ", ".join(f"{level} {number:,}" for level, number in corpus.level_counts().items())
    groups = {statement.group for statement in corpus.statements.values()}
    pages = {citation.document_id for citation in corpus.citations}
    words = median([len(corpus.documents[page].text.split()) for page in pages] or [0])
    counted = (
        f"{split}: {count(len(corpus.citations), 'citation')} ({levels}) of "
        f"{count(len(corpus.statements), 'statement')} in {count(len(groups), 'group')}; "
        f"{count(len(pages), 'page')} of {words:,.0f} words at the median"
    )
    lines = [("counts", counted), *_several_needed(corpus)]
    if pages and not any(corpus.documents[page].text.strip() for page in pages):
        return [*lines, ("texts", "none of the cited pages has one, so metrics cannot judge them")]
    job = prepare(config, corpus)
    twins, evidence = duplicates(corpus, job.pairs), job.table.evidence
    marked = evidence[WHOLE] + evidence[INCOMPLETE]
    return [
        *lines,
        (
            "whole evidence",
            f"{evidence[WHOLE]:,} of the {count(marked, 'chunk')} with evidence of a full citation hold a whole set of "
            f"it ({share(evidence[WHOLE], marked)}; {job.table.chunking})"
            if evidence[GIVEN]
            else "none is marked: chunks of longer pages have no known level, so use --unit citation or --unit page",
        ),
        (
            "duplicates",
            f"{count(twins.statements, 'statement')} and {count(twins.chunks, 'chunk')} in several groups; "
            f"{count(twins.judged_twice, 'statement')} judged twice against one page"
            + (f", {twins.conflicting:,} of them at two levels" if twins.conflicting else ""),
        ),
    ]


def _several_needed(corpus: Corpus) -> Sequence[tuple[str, str]]:
    """Return how many statements only several citations support fully, where whole statements were judged.

    Where all citations have their statement's level, none was judged by itself: so many cite several at all.
    """
    from metaeval.report.table import share

    cited: dict[str, list[SupportLevel]] = {}
    for citation in corpus.citations:
        if corpus.statements[citation.statement_id].level is not None:
            cited.setdefault(citation.statement_id, []).append(citation.level)
    if not cited:
        return []
    full = SupportLevel.FULL
    several = [levels for name, levels in cited.items() if len(levels) > 1 and corpus.statements[name].level is full]
    needed = [levels for levels in several if full not in levels]
    alone = any(level is not corpus.statements[name].level for name, levels in cited.items() for level in levels)
    number = len(needed if alone else several)
    text = "by none alone" if alone else "nobody judged them one by one, so fewer may need them"
    of = f"{number:,} of {count(len(cited), 'statement')} ({share(number, len(cited))})"
    return [("several needed", f"{of}: several citations together support them fully, {text}")]


class DataFetchOptions(DataSetOptions):
    """Options of `data fetch`."""

    split: Annotated[str | None, Flag("NAME")] = None
    """Split to fetch (default: every file)."""


def _fetch(options: DataFetchOptions, progress: Progress) -> Done:
    from metaeval.corpus.loading import locate, recorded
    from metaeval.runs.data import find_dataset

    card, _, _ = find_dataset(options.name, RunConfig(dataset=options.name))
    splits = card.files if options.split is None else [options.split]
    paths = [*{file: path for split in splits for file, path in locate(card, split, None).items()}.values()]
    hashes = [(path.name, recorded(path)) for path in paths]
    verdict = [f"{name}: SHA-256 {known}, recorded at the first download" for name, known in hashes if known]
    none = f"{options.name} has nothing to fetch: it is shipped, or it is your own file."
    return Done(value=paths, verdict=verdict if paths else [none])


FETCH = Analysis(
    name="data fetch",
    summary="Download a data set's files into the cache, with SHA-256.",
    returns="list of Path: The files.",
    examples=["data fetch wice", "data fetch gensearch --split test"],
    options=DataFetchOptions,
    run=_fetch,
)


class DataVerifyOptions(DataSetOptions):
    """Options of `data verify`."""

    data: Annotated[Path | None, Flag("PATH")] = None
    """Folder that holds the published files (default: the cache)."""


def _verify(options: DataVerifyOptions, progress: Progress) -> Done:
    from metaeval.corpus.loading import verify
    from metaeval.report.table import Table
    from metaeval.runs.data import find_dataset

    name = options.name
    card, _, _ = find_dataset(name, RunConfig(dataset=name))
    rows = [{"status": row.status, "path": str(row.path)} for row in verify(card, options.data)]
    wrong = [row for row in rows if row["status"] in ("missing", "differs")]
    warning = (
        f"{len(wrong)} of {len(rows)} files are missing or differ. To have them fetched into the cache: "
        f"metaeval data fetch {name}"
    )
    return Done(
        value=Table(records=rows),
        verdict=[] if rows else [f"{name} has no published files: it is shipped, or it is your own file."],
        warnings=[warning] if wrong else [],
        exit_code=2 if wrong else 0,
    )


VERIFY = Analysis(
    name="data verify",
    summary="Check local or cached files against their published SHA-256.",
    about="""A file is ok, missing, different, or unpinned (without a published hash). The exit code is 2 where a file
is missing or differs.""",
    returns="Table: Status and path of each file.",
    examples=["data verify wice --data FOLDER", "data verify wice        (what is in the cache)"],
    options=DataVerifyOptions,
    run=_verify,
)


class DataConvertOptions(DataSettings, DataSetOptions):
    """Options of `data convert`."""

    untyped = frozenset({"columns"})

    output: Annotated[Path, Flag("FILE", argument=True, output=True)]
    """Corpus file to write (.jsonl)."""


def _convert(options: DataConvertOptions, progress: Progress) -> Done:
    from metaeval.corpus.corpus_file import write_corpus
    from metaeval.runs.data import load_corpus

    corpus, _, _ = load_corpus(options.run(dataset=options.name))
    counts = " / ".join(f"{level} {count:,}" for level, count in corpus.level_counts().items())
    size = f"{count(len(corpus.statements), 'statement')}, {count(len(corpus.citations), 'citation')} ({counts})"
    dropped = [f"left out: {count:,} {reason}" for reason, count in corpus.dropped.items()]
    return Done(
        outputs={options.output: partial(write_corpus, corpus)},
        shown=[f"{options.output}: {size}", *dropped],
        value=corpus,
    )


CONVERT = Analysis(
    name="data convert",
    summary="Write a data set as a corpus file, to read, edit or judge.",
    returns="Corpus: What was written.",
    examples=[
        "data convert mini mini.jsonl",
        "data convert wice wice.jsonl --split dev",
        "run --dataset jsonl --data mini.jsonl        (judge the file)",
    ],
    options=DataConvertOptions,
    run=_convert,
)


class DataValidateOptions(DeclaredOptions):
    """Options of `data validate`."""

    file: Annotated[Path, Flag("FILE", argument=True)]
    """Corpus in metaeval's JSONL format."""


def _validate(options: DataValidateOptions, progress: Progress) -> Done:
    from metaeval.corpus.corpus_file import validate
    from metaeval.runs.data import prepare

    file = options.file
    if problems := validate(file):
        return Done(value=problems, warnings=[f"{file} cannot be used until these problems are fixed."], exit_code=2)
    pairs = [pair for pair in prepare(RunConfig(dataset="jsonl", data=file)).pairs if pair.cited]
    labels = {pair.citation_id for pair in pairs}
    lost = labels - {pair.citation_id for pair in pairs if pair.held is not None}  # of no chunk: no evidence is marked
    unit = " -u citation" if lost else ""
    lines = [f"{file}: no problem found. Judge it with: metaeval run -d jsonl --data {file}{unit}"]
    if lost:
        lines.append(f"{len(lost):,} of {len(labels):,} citations have no evidence: --unit chunk would leave them out.")
    return Done(shown=lines, value=problems)


VALIDATE = Analysis(
    name="data validate",
    summary="Check a corpus file and list every problem with its line.",
    about="The exit code is 2 where the file cannot be used.",
    returns="list of Problem: What is wrong; empty where the file can be used.",
    examples=["data validate mine.jsonl"],
    options=DataValidateOptions,
    run=_validate,
)
