"""No command writes over a file that it reads, however the file is named: it is refused before anything is computed."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from metaeval.cli.app import app
from tests.cli.samples import every_command, write_towns

# Nothing listens there: whoever asks before refusing fails in another way.
CHAT = "--model tiny --base-url http://127.0.0.1:9 "
JUDGE = "-m llm-discrete -s metric_options.llm-discrete.model=tiny -d jsonl --data corpus.jsonl"

LINES = {
    "pairs output": "pairs OUT -d jsonl --data corpus.jsonl",
    "data convert output": "data convert jsonl OUT --data corpus.jsonl",
    "run requests": f"run {JUDGE} --requests OUT",
    "score requests": f"score {JUDGE} --requests OUT",
    "score output": "score -m overlap -d jsonl --data scores/overlap.jsonl --output scores",
    "label output": "label answers.jsonl -o OUT",
    "gate fit output": "gate fit answers.jsonl -l labels.csv -m overlap -o OUT",
    "gate check junit": "gate check answers.jsonl gate.json --junit OUT",
    "gate check markdown": "gate check answers.jsonl gate.json --markdown OUT",
    "results cases output": "results cases results/latest/pairs.jsonl -o OUT",
    "view output": "view -o OUT results/latest/pairs.jsonl",
    "cite convert output": "cite convert answers.jsonl -o OUT",
    "cite generate output": f"cite generate answers.jsonl {CHAT} -o OUT",
    "cite generate record": f"cite generate answers.jsonl {CHAT} -o new.jsonl --record OUT",
    "cite tables-scifi record": "cite tables scifi answers.jsonl --model t -s base_url=http://127.0.0.1:9 --record OUT",
    "cite improve output": f"cite improve answers.jsonl {CHAT} -o OUT",
    **{
        f"cite {name.replace(' ', '-')} record": f"cite {name} answers.jsonl {CHAT} {more} --record OUT"
        for name, more in (
            ("citeeval", ""),
            ("improve", "-o new.jsonl"),
            ("meta", "--pipelines citeeval"),
            ("refit", ""),
            ("rewrite", ""),
            ("scifi", ""),
        )
    },
}
"""For each option of a command that names a file to write, a line that names a file which the command reads."""

OF_OTHER_ENDINGS = {"results export output"}
"""It writes no file with the ending of one that it reads."""
OUTPUTS = {"output", "record", "requests", "junit", "markdown"}
READ = {"config", "data", "batch", "replay", "file", "files", "answers", "other", "labels", "existing_labels", "gate"}
READ |= {"calibration", "coefficients", "human", "scores", "sources"}
OWN = {"results", "store"}
"""Folders of results, and stores, which their format protects: no file of another kind is opened as one."""


def named_files():
    """(command, parameter) for each parameter of a command that is a path."""
    for name, command in every_command().items():
        for parameter in command.params:
            if (parameter.metavar or "").strip("[].") in ("FILE", "FOLDER", "OTHER", "SCORES", "GATE", "PATH"):
                yield name, parameter.name


def test_every_path_of_a_command_is_known_to_be_read_or_written():
    every = set(named_files())

    assert {parameter for _, parameter in every} <= OUTPUTS | READ | OWN
    assert not OUTPUTS & (READ | OWN)
    written = {f"{name} {parameter}" for name, parameter in every if parameter in OUTPUTS}
    assert written == {*LINES, *OF_OTHER_ENDINGS}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files that commands read: a corpus, answers, labels, and a gate that was fitted to them."""
    from typer.testing import CliRunner

    folder = tmp_path_factory.mktemp("read")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_towns(folder, [("none", "none"), ("full", "full")] * 80)
        for line in (
            "data convert mini corpus.jsonl",
            "gate fit answers.jsonl -l labels.csv -m overlap -o gate.json -q",
            "run -m overlap -p classification -s controls=false -s interval.resamples=20 -q",
        ):
            ended = CliRunner().invoke(app, shlex.split(line))
            assert ended.exit_code == 0, (line, ended.output, ended.exception)
    return folder


@pytest.fixture
def files(cli, made, tmp_path):
    """These files, in the folder in which commands run."""
    shutil.copytree(made, tmp_path, symlinks=True, dirs_exist_ok=True)
    (tmp_path / "scores").mkdir()
    shutil.copy("corpus.jsonl", "scores/overlap.jsonl")
    return tmp_path


def bytes_of(folder):
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("scores.sqlite")
    }


@pytest.mark.parametrize(
    ("option", "name"),
    [
        *((option, "same") for option in LINES),
        *(("pairs output", name) for name in ("spelled otherwise", "symlink_to", "hardlink_to")),
        *((option, "hardlink_to") for option in ("run requests", "label output", "cite meta record")),
    ],
)
def test_what_is_read_is_not_overwritten(cli, files, option, name):
    words = shlex.split(LINES[option])
    read = next(word for word in words if word.endswith(".jsonl") and word != "new.jsonl")
    output = Path("scores", os.pardir, read) if name == "spelled otherwise" else Path(read)
    if name.endswith("_to"):
        output = Path("link.jsonl")
        getattr(output, name)(read)
    before = bytes_of(files)

    ended = cli(*(output if word == "OUT" else word for word in words))

    assert ended.code == 2, ended
    said = "exists already and may hold labels" if option == "label output" else "is read as input"
    assert ended.err.count("\n") == 1, ended.err
    assert said in ended.err
    assert bytes_of(files) == before


@pytest.mark.parametrize("there", [False, True])
def test_a_store_that_was_used_is_not_written_over(cli, ran, files, there):
    line = "gate fit answers.jsonl -l labels.csv -m overlap -s store=s.json -o {}"
    if there:
        ran(*shlex.split(line.format("other.json")))

    ended = cli(*shlex.split(line.format("s.json")))
    assert ended.code == 2
    assert "s.json is read as input and would be overwritten" in ended.err
    ran(*shlex.split(line.format("other.json")))  # the store is a store yet
