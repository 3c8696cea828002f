"""What a command wrote, said at its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer


def say_written(written: Sequence[Path]) -> None:
    """One line a folder, with the files' names; a name in several formats is said once."""
    for folder in dict.fromkeys(path.parent for path in written):
        kinds: dict[str, list[str]] = {}
        for path in written:
            if path.parent == folder:
                kinds.setdefault(path.stem, []).append(path.suffix.removeprefix("."))
        names = [f"{stem}.{' .'.join(suffixes)}" for stem, suffixes in kinds.items()]
        typer.echo(f"Written: {folder}/ ({', '.join(names)})")
