"""Files with a fault: one sentence, or they are read as what they say; commands end with code 2 and change nothing."""

from __future__ import annotations

import contextlib
import itertools
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metaeval.cli.app import main
from metaeval.core import parsing
from metaeval.core.errors import UserError
from tests.faults import SOUND_FILES, Case, Reader, of_bytes, of_chance, of_fields, readers

LONGEST = 400
"""Most characters of a sentence that refuses a file."""

# A command of each kind, by the file that it reads.
COMMANDS = {
    "corpus.jsonl": (
        "run -d jsonl -m overlap --data",
        "plan overlap rouge -d jsonl --data",
        "thresholds overlap -d jsonl --data",
    ),
    "ratings.jsonl": ("evaluate -p correlation", "run -d ratings -m overlap --data"),
    "answers.jsonl": ("cite alce --nli overlap", "label -o out.csv", "gate fit -m overlap -o gate.json -l labels.csv"),
    "scifi.jsonl": ("cite scifi --nli overlap",),
    "rated.jsonl": ("cite meta --nli overlap",),
    "run.yaml": ("run --config", "run --suite --config", "multiverse --config", "compare overlap rouge --config"),
    "result.json": ("results show",),
    "calibration.json": ("results show",),
    "parses.json": ("cite aliice answers.jsonl --nli overlap -s parser=words:",),
}


def outcome(reader: Reader, case: Case, path: Path) -> str:
    """Return what is wrong with how a case ended; "" where one sentence refuses it, or it is read as it says."""
    _ = case.place(path) if callable(case.place) else path.write_bytes(case.place)
    try:
        value = repr(reader.read(path))
    except UserError as error:
        said = str(error)
        return "" if len(said) <= LONGEST and said.isprintable() else f"{len(said)} characters: {said!r}"
    except Exception as error:  # noqa: BLE001 - what a fault makes of a reader is what is asked
        return f"{type(error).__name__}: {error}"
    if case.may_be is None:
        return ""
    for content in case.may_be:
        path.write_bytes(content)
        with contextlib.suppress(UserError):
            if repr(reader.read(path)) == value:
                return ""
    return f"silently wrong: {value}"


def broken(cases: Callable[[Reader], Iterator[Case]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong with how a case of a reader ended."""
    monkeypatch.setattr(parsing, "_FREE", 1 << 20)  # a bomb of a megabyte is one
    monkeypatch.chdir(folder)
    wrong, number = [], itertools.count()
    for reader in readers():
        for case in cases(reader):
            place = folder / str(next(number))
            place.mkdir()
            if said := outcome(reader, case, place / reader.file):
                wrong.append(f"{reader.file}, {case.label[:80]}: {said[:500]}")
    assert next(number) > 100
    return wrong


def test_sound_files_are_read(tmp_path):
    for reader in readers():
        (tmp_path / reader.file).write_bytes(reader.sound)
        assert reader.read(tmp_path / reader.file)
    assert {reader.file for reader in readers()} == {*SOUND_FILES}


@pytest.mark.parametrize("cases", [of_bytes, of_fields, lambda reader: of_chance(reader, 1, 20)])
def test_a_fault_is_one_sentence_or_none(tmp_path, monkeypatch, cases):
    assert broken(cases, tmp_path, monkeypatch) == []


@pytest.mark.parametrize(("file", "command"), [(file, one) for file in COMMANDS for one in COMMANDS[file]])
@pytest.mark.parametrize("fault", ["cut", "missing", "HTML", "folder"])
def test_a_command_refuses_a_broken_file_in_one_sentence_and_changes_nothing(
    tmp_path, monkeypatch, capsys, file, command, fault
):
    monkeypatch.chdir(tmp_path)
    reader = next(one for one in readers() if one.file == file)
    for name in SOUND_FILES.keys() - {file}:
        Path(name).write_text(SOUND_FILES[name], encoding="utf-8")
    (case,) = (one for one in of_bytes(reader) if one.label == fault)
    _ = case.place(Path(file)) if callable(case.place) else Path(file).write_bytes(case.place)
    outputs = [Path(name) for name in ("out.jsonl", "out.csv", "gate.json")]
    for path in outputs:
        path.write_text("mine", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    separator = "" if command.endswith(":") else " "
    monkeypatch.setattr("sys.argv", ["metaeval", *shlex.split(f"{command}{separator}{file}")])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, ""), err
    assert len(err.splitlines()) == 1
    assert err.startswith("metaeval: ")
    assert len(err) <= LONGEST
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert not Path("results").exists()
