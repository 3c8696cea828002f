"""Commands about what runs keep, scores and replies of chat models: verify, compact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from metaeval.cli import options as opt
from metaeval.cli.output import say

if TYPE_CHECKING:
    from metaeval.database import Database, Verified

app = opt.group("Score store and reply store: verify, compact.", "metaeval store verify")

Replies = Annotated[
    Path | None, Option("--replies", help="Reply store (default: replies.sqlite in the cache folder).", metavar="FILE")
]


@app.command("verify")
@opt.takes("results store")
def verify(given: opt.Given, replies: Replies = None) -> None:
    """Check every stored score and reply against its checksum.

    \b
    The score store, and the store of chat models' replies where there is one. A
    damaged row is never served: the next run that needs it scores it, or asks for
    it, again. Exit code 1: something is damaged.

    \b
    Examples:
      metaeval store verify
      metaeval store verify --store shared/scores.sqlite
    """
    from metaeval.groups import stores

    verdicts = []
    for store in stores(replies, **given.settings):
        found = store.verify()
        verdicts.append(found.sound)
        for line in _said(store, found):
            say(line)
    if not all(verdicts):
        raise typer.Exit(1)


def _said(store: Database, found: Verified) -> Iterator[str]:
    rows = (
        f"{found.rows:,} {store.table}, {found.damaged:,} damaged" if found.rows or not found.faults else "unreadable"
    )
    yield f"{store.path}: {rows} (schema {found.schema}, journal {found.journal})"
    for fault in found.faults:
        yield f"  the file's structure: {fault}"
    if found.faults:
        yield "  'metaeval store compact' copies what can be read into a new file."
    elif found.damaged:
        yield "  They are never served, but made anew when they are needed; 'metaeval store compact' deletes them."


@app.command("compact")
@opt.takes("results store")
def compact(given: opt.Given, replies: Replies = None) -> None:
    """Delete damaged rows, and give unused space back to the disk.

    \b
    Where the file's structure is broken, what can be read is copied into a new
    file beside it (exit code 1).

    \b
    Example:
      metaeval store compact --store shared/scores.sqlite
    """
    from metaeval.groups import stores

    broken = False
    for store in stores(replies, **given.settings):
        done = store.compact()
        if done.saved:
            broken = True
            say(f"{store.path}: its structure is broken; what could be read is in {done.saved}: move it in place.")
            continue
        sizes = f"{done.before / 1e6:.1f} MB before, {done.after / 1e6:.1f} MB now"
        say(f"{store.path}: {done.removed:,} damaged {store.table} deleted; {sizes}")
    if broken:
        raise typer.Exit(1)
