"""YAML files of settings: where a named file is searched, how an experiment is read, and which settings need trust.

A file runs no code, reads no key, sends none away and writes nothing outside the folder, unless somebody trusts it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from pydantic import Field

from metaeval.core import registry
from metaeval.core.declared import OptionText, Strict, as_list, validated
from metaeval.core.errors import UserError, shown, unknown
from metaeval.core.files import read_bytes
from metaeval.core.parsing import MalformedError, parse_yaml, read_yaml

_log = logging.getLogger("metaeval")


class UntrustedError(UserError):
    """Raised when a file contains a setting that is allowed only in a trusted file."""


TRUST = "trust_config=true"
"""The override with which a user trusts a file."""

OPTIONS = frozenset({"command", "trust_remote_code", "api_key_env", "base_url"})
"""Options that start a program, run a model's code, name a key, or say where it is sent, whichever metric has them.

A plug-in whose options do such things gives them these names.
"""

WRITTEN = frozenset({"results", "store", "reply_store", "output", "record", "requests", "junit", "markdown"})
"""Settings that say where something is written."""

_NAMES: Mapping[str, registry.Kind] = {
    "metric": "metric",
    "metrics": "metric",
    "nli": "metric",
    "dataset": "dataset",
    "protocols": "protocol",
}
"""Settings that hold registered names, with the kind of what they name."""


def check_file(where: object, settings: Mapping[str, Any]) -> None:
    """Raise `UntrustedError` for settings of an untrusted file (`where`) that would run code or give a key away."""
    if "trust_config" in settings:
        raise UntrustedError(f"{where} sets trust_config, which no file can: read the file, then type --set {TRUST}.")
    for setting in _untrusted(settings):
        raise UntrustedError(
            f"{where} sets {setting}. A file may name code, programs, keys and addresses only where it is trusted: "
            f"read the file, then add --set {TRUST}, or type this setting yourself."
        )


def _untrusted(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield each setting that only a trusted file may set, as NAME: VALUE; as NAME alone where a key may stand."""

    def named(name: str, value: Any) -> str:
        return name if name.endswith(("api_key_env", "base_url")) else f"{name}: {shown(value)}"

    yield from (named(name, settings[name]) for name in sorted(OPTIONS & settings.keys()) if settings[name])
    for field, kind in _NAMES.items():
        listed = settings.get(field)
        # A text is cut at its commas, as it is where it is read.
        listed = as_list(listed)
        names = listed if isinstance(listed, list | tuple) else ()
        texts = (name for name in names if isinstance(name, str) and not name.startswith("scores:"))
        yield from (f"{field}: {shown(name)}" for name in texts if registry.is_code(kind, name))
    of_metrics = settings.get("metric_options")
    for owner, options in of_metrics.items() if isinstance(of_metrics, Mapping) else ():
        for name, value in options.items() if isinstance(options, Mapping) else ():
            members = str(value).split("+") if name == "members" else ()
            if name in OPTIONS or any(registry.is_code("metric", member) for member in members):
                yield named(f"metric_options.{owner}.{name}", value)


def shown_settings(where: object, settings: Mapping[str, Any], trust: bool) -> dict[str, Any]:
    """Return the settings of a completed job for display, without metrics that only a trusted file may name.

    The scores of such metrics are in the job's files: they need not be loaded. where: the file, for messages. Raises
    `UntrustedError` for other settings that need trust: a data set is read again, and a protocol decides how its
    results are read.
    """
    if trust:
        return dict(settings)
    options = settings.get("metric_options")
    options = options if isinstance(options, Mapping) else {}
    names = settings.get("metrics")
    owners = {name: {name, name.partition(":")[0]} for name in names or () if isinstance(name, str)}
    settings_by_name = {
        name: {"metrics": [name], "metric_options": {owner: options[owner] for owner in of if owner in options}}
        for name, of in owners.items()
    }
    kept = [name for name, metric_settings in settings_by_name.items() if not any(_untrusted(metric_settings))]
    used = {owner for name in kept for owner in owners[name]}
    options = {owner: options[owner] for owner in options if owner in used}
    shown = {**settings, "metrics": kept, "metric_options": options}
    check_file(where, shown)
    return shown


