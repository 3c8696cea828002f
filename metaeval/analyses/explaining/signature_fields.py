"""Explanations of a signature field by field, in the words of the options, and the signatures of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from metaeval import registry
from metaeval import signature as signatures
from metaeval.config import EARLIER_INTERVALS, RunConfig
from metaeval.declared import flag_of, named_values, option_docs, option_of
from metaeval.errors import UserError, unknown
from metaeval.llm.messages import read_prompt
from metaeval.report.result import SCHEMAS, Row, load_result, read_versioned
from metaeval.report.table import Table
from metaeval.report.table_files import SCHEMAS as TABLES
from metaeval.report.table_files import load_table
from metaeval.runs.job_folder import installed
from metaeval.signature import COMPOSITE, FACTS, OF_RUN, interval_parts, metric_parts, read_choices

RUN, META = "run", "cite meta"
_COMMANDS: Mapping[tuple[str, ...], str] = {
    ("questions",): "generate",
    ("estimand",): "estimate",
    ("candidates",): "gate fit",
    ("gate",): "gate check",
    ("claim",): "multiverse",
    ("none", "unrated", "responses"): META,
    ("rewrite",): "cite rewrite",
    ("rounds",): "cite improve",
}
"""Commands by the fields that only signatures of their numbers have."""
_REFIT = "citeeval-refit"
"""The name of the pipeline of `cite refit` in signatures."""


def _pipelines() -> list[Any]:
    return [registry.find("pipeline", name) for name in registry.names("pipeline")]


@cache
def owners() -> tuple[type, ...]:
    """Return every class of options of the registered pipelines whose fields occur in signatures."""
    pipelines = _pipelines()
    taken = (owner for pipeline in reversed(pipelines) for owner in pipeline.owners.values())
    return tuple(dict.fromkeys([*taken, *(owner for pipeline in pipelines for owner in pipeline.signed)]))


@cache
def _prompts() -> Mapping[str, tuple[str, str]]:
    """Return what each prompt asks, and the hash of its shipped wording, by the prompt's name in signatures."""
    declared = {name: prompt for pipeline in _pipelines() for name, prompt in pipeline.prompts.items()}
    return {name: (asks, read_prompt(file, ()).fingerprint) for name, (asks, file) in declared.items()}


@dataclass(frozen=True)
class Meaning:
    """What a field of a signature means, and the option that changes the field's value (empty: none does)."""

    text: str
    setting: str = ""


def command_of(fields: Mapping[str, str]) -> str:
    """Return the command, such as `run` or `cite alce`, that computes a number with these signature fields."""
    pipeline = fields.get("pipeline", "")
    usual = f"cite {'refit' if pipeline == _REFIT else pipeline}" if pipeline else RUN
    return next((command for names, command in _COMMANDS.items() if fields.keys() >= {*names}), usual)


def meaning(name: str, value: str, fields: Mapping[str, str]) -> Meaning | None:
    """Return the meaning of a field of a signature; None for an unknown field. fields: all fields of the signature."""
    command = command_of(fields)
    if command == META and name in option_docs(registry.find("pipeline", "meta").owners["meta"]):
        return Meaning(option_words(name, value), name)  # cite meta has no flag for it
    if name == "protocol" and value in registry.names("protocol"):
        protocol = registry.find("protocol", value)
        measures = (f"{measure.label}: {measure.about}" for measure in protocol.measures if measure.about)
        return Meaning("; ".join([protocol.about or value, *measures]), "protocols")
    if name == "pipeline" and value in registry.names("pipeline"):
        return Meaning(_sentence(registry.find("pipeline", value).help.partition("\n")[0]), FACTS[name][1])
    if name == "measure":
        texts = (measure.meaning for each in _pipelines() for measure in each.measures if measure.key == value)
        if text := next(texts, ""):
            return Meaning(text)
    if protocol_meaning := _of_protocol(name, value, [fields.get("protocol", "")]):
        return protocol_meaning
    if name in COMPOSITE:
        return Meaning(COMPOSITE[name])
    if command != RUN and (flag := _of_command(name, command)):
        return flag
    if name in OF_RUN:
        paths = OF_RUN[name].split()
        words = [*map(_of_run, paths), *_earlier_interval(name, value)]
        return Meaning("; ".join(words), ", ".join(paths))
    if name in FACTS:
        return Meaning(*FACTS[name])
    if text := option_words(name, value):
        return Meaning(text, f"--{name}" if name in ("model", "strategy") else name)
    return _of_protocol(name, value, registry.names("protocol"))


