"""Data never run code: commands that read do not import, start or call what files, names and folders ask them to."""

import json
import os
import pickle
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaeval.decisions.gate_model import Gate, write_gate
from tests.cli.samples import every_command

AUDITED = Path(__file__).parents[1] / "audited.py"
CODE = (
    "import pathlib; pathlib.Path(__file__).with_name('pwned').touch()\nEvil = DATA = P = PIPE = Overlap = object()\n"
)
TOUCH = "worker:touch pwned"
NAMES = ("evil:Evil", TOUCH, "overlap:Evil", f"ensemble:overlap+{TOUCH}", "variant", "nli:evil", "scores:evil")
VARIANTS = {
    "metrics/variant": "metric: evil:Evil",
    "metrics/combined": f"metric: 'ensemble:overlap+ {TOUCH}'",
    "metrics/members": "metric: ensemble\noptions: {members: overlap+overlap:Evil}",
    "metrics/shadowed": "metric: overlap:Evil",
    "metrics/judge": "metric: llm-discrete\noptions: {api_key_env: SECRET, base_url: 'http://127.0.0.1:9/v1'}",
    "metrics/far": "metric: nli\noptions: {model: evil/model}",
    "metrics/split": "metric: summac-zs\noptions: {model: evil/model, splitter: nltk}",
    "datasets/own-data": "dataset: evil:DATA",
    "experiments/own-run": f"metrics: ['{TOUCH}']",
    "citation/own-paper": "nli: evil:Evil",
    "published/own-values": "source: s\ndataset: mini\nunit: chunk\ntables: {}",
}
SHADOWS = tuple("evil overlap nli worker ruamel rich typer torch numpy metrics_zoo sitecustomize".split())
FIELDS = "data:evil:DATA/all@6ebe8e46acd5|unit:chunk|metric:{}@v1|protocol:evil:P|pipeline:evil:PIPE|backend:{}@v1"

SHOWN = ("overlap", "variant", "combined", "judge", "far", "split", "nli:evil/model", "llm-discrete")

READING = {
    "metrics list": ["metrics list"],
    "metrics show": [f"metrics show {name}" for name in SHOWN],
    "data list": ["data list"],
    "data show": ["data show mini", "data show own-data"],
    "data verify": ["data verify mini", "data verify own-data"],
    "data validate": ["data validate hostile.json"],
    "results list": ["results list"],
    "results show": [f"results show {of}" for of in ("latest", "evil", "hostile.json", "hostile.json --format latex")],
}
"""Commands that only read, each with what it is given to read. A new command stands here, or in `RUNNING`."""

RUNNING = {
    *("run", "pairs", "score", "evaluate", "compare", "plan", "thresholds", "view"),
    *("results figures", "multiverse", "metrics verify", "data fetch", "data convert"),
    *("results export", "results rm", "results rerun"),
    *("label", "estimate", "gate fit", "gate check", "results cases"),
}
"""Commands that do what is typed; what their files ask for is below."""

CONTENT = [
    "evaluate hostile.parquet",
    "results show hostile.parquet",
    "data convert jsonl out.jsonl --data hostile.parquet",
]
"""Commands that are given a file of another kind, with a pickle or a function in it."""

FROM_FILES = [
    "run -c own-run -q",
    "run -c configs/experiments/own-run.yaml --dry-run",
    "run -m variant -q",
    "run -m shadowed -q",
    "run -m combined -q",
    "run -d own-data -m overlap",
    "run --suite -c own-run",
    "multiverse -c own-run",
    "compare overlap members",
    "cite alce answers.jsonl --nli variant",
    "cite tables -c own-paper answers.jsonl",
    "metrics verify judge",
    "view evil",
    "results cases evil",
    "gate check answers.jsonl gate.json",
]


QUICK = "-s interval.resamples=20"
TYPED = [
    *(f"{command} -m overlap -p correlation -q -s controls=false {QUICK}" for command in ("run", "run --suite")),
    "results figures",
    *(f"cite {pipeline} answers.jsonl --nli overlap -q {QUICK}" for pipeline in ("alce", "aliice", "scifi")),
]
"""Runs of what is typed, in a folder with files that would change how a figure is made, or which package is loaded."""


class Touch:
    """What a pickle does when it is read by a reader that runs it."""

    def __reduce__(self):
        return os.system, ("touch pwned",)


