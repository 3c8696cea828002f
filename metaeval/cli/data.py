"""Commands about data sets: list, show, fetch, verify, convert, validate, audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from metaeval.cli import options as opt
from metaeval.cli.output import say, say_text, say_written, show_card, show_grids, show_records
from metaeval.config import RunConfig
from metaeval.errors import UserError

app = opt.group("Data sets: show, fetch, verify, convert, validate, audit.", "metaeval data show wice")

Name = Annotated[str, Argument(help="Data set ('metaeval data list').", metavar="NAME")]


@app.command("list")
def list_() -> None:
    """List the data sets and their named variants.

    \b
    Example:
      metaeval data list
    """
    from metaeval.groups import data

    show_records(data.list())


@app.command("show")
def show(name: Name) -> None:
    """Show a data set's card: origin, licence, files, options.

    \b
    Example:
      metaeval data show wice
    """
    from metaeval.groups import data

    show_card(data.show(name))


@app.command("fetch")
@opt.takes("split")
def fetch(given: opt.Given, name: Name) -> None:
    """Download a data set's files into the cache, checked by SHA-256.

    \b
    Examples:
      metaeval data fetch wice
      metaeval data fetch gensearch --split test
    """
    from metaeval.groups import data

    paths = data.fetch(name, given.settings.get("split"))
    for path in paths:
        say(str(path))
    if not paths:
        say(f"{name} has nothing to fetch: it is shipped, or it is your own file.")


@app.command("verify")
@opt.takes("data")
def verify(given: opt.Given, name: Name) -> None:
    """Check local or cached files against their published SHA-256.

    \b
    Example:
      metaeval data verify wice --data ../shared/data
      metaeval data verify wice        (what is in the cache)
    """
    from metaeval.groups import data

    rows = data.verify(name, given.settings.get("data"))
    for row in rows:
        say(f"{row['status']:<9} {row['path']}")
    if not rows:
        say(f"{name} has no published files: it is shipped, or it is your own file.")
    wrong = [row for row in rows if row["status"] in ("missing", "differs")]
    if wrong:
        say(
            f"metaeval: {len(wrong)} of {len(rows)} files are missing or differ. To have them fetched into the cache: "
            f"metaeval data fetch {name}",
            err=True,
        )
        raise typer.Exit(2)


@app.command("convert")
@opt.takes("split data set")
def convert(
    given: opt.Given, name: Name, out: Annotated[Path, Argument(help="File to write (.jsonl).", metavar="FILE")]
) -> None:
    """Write a data set as a corpus file, to read, edit or judge.

    \b
    Examples:
      metaeval data convert mini mini.jsonl
      metaeval data convert wice wice.jsonl --split dev --data ../shared/data
      metaeval run --dataset jsonl --data mini.jsonl        (judge the file)
    """
    from metaeval.corpus.jsonl import write_corpus
    from metaeval.experiment.prepared_run import load_corpus

    corpus, _, _ = load_corpus(given.run(dataset=name))
    write_corpus(corpus, out)
    counts = " / ".join(f"{level} {count:,}" for level, count in corpus.level_counts().items())
    say(f"{out}: {len(corpus.statements):,} statements, {len(corpus.citations):,} citations ({counts})")
    for reason, count in corpus.dropped.items():
        say(f"left out: {count:,} {reason}")


@app.command("validate")
def validate(file: Annotated[Path, Argument(help="Corpus in metaeval's JSONL format.", metavar="FILE")]) -> None:
    """Check a corpus file and list every problem with its line.

    \b
    Example:
      metaeval data validate mine.jsonl
    """
    from metaeval.corpus.jsonl import validate as check
    from metaeval.experiment.prepared_run import unplaced_labels

    problems = check(file)
    for problem in problems:
        say(str(problem))
    if problems:
        say(f"metaeval: {file} cannot be used until this is fixed.", err=True)
        raise typer.Exit(2)
    lost, labels = unplaced_labels(RunConfig(dataset="jsonl", data=file))
    unit = " -u citation" if lost else ""
    say(f"{file}: no problem found. Judge it with: metaeval run -d jsonl --data {file}{unit}")
    if lost:
        say(
            f"{lost:,} of {labels:,} citations have no evidence in a document of several chunks: with --unit chunk "
            "their labels would be left out."
        )


@app.command("audit")
@opt.takes("config split data results set quiet")
def audit(
    given: opt.Given,
    name: Name,
    sizes: Annotated[
        str, Option(help="Chunk sizes at which whole evidence sets are counted.", metavar="WORDS")
    ] = "50,100,150,300",
    json: Annotated[bool, Option("--json", help="Print the audit as JSON, in place of the tables.")] = False,
) -> None:
    """Say what a data set's labels mean, and what gives them away.

    \b
    How many chunks of full citations hold a whole evidence set, what a perfect
    detector would score under each rule for evidence, which levels length,
    position or the statement alone give away, what stands twice, and how far
    annotators agree. Writes the tables, a page (audit.html) and a figure.

    \b
    Examples:
      metaeval data audit wice --data ../shared/data
      metaeval data audit jsonl --data mine.jsonl --sizes 100,200
      metaeval data audit mini --json > mini-audit.json
    """
    from metaeval.experiment.auditing import audit as run_audit
    from metaeval.experiment.auditing import write_audit
    from metaeval.experiment.job_folder import close_job
    from metaeval.report.audit import as_json, grids

    config = given.run(dataset=name)
    parts = [part.strip() for part in sizes.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--sizes is {sizes!r}; it takes numbers of words with commas, for example 50,100,150.")
    found = run_audit(config, list(map(int, parts)))
    written = write_audit(found, config.results)
    close_job(config, "audit", written[0].parent, [found.data], written)
    if json:
        say_text(as_json(found), end="")
    elif not given.quiet:
        show_grids(grids(found, brief=True))
    if not json:
        say_written(written)