def _earlier_interval(name: str, value: str) -> Iterator[str]:
    """Yield the description of the method if a field `interval` names one of earlier versions; nothing otherwise."""
    method, _ = interval_parts(value)
    if name == "interval" and method in EARLIER_INTERVALS:
        yield f"{method}: {EARLIER_INTERVALS[method]}, of earlier versions"


def choice_meaning(field: str, name: str, value: str, fields: Mapping[str, str]) -> Meaning:
    """Return the meaning of the choice `name` in a field that holds several choices; empty for an unknown choice."""
    if text := prompt_words(name, value):
        return Meaning(text, prompt_setting(name))
    text = option_words(name, value, chat=field != "asking" or "questions" in fields)
    setting = {"model": "--model", "base_url": "--base-url"}.get(name, name)
    if field == "rewrite" and setting == name:
        setting = f"rewrite.{name}"
    if field == "asking" and name == "max_tokens" and fields.get("baseline"):
        setting = "baseline_max_tokens"
    return Meaning(text, setting if text else "")


def _of_protocol(name: str, value: str, protocols: Sequence[str]) -> Meaning | None:
    """Return the meaning of the value of a protocol's option, from the first of these protocols that describes it.

    If none does, the meaning is the value itself, with the setting of the first protocol that has the option; None
    where no protocol has the option.
    """
    known = [owner for owner in protocols if owner in registry.names("protocol")]
    options = {owner: registry.find("protocol", owner).options.get(name) for owner in known}
    having = {owner: option.values.get(value, "") for owner, option in options.items() if option}
    owner = next((owner for owner, text in having.items() if text), next(iter(having), None))
    return Meaning(having[owner] or value, f"protocol_options.{owner}.{name}") if owner else None


def _of_command(name: str, command: str) -> Meaning | None:
    """Return the meaning of a pipeline's option, searched first in the pipeline of this command; None if unknown."""
    current = command.removeprefix("cite ")
    for pipeline in sorted(registry.names("pipeline"), key=lambda pipeline: pipeline != current):
        field = registry.find("pipeline", pipeline).options.model_fields.get(name)
        if field is not None and field.description and not flag_of(field).argument:
            rare = name in registry.find("analysis", f"cite.{pipeline}").options.untyped
            return Meaning(_sentence(field.description), name if rare else option_of(name, field))
    return None


def _of_run(path: str) -> str:
    part, _, option = path.partition(".")
    owner: Any = RunConfig.model_fields[part].annotation if option else RunConfig
    return _sentence(option_docs(owner)[option or part])


def option_words(name: str, value: str, chat: bool = False) -> str:
    """Return the description of an option, and its possible values but `value`, as text; empty for an unknown option.

    chat: whether the options of chat models (`ChatOptions`) are searched first.
    """
    known = owners()
    for owner in sorted(known, key=lambda kind: kind not in known[0].__mro__) if chat else known:
        if text := option_docs(owner).get(name):
            kind = _kinds(owner)[name]
            others = (
                [str(value != "True")] if kind is bool else [other for other in named_values(kind) if other != value]
            )
            return _sentence(text) + (f" (else {' or '.join(others)})" if others else "")
    return ""


_kinds = cache(get_type_hints)
"""Types of the options of a class; cached because resolving them is slow."""


def _sentence(text: str) -> str:
    begin = text[0].lower() if text[1].islower() else text[0]  # "ALCE" stays as it is
    return f"{begin}{' '.join(text[1:].split()).removesuffix('.')}"


def prompt_words(name: str, value: str) -> str:
    """Return what a prompt asks, and whether its wording is the shipped one, as text; empty for an unknown prompt.

    value: the prompt's value in the signature, its hash, with `own@` or `file@` before it if the user gave the
    prompt.
    """
    if name not in _prompts():
        return ""
    asks, shipped = _prompts()[name]
    wording = "a file's wording" if value.startswith("file@") else "another wording than metaeval has here"
    if value.removeprefix("own@") == shipped:
        wording = "in metaeval's own words"
    return f"the prompt that asks {asks}, {wording}"


def prompt_setting(name: str) -> str:
    """Return the option that replaces the prompt of this name by a file; empty where there is none."""
    if name == "prompt":
        return "rewrite.prompt_file"
    return f"{name}_file" if any(f"{name}_file" in option_docs(owner) for owner in owners()) else ""


_PACKAGES = ("metaeval", "numpy", "scipy")
_DISTINGUISHING = ("column", "metric", "backend", "aggregation", "model")