def row(name):
    fields = FIELDS.format(name, name)
    ended = {"values": {}, "total": 1, "scored": 1, "unscored": 0}
    return {"metric": name, "kind": "metric", "signature": fields, **ended}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder of somebody else's: code beside the data, under the names of packages too, and files that name it."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(CODE)
    for name, text in VARIANTS.items():
        path = folder / "configs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    data = {"name": "evil:DATA", "split": "all", "fingerprint": "6e", "levels": {}}
    data |= dict.fromkeys(("statements", "documents", "citations", "groups"), 1)
    result = {
        "schema": "metaeval-result/3",
        "protocol": "evil:P",
        "title": "t",
        "unit": "chunk",
        "settings": {"metric": "evil:Evil", "splitter": "evil"},
        "data": data,
        "interval": {"resamples": 0, "seed": 0, "level": 0.95},
        "columns": [],
        "rows": [row(name) for name in NAMES],
    }
    (folder / "hostile.json").write_text(json.dumps(result))
    job = folder / "results" / "evil:Evil-deadbeef"
    job.mkdir(parents=True)
    (folder / "secret.txt").write_text("the neighbour's text")
    files = dict.fromkeys(("../../secret.txt", str(folder / "secret.txt"), "evil.py"), "0")
    config = {"metrics": list(NAMES), "dataset": "evil:DATA"}
    noted = {"result_schema": result["schema"], "command": "run -m evil:Evil", "config": config, "files": files}
    (job / "manifest.json").write_text(json.dumps(noted))
    pairs = {"schema": "metaeval-pairs/1", "columns": list(NAMES), "controls": [], "job": {"unit": "chunk"}}
    (job / "pairs.jsonl").write_text(json.dumps(pairs) + "\n")
    answer = {"id": "a", "text": "The Oder is long [1].", "passages": [{"text": "The Oder is long."}]}
    (folder / "answers.jsonl").write_text(json.dumps(answer) + "\n")
    numbers = dict.fromkeys(("threshold", "bound", "missed", "flagged", "precision"), 0.5)
    numbers |= dict.fromkeys(("max_missed", "max_flagged", "max_unsupported", "alpha"), 0.5)
    numbers |= dict.fromkeys(("unsupported_labels", "supported_labels", "labelled"), 30)
    words = dict.fromkeys(("labels", "items", "date"), "")
    gate = Gate(metric=TOUCH, made={}, settings={}, target="full", reference={}, **numbers, **words)
    write_gate(gate.model_copy(update={"hash": gate.content}), folder / "gate.json")
    named = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Touch())}
    fields = [pa.field("pair_id", pa.string()), pa.field("score", pa.float64(), metadata=named)]
    pq.write_table(pa.table([["a"], [0.5]], schema=pa.schema(fields)), folder / "hostile.parquet")
    (folder / "matplotlibrc").write_text("backend: module://evil\n")
    return folder


def audited(folder, lines):
    """How each line ended in the folder, and what it did that nobody typed."""
    typed = json.dumps({"commands": [shlex.split(line) for line in lines]})
    environment = {**os.environ, "SECRET": "s3cret", "METAEVAL_CACHE": str(folder / "cache")}
    streams = {"input": typed, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, str(AUDITED)], cwd=folder, env=environment, **streams)
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def ended(hostile):
    """How every command ended there, and what it did that nobody typed."""
    reading = [line for lines in READING.values() for line in lines]
    return audited(hostile, [*reading, *CONTENT, *FROM_FILES, *TYPED])


def test_every_command_is_known_to_read_or_to_run():
    every = {name for name in every_command() if not name.startswith("cite ")}

    assert every == {*READING, *RUNNING}


def test_reading_imports_starts_and_connects_to_nothing_that_data_name(ended, hostile):
    assert {line: one["noted"] for line, one in ended.items() if one["noted"]} == {}
    assert not (hostile / "pwned").exists()
    assert [line for line, one in ended.items() if "Traceback" in one["said"]] == []


def test_a_job_shows_files_of_its_own_folder_alone(ended):
    shown = ended["results show evil"]

    assert shown["code"] == 0, shown["said"]
    assert "neighbour" not in shown["said"]


@pytest.mark.parametrize("line", TYPED)
def test_what_is_typed_runs_there(ended, line):
    assert ended[line]["code"] == 0, ended[line]["said"]


@pytest.mark.parametrize("line", FROM_FILES)
def test_what_a_file_asks_for_is_refused_in_one_sentence(ended, line):
    one = ended[line]

    assert one["code"] == 2
    assert "A file may name code, programs, keys and addresses only where it is trusted" in one["said"]


def test_the_audit_sees_what_is_typed(hostile):
    """The hook is no blind one: the same names run where they are typed."""
    assert audited(hostile, ["metrics show evil:Evil"])["metrics show evil:Evil"]["noted"]
    (hostile / "pwned").unlink()


def test_no_file_of_the_folder_stands_for_a_package(hostile):
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "metrics", "show", "overlap"], cwd=hostile, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert not (hostile / "pwned").exists()


@pytest.mark.parametrize("place", ["../elsewhere", "/elsewhere", "inside/../../elsewhere"])
@pytest.mark.parametrize("setting", ["results", "store"])
def test_a_file_writes_nowhere_outside_the_folder(cli, tmp_path, setting, place):
    file = tmp_path / "from-elsewhere.yaml"
    file.write_text(f"metrics: [overlap]\nprotocols: [correlation]\n{setting}: {place}\n")
    ended = cli("run", "-c", file, "--dry-run")
    assert ended.code == 2
    assert f"sets {setting}: " in ended.err
    assert "outside this folder" in ended.err
    assert cli("run", "-c", file, f"--{setting}", tmp_path / "own", "--dry-run").code == 0, "it is typed"
    file.write_text(f"metrics: [overlap]\nprotocols: [correlation]\n{setting}: below\n")
    assert cli("run", "-c", file, "--dry-run").code == 0, "it is inside"
