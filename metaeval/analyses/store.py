"""The stores of scores and of chat models' replies: what is damaged in them, and what space they take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, DeclaredOptions, Done
from metaeval.config import ResultsSettings
from metaeval.declared import Flag
from metaeval.errors import UserError

if TYPE_CHECKING:
    from metaeval.database import Compacted, Database, Verified
    from metaeval.runs.metrics import MetricProgress


class StoreOptions(ResultsSettings, DeclaredOptions):
    """Options of a command about the stores."""

    reply_store: Annotated[Path | None, Flag("FILE", earlier="replies")] = None
    """Reply store (default: replies.sqlite in the cache folder)."""
    store: Annotated[Path | None, Flag("FILE")] = None
    """Score store (default: RESULTS/scores.sqlite)."""


def _stores(options: StoreOptions) -> Iterator[Database]:
    """The stores that are there, each open until the next one is asked for; `UserError` for one that is not."""
    from metaeval.llm.replies import ReplyStore, replies_path
    from metaeval.scoring.store import ScoreStore

    kinds: dict[Path, type[Database]] = {}
    scores = options.run().store_path
    if scores.exists() or options.store is not None or options.reply_store is None:
        kinds[scores] = ScoreStore
    if options.reply_store is not None or replies_path(None).exists():
        kinds[replies_path(options.reply_store)] = ReplyStore
    for path, kind in kinds.items():
        if not path.is_file():
            raise UserError(
                f"There is no {kind.kind.lower()} {path}: name the file with --store or --reply-store "
                "(in Python: store= or reply_store=)."
            )
    for path, kind in kinds.items():
        with kind(path) as opened:
            yield opened


def _verify(options: StoreOptions, progress: MetricProgress | None) -> Done:
    found: dict[Path, Verified] = {}
    lines: list[str] = []
    for store in _stores(options):
        found[store.path] = verified = store.verify()
        lines += _verified_lines(store, verified)
    return Done(shown=lines, value=found, exit_code=0 if all(one.sound for one in found.values()) else 1)


def _verified_lines(store: Database, found: Verified) -> Iterator[str]:
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


VERIFY = Analysis(
    name="store verify",
    summary="Check every stored score and reply against its checksum.",
    about="""The score store, and the store of chat models' replies where there is one. A damaged row is never served:
the next run that needs it scores it, or asks for it, again. The exit code is 1 where something is damaged.""",
    examples=["store verify", "store verify --store shared/scores.sqlite"],
    options=StoreOptions,
    run=_verify,
)


def _compact(options: StoreOptions, progress: MetricProgress | None) -> Done:
    found: dict[Path, Compacted] = {}
    lines: list[str] = []
    for store in _stores(options):
        found[store.path] = done = store.compact()
        lines.append(_compacted_line(store, done))
    return Done(shown=lines, value=found, exit_code=1 if any(done.saved for done in found.values()) else 0)


def _compacted_line(store: Database, done: Compacted) -> str:
    if done.saved:
        return f"{store.path}: its structure is broken; what could be read is in {done.saved}: move it in place."
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
