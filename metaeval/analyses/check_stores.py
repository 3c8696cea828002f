"""The stores of scores and of chat models' replies: checks for damage, and compaction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done, Progress
from metaeval.config import ResultsSettings
from metaeval.declared import Flag
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.sqlite_store import Compacted, Database, Verified


class StoreOptions(ResultsSettings, DeclaredOptions):
    """Options of a command about the stores."""

    reply_store: Annotated[Path | None, Flag("FILE", hidden=True)] = None
    """Reply store (default: replies.sqlite in the cache folder)."""
    store: Annotated[Path | None, Flag("FILE")] = None
    """Score store (default: RESULTS/scores.sqlite)."""


def _stores(options: StoreOptions) -> Iterator[Database]:
    """Yield the score store, and the reply store if it is named or exists, each open until the next is taken.

    Raises `UserError` for a missing store; without --store the score store may be missing if --reply-store is given.
    """
    from metaeval.llm.reply_store import ReplyStore, replies_path
    from metaeval.scoring.score_store import ScoreStore

    kinds: dict[Path, type[Database]] = {}
    scores = options.run().store_path
    if scores.exists() or options.store is not None or options.reply_store is None:
        kinds[scores] = ScoreStore
    if options.reply_store is not None or replies_path(None).exists():
        kinds[replies_path(options.reply_store)] = ReplyStore
    for path, kind in kinds.items():
        if not path.is_file():
            raise UserError(
                f"There is no {kind.kind.lower()} at {path}: give its path with --store or --reply-store (in "
                "Python: store= or reply_store=)."
            )
    for path, kind in kinds.items():
        with kind(path) as opened:
            yield opened


def _verify(options: StoreOptions, progress: Progress) -> Done:
    checks: dict[Path, Verified] = {}
    lines: list[str] = []
    for store in _stores(options):
        checks[store.path] = verified = store.verify()
        lines += _verified_lines(store, verified)
    return Done(
        shown=lines,
        value=checks,
        exit_code=0 if all(check.sound for check in checks.values()) else 1,
    )


def _verified_lines(store: Database, verified: Verified) -> Iterator[str]:
    is_readable = verified.rows or not verified.faults
    rows = f"{verified.rows:,} {store.table}, {verified.damaged:,} damaged" if is_readable else "unreadable"
    yield f"{store.path}: {rows} (schema {verified.schema}, journal {verified.journal})"
    for fault in verified.faults:
        yield f"  fault in the structure of this file: {fault}"
    if verified.faults:
        yield "  'metaeval store compact' copies what can be read into a new file."
    elif verified.damaged:
        yield "  Damaged rows are never served, but recomputed when needed; 'metaeval store compact' deletes them."


VERIFY = Analysis(
    name="store verify",
    summary="Check every stored score and reply against its checksum.",
    about="""It checks the score store, and the store of chat models' replies if it exists. A damaged row is never
served: the next run that needs it scores it, or asks for it, again. The exit code is 1 where something is damaged.""",
    examples=["store verify", "store verify --store shared/scores.sqlite"],
    options=StoreOptions,
    run=_verify,
)


def _compact(options: StoreOptions, progress: Progress) -> Done:
    compactions: dict[Path, Compacted] = {}
    lines: list[str] = []
    for store in _stores(options):
        compactions[store.path] = done = store.compact()
        lines.append(_compacted_line(store, done))
    return Done(
        shown=lines,
        value=compactions,
        exit_code=1 if any(done.saved for done in compactions.values()) else 0,
    )


def _compacted_line(store: Database, done: Compacted) -> str:
    if done.saved:
        return f"{store.path} is broken; what could be read was copied to {done.saved}: replace the store by this copy."
    sizes = f"{done.before / 1e6:.1f} MB before, {done.after / 1e6:.1f} MB now"
    return f"{store.path}: {done.removed:,} damaged {store.table} deleted; {sizes}"


COMPACT = Analysis(
    name="store compact",
    summary="Delete damaged rows, and give unused space back to the disk.",
    about="""Where the file's structure is broken, what can be read is copied into a new file beside it, and the exit
code is 1.""",
    examples=["store compact --store shared/scores.sqlite"],
    options=StoreOptions,
    run=_compact,
)