@dataclass(frozen=True)
class ExplainedField:
    """One field of a signature; `text` and `setting` are empty for an unknown field.

    parts: the choices of a field that holds several.
    """

    name: str
    value: str
    text: str
    setting: str
    parts: Sequence[ExplainedField] = ()


@dataclass(frozen=True)
class SignatureSource:
    """A signature, or a file with the signatures of its rows.

    kind: the content in words, such as "a result of classification"; sources of one kind can be compared. signatures:
    by the rows' names ("" for a signature alone). rows: of a result file, by metric. sheet: of any other file.
    """

    kind: str
    signatures: Mapping[str, str]
    rows: Mapping[str, Row] = field(default_factory=dict)
    sheet: Table | None = None


def read_signature(text: str) -> dict[str, str]:
    """Return the fields of a signature; raises `UserError` for text that is not a signature."""
    try:
        return signatures.parse(text)
    except ValueError as error:
        raise UserError(
            f"Not a signature: {error}. Give a signature, the file of a result or of a table (.json, "
            ".txt, .md, .tex), the hash of a job (see 'metaeval results list'), or latest."
        ) from error


def explain(fields: Mapping[str, str]) -> list[ExplainedField]:
    """Return every field of a signature in its order, with its meaning and the setting that changes it."""
    explained = []
    for name, value in fields.items():
        field_meaning = meaning(name, value, fields) or Meaning("")
        text = field_meaning.text
        if name in _PACKAGES and (here := installed(name)) != value:
            text += f"; here it is {here}, and the last digits of a number may move" if here else "; not installed here"
        choices = read_choices(value) if name in COMPOSITE and command_of(fields) != RUN else {}
        meanings = {choice: choice_meaning(name, choice, chosen, fields) for choice, chosen in choices.items()}
        parts = [ExplainedField(choice, choices[choice], part.text, part.setting) for choice, part in meanings.items()]
        explained.append(ExplainedField(name, value, text, field_meaning.setting, parts))
    return explained


def is_file(text: str) -> bool:
    """Return whether a text is a path, not a signature or a job: it ends in .json, or a file of this name exists."""
    return text.endswith(".json") or ("|" not in text and Path(text).is_file())


SCORE_FILES = (".jsonl", ".parquet", ".csv", ".tsv", ".xlsx")
"""Endings of files of scores or rows, which hold no signatures to explain."""


def read_source(text: str, row: str | None = None) -> SignatureSource:
    """Read a result file, a table or a signature. row: the only row of the file to read.

    Raises `UserError` for a file that is neither a result nor a table, and for an unknown row.
    """
    if not is_file(text):
        return SignatureSource("a signature", {"": text})
    if Path(text).suffix.lower() in SCORE_FILES:
        raise UserError(
            f"{text} holds scores or rows, not results: metaeval evaluate {text} gives the tables of a score file, and "
            "metaeval compare scores:FILE scores:FILE compares two of them."
        )
    rows: dict[str, Row] = {}
    if _schema(Path(text)) in TABLES:
        sheet = load_table(Path(text))
        kind, texts = f"the table {sheet.name}", dict(_named_signatures(sheet.signatures))
    else:
        sheet, result = None, load_result(Path(text))
        rows = {result_row.metric: result_row for result_row in result.rows}
        kind = f"a result of {result.protocol}"
        texts = {name: result_row.signature for name, result_row in rows.items()}
    if row is not None:
        if row not in texts:
            raise unknown(f"row of {text}:", row, texts)
        texts, rows = {row: texts[row]}, {name: result_row for name, result_row in rows.items() if name == row}
    return SignatureSource(kind, texts, rows, sheet)


def holds_signatures(path: Path) -> bool:
    """Return whether a file is a result or a table, as JSON."""
    return path.suffix == ".json" and _schema(path) in (*SCHEMAS, *TABLES)


def _schema(path: Path) -> object:
    try:
        return read_versioned(path)[1]
    except (UserError, RecursionError):
        return None  # reading the file as a result reports its fault


def _named_signatures(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, signature): the value of the first of `_DISTINGUISHING` that differs in all, or a number from 1."""
    read = [read_signature(text) for text in texts]
    key = next(
        (name for name in _DISTINGUISHING if len({fields.get(name, "") for fields in read} - {""}) == len(read)), ""
    )
    for number, (fields, text) in enumerate(zip(read, texts, strict=True), start=1):
        value = fields.get(key, "")
        name = metric_parts(value).get("known_as", "") if key in ("metric", "backend") else value
        yield name or str(number), text
