"""YAML files of settings: where those of a name are looked for, and how an experiment is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metaeval.errors import UserError, unknown
from metaeval.files import read_bytes
from metaeval.reading import read_yaml
from metaeval.trust import check_file


def config_folders(kind: str) -> list[Path]:
    """Folders in which YAML files of a kind (metrics, datasets, experiments) are looked for: the user's first."""
    package = Path(__file__).parent
    shipped = package / "configs" if (package / "configs").is_dir() else package.parent / "configs"
    return [folder / kind for folder in dict.fromkeys((Path.cwd() / "configs", shipped)) if (folder / kind).is_dir()]


def variants(kind: str) -> dict[str, Path]:
    """The YAML files of a kind (metrics, datasets, experiments, citation, published), by name."""
    found: dict[str, Path] = {}
    for folder in config_folders(kind):
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def config_file(kind: str, name: str) -> Path | None:
    """The YAML file of a kind that has this name, None where there is none.

    Raises `UserError` where a file of the user's has the name of a shipped one that says something else.
    """
    return _one_file(
        name, [path for folder in config_folders(kind) for path in folder.glob("*.yaml") if path.stem == name]
    )


def _one_file(name: str, files: Sequence[Path]) -> Path | None:
    if len({read_bytes(path) for path in files}) > 1:
        raise UserError(
            f"{name!r} is {files[0]} and {files[1]}: rename the first, or give the path of the one that you mean."
        )
    return files[0] if files else None


def read_experiment(path: Path, typed: Mapping[str, Any], kind: str = "experiments") -> dict[str, Any]:
    """The settings in a file, or in the shipped one of that name; checked to run no code unless that is typed.

    typed: settings that count in place of the file's own. Raises `UserError` for a name that is not known, or that a
    shipped file and another have.
    """
    named = None if path.parent.parts else config_file(kind, path.name)
    file = _one_file(str(path), [one for one in (path.absolute(), named) if one and one.is_file()])
    if file is None:
        what = "experiment" if kind == "experiments" else f"{kind} experiment"
        raise unknown(what, str(path), variants(kind), "Or give the path of a YAML file that exists.")
    values = read_yaml(file)
    if not typed.get("trust_config"):
        check_file(path, {key: value for key, value in values.items() if key not in typed})
    return values