def config_folders(kind: str) -> list[Path]:
    """Return the folders configs/KIND (metrics, datasets, experiments) that exist: the user's, then the shipped one."""
    package = Path(__file__).parents[1]
    shipped = package / "configs" if (package / "configs").is_dir() else package.parent / "configs"
    return [folder / kind for folder in dict.fromkeys((Path.cwd() / "configs", shipped)) if (folder / kind).is_dir()]


def variants(kind: str) -> dict[str, Path]:
    """Return the YAML files of a kind (metrics, datasets, experiments, citation, published), by name; a user's wins."""
    files: dict[str, Path] = {}
    for folder in config_folders(kind):
        for path in sorted(folder.glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


def config_file(kind: str, name: str) -> Path | None:
    """Return the YAML file of a kind with this name; None if there is none.

    Raises `UserError` if the user has a file with the name of a shipped one and other content.
    """
    files = [path for folder in config_folders(kind) for path in folder.glob("*.yaml") if path.stem == name]
    return _one_file(name, files)


def _one_file(name: str, files: Sequence[Path]) -> Path | None:
    """Return the first file, None without files; raises `UserError` if their contents differ. name: for the message."""
    if len({read_bytes(path) for path in files}) > 1:
        raise UserError(f"{name!r} could be {files[0]} or {files[1]}: rename the first, or give a path.")
    return files[0] if files else None


def read_experiment(path: Path, typed: Mapping[str, Any], kind: str = "experiments") -> dict[str, Any]:
    """Return the settings in a file, or in the shipped file of that name.

    Unless `typed` holds trust_config, raises `UntrustedError` for settings that run code, give a key away or write
    outside the current folder; `typed` settings, which override the file's, are not checked. Raises `UserError` for an
    unknown name, and for a name that a shipped file and another file with other content have.
    """
    named = None if path.parent.parts else config_file(kind, path.name)
    places = [place for place in (path.absolute(), named) if place and place.is_file()]
    file = _one_file(str(path), places)
    if file is None:
        what = "experiment" if kind == "experiments" else f"{kind} experiment"
        raise unknown(what, str(path), variants(kind), "Or give the path of a YAML file that exists.")
    values = read_yaml(file)
    if not typed.get("trust_config"):
        _check_untyped(path, {key: value for key, value in values.items() if key not in typed})
    return values


def _check_untyped(path: Path | None, settings: Mapping[str, Any]) -> None:
    """Raise `UntrustedError` as `check_file`, and for a place outside this folder that an untrusted file writes to."""
    check_file(path, settings)
    for name in sorted(WRITTEN & settings.keys()):
        place = settings[name]
        if isinstance(place, str) and not Path(place).resolve().is_relative_to(Path.cwd().resolve()):
            raise UntrustedError(
                f"{path} sets {name}: {shown(place)}, which is outside this folder. A file may choose that only "
                f"where it is trusted: read the file, then add --set {TRUST}, or type this setting yourself."
            )


def read_entries(listed: Any) -> list[dict[str, Any]]:
    """Return the data sets of a suite, each as settings of a run; raises `UserError` for anything but a list of some.

    listed: names, or mappings with `dataset` and settings of their own (split, unit, options ...).
    """
    if not isinstance(listed, list | tuple) or not listed:
        raise UserError("'datasets' should be a list of names, or of mappings with 'dataset' in each")
    entries = [{"dataset": item} if isinstance(item, str) else item for item in listed]
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("dataset"), str):
            raise UserError(f"a data set of 'datasets' is {entry!r}; it should be a name, or a mapping with 'dataset'")
    return [{"dataset_options" if key == "options" else str(key): entry[key] for key in entry} for entry in entries]


def merged_settings(
    path: Path | None, settings: Mapping[str, Any], overrides: Sequence[str], left_out: Set[str]
) -> dict[str, Any]:
    """Return the settings of a YAML file, overridden by `settings` that are not None, then by `key=value` overrides.

    path: the file, or the name of a shipped experiment. left_out: settings of the file that the command has not.
    Raises `UserError` for a file that lists data sets unless "suite" is set.
    """
    changes = list(map(_key_and_value, overrides))
    typed = {key: value for key, value in settings.items() if value is not None}
    typed |= {key: value for key, value in changes if key == "trust_config"}  # it says how the file is read
    values = read_experiment(path, typed) if path else {}
    if "datasets" in values:
        if not typed.get("suite"):
            raise UserError(f"{path} holds several data sets: run each with 'metaeval run --suite -c {path}'.")
        values["datasets"] = _entries_of_file(path, values, typed, changes)
    merged = {key: value for key, value in values.items() if key not in left_out} | typed
    if isinstance(named := typed.get("executor"), str):  # by its name alone
        executor = values.get("executor", {})
        # Another executor's devices or address are not for this one.
        known = isinstance(executor, Mapping) and executor.get("name", "local") == named
        merged["executor"] = {**(executor if known else {}), "name": named}
    for key, value in changes:
        _change(merged, key, value)
    return merged


def _entries_of_file(
    path: Path | None, values: Mapping[str, Any], typed: Mapping[str, Any], changes: Sequence[tuple[str, Any]]
) -> list[dict[str, Any]]:
    """Return the data sets that a file lists, each with those of its own settings that typed ones do not override."""
    if "dataset" in values:
        raise UserError(f"{path} sets both 'dataset' and 'datasets': keep one of the two.")
    try:
        listed = read_entries(values["datasets"])
    except UserError as error:
        raise UserError(f"{path}: {error}.") from error
    entries = [{key: entry[key] for key in entry if key == "dataset" or key not in typed} for entry in listed]
    for entry in entries:
        if not typed.get("trust_config"):
            _check_untyped(path, entry)
        for key, value in changes:
            if key.partition(".")[0] in entry:
                _change(entry, key, value)
    return entries


_RANGE = re.compile(r"\d*:\d*")  # of YAML this can be a mapping


def _key_and_value(override: str) -> tuple[str, Any]:
    """Return the dotted key of `key=value` and its value, which is YAML; raises `UserError` for other text."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise UserError("--set takes key=value, for example --set interval.seed=3; one has no key, or no =.")
    try:
        return key.strip(), text.strip() if _RANGE.fullmatch(text.strip()) else parse_yaml(text)
    except MalformedError as error:  # a value may be a secret: no message repeats it
        raise UserError(f"--set {key.strip()}: not YAML ({error}); put text in quotes, 'like this'.") from None


def _change(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a value by its dotted key; nested settings are copied on the way. `UserError` for a key in a single value."""
    *parents, last = key.split(".")
    for parent in parents:
        inner = values.get(parent, {})
        if not isinstance(inner, dict):
            raise UserError(f"--set {key}: {parent!r} is a single value and has no {last!r} in it.")
        values[parent] = dict(inner)
        values = values[parent]
    values[last] = value


def override_key(override: str) -> str:
    """Return the dotted key of an override (key=value)."""
    return override.partition("=")[0].strip()


Form = Callable[[str], str]
"""Returns how the setting of a name was given: as --half-width, or as its name in Python."""


def refuse_repeated(settings: Mapping[str, Any], overrides: Sequence[str], spell: Form) -> None:
    """Raise `UserError` for a setting that is given both by an option and by an override (--set).

    Of two overrides the later one counts, so that a script can be given further ones, and a warning says so.

    settings: those that were given as options, by name. spell: returns how a name is typed as an option.
    """
    seen: dict[str, str] = {}
    for override in overrides:
        key = override_key(override)
        if seen.get(key, override) != override:
            _log.warning("--set %s is given twice: the later one counts.", key)
        if settings.get(key) is not None:
            raise UserError(f"{key!r} is given twice, as {spell(key)} and as --set {key}: give it once.")
        seen[key] = override


class MetricVariant(Strict):
    """A metric variant, from a YAML file in configs/metrics: a registered metric with other options and a new name."""

    metric: str
    options: dict[str, Any] = Field(default_factory=dict)
    note: str = ""


class DatasetVariant(Strict):
    """A data-set variant, from a YAML file in configs/datasets: a registered data set with other split or options."""

    dataset: str
    split: str | None = None
    options: dict[str, OptionText] = Field(default_factory=dict)
    note: str = ""


def metric_variant(path: Path) -> MetricVariant:
    """Read a metric variant from a YAML file; raises `UserError` for wrong content."""
    return validated(MetricVariant, read_yaml(path), str(path))


def dataset_variant(path: Path) -> DatasetVariant:
    """Read a data-set variant from a YAML file; raises `UserError` for wrong content."""
    return validated(DatasetVariant, read_yaml(path), str(path))
