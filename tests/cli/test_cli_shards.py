"""Shards: every n-th block in files of their own; put together they are what one process stores, or are refused."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

import metaeval  # noqa: E402
from metaeval.config import RunConfig  # noqa: E402
from metaeval.runs import shard_tasks  # noqa: E402
from metaeval.scoring import shards  # noqa: E402
from metaeval.scoring.executors import termination_signal  # noqa: E402
from metaeval.scoring.executors.contract import BlockTask, ScoredBlock, Work  # noqa: E402
from tests.scoring.executors.job import begun, write_corpus  # noqa: E402

TOYS = Path(__file__).parents[1] / "scoring" / "executors" / "toys.py"
METRICS = "overlap,bm25,toys:Company,toys:Observed,toys:Doubled"
KEYS = "score, status, tokens, cut, checksum, identity"


@pytest.fixture(autouse=True)
def corpus(cli, tmp_path, monkeypatch):
    """Options of a job of 40 documents and some 30 blocks, in a folder with metrics of one's own."""
    shutil.copy(TOYS, tmp_path)
    write_corpus(tmp_path / "made.jsonl")
    return ["-d", "jsonl", "--data", "made.jsonl"]


@pytest.fixture
def stored():
    """The rows of a store without the numbers that it gives to metrics: by pair and identity."""

    def read(path):
        with closing(sqlite3.connect(path)) as plain:
            query = f"SELECT pair, {KEYS} FROM scores JOIN metrics ON id = metric"
            return {(row[0], row[-1]): row[1:-1] for row in plain.execute(query)}

    return read


@pytest.fixture
def score(ran, corpus):
    """Score shards, and end well."""

    def run(*shards, metrics=METRICS, folder="shards", more=()):
        for shard in shards:
            ran("score", "-m", metrics, *corpus, "--shard", shard, "-o", folder, "-q", *more)

    return run


@pytest.fixture
def plain(ran, corpus, stored):
    """What one process stores."""

    def run(metrics=METRICS):
        ran("score", "-m", metrics, *corpus, "-o", "plain", "--store", "plain.sqlite", "-q")
        return stored("plain.sqlite")

    return run


def part_of(metric, folder="shards"):
    """The first part of a metric."""
    notes = {path.parent: json.loads(path.read_text())["metric"] for path in Path(folder).rglob("plan.json")}
    place = next(place for place, name in notes.items() if name == metric)
    return sorted(place.glob("part-*"))[0]


SOME_MISSING = "Blocks of the job are missing; type metaeval shards status shards"


def changed(path, **columns):
    """Write a part with other columns."""
    import pyarrow

    table = pq.read_table(path)
    for name, change in columns.items():
        column = table.column(name)
        values = pyarrow.array([change(value) for value in column.to_pylist()], column.type)
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)
    pq.write_table(table, path)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_put_together_are_a_plain_run(count, cli, ran, score, plain, stored):
    score(*(f"{index}/{count}" for index in range(count)))
    ran("shards", "status", "shards")
    ran("shards", "merge", "shards", "--store", "merged.sqlite")
    assert stored("merged.sqlite") == plain()
    again = cli("shards", "merge", "shards", "--store", "merged.sqlite")
    assert again.out.count(" 0 of them new") == 5
    lines = [line.partition(": ") for line in again.out.splitlines()]
    assert {text for _, _, text in lines[:-1]} == {
        f"{len(plain()) // 5} scores, 0 of them new"
    }  # one device: not named
    assert again.out.endswith("Merged into merged.sqlite\n")
    assert stored("merged.sqlite") == plain()


def test_the_status_names_what_is_left(cli, score):
    score("0/7", "2/7", metrics="toys:Company")
    ended = cli("shards", "status", "shards")
    assert ended.code == 1
    assert "left of 7: --array=1,3-6" in ended.out
    (state,) = metaeval.shards.status("shards")
    assert repr(state) == f"<toys:Company: {state.progress}; left of 7: --array=1,3-6>"
    merged = cli("shards", "merge", "shards", "--store", "merged.sqlite")
    assert (merged.code, merged.out.splitlines()[-1]) == (0, SOME_MISSING)
    score("1/7", metrics="toys:Company", more=["--executor", "local", "-s", "executor.workers=2"])
    score("3/7", "4/7", "5/7", "6/7", metrics="toys:Company")
    ended = cli("shards", "status", "shards")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("Complete: metaeval shards merge shards\n")


def test_an_interrupted_task_keeps_its_blocks_and_goes_on(ran, corpus, score, plain, stored, monkeypatch):
    config = RunConfig(dataset="jsonl", data=Path("made.jsonl"), metrics=("toys:Company",))

    def stop(_label, done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(shard_tasks.export_shard(config, shards.Shard(0, 1), Path("shards"), stop))
    (state,) = shards.shard_states(Path("shards"))
    assert state.note.pairs / 2 < state.rows < state.note.pairs
    before = len(begun())
    monkeypatch.setattr(shards, "ROWS", 5)
    score("0/1", metrics="toys:Company")
    assert len(begun()) - before == len(state.missing)
    assert len(list(Path("shards").rglob("part-*"))) > 3
    ran("shards", "merge", "shards", "--store", "merged.sqlite")
    assert stored("merged.sqlite") == plain("toys:Company")


def wait_for(task, true):
    """Until something is so, while a task runs."""
    while not true():
        assert task.poll() is None
        time.sleep(0.01)


ENDED = "metaeval: ended as asked. Finished blocks are written; the same command goes on from there.\n"


def asked_to_end(task, blocks):
    """Send a task SIGTERM in a block that waits for it to be heard; the blocks that were begun then."""
    wait_for(task, lambda: len(begun()) >= blocks)
    before = len(begun())
    task.send_signal(signal.SIGTERM)
    wait_for(task, lambda: [*Path("shards").rglob("part-*.parquet")])  # what was finished is written at once
    Path("hold").unlink()
    return before


# Two workers have at most four blocks in hand: when a fifth is begun, the task knows how long one takes.
@pytest.mark.parametrize(
    ("more", "held"), [((), 3), pytest.param(("-s", "executor.workers=2"), 5, marks=pytest.mark.slow)]
)
def test_a_task_that_is_asked_to_end_finishes_what_it_has_in_hand(more, held, start, ran, corpus, score, plain, stored):
    Path("hold").write_text(str(held))
    command = ("score", "-m", "toys:Company", *corpus, "--shard", "0/1", "-o", "shards", "-q", *more)
    task = start(*command, stderr=subprocess.PIPE, text=True)
    before = asked_to_end(task, held)
    _, err = task.communicate(timeout=120)
    said = "Asked to end by SIGTERM: begun blocks are finished first, if that takes at most 20 s.\n"
    assert (task.returncode, err) == (75, said + ENDED)
    (state,) = shards.shard_states(Path("shards"))
    lines = len(begun())
    assert state.note.blocks - len(state.missing) == lines
    assert before <= lines <= before + 1.5 * len(more)  # of two workers one may just begin; each has the next one too
    score("0/1", metrics="toys:Company")
    assert len(begun()) == state.note.blocks
    ran("shards", "merge", "shards", "--store", "merged.sqlite")
    assert stored("merged.sqlite") == plain("toys:Company")


@pytest.mark.parametrize(
    ("seconds", "stage", "kept"),
    [
        (0.3, "block 1", 1),  # no time for another one
        (0.1, "block 1", 2),  # time for one that takes as long, and at the end of that time it has not ended
        (0.1, "block 0", 1),  # nothing is known of how long one takes
        (0.1, "between", 1),  # no block has begun
        (0.1, "writing", 2),
    ],
)
def test_a_task_without_the_time_for_a_block_stops_at_once(seconds, stage, kept, monkeypatch):
    """kept: how often blocks are written; once at the end of a job, before it where the task goes on."""
    monkeypatch.setattr(termination_signal, "seconds_left", lambda: 0.2)
    written, done = [], []

    def signalled(here):
        if stage == here:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0 if here == "writing" else 300)

    def run():
        with termination_signal.sigterm_notice() as end:
            with end.job(lambda: written.append(done.copy())):
                for task in end.until([BlockTask(number, (), (), (0,)) for number in range(2)]):
                    signalled(f"block {task.block}")
                    with end.writing(ScoredBlock(task, (), seconds=seconds)):
                        signalled("writing")
                        done.append(task.block)
            signalled("between")

    began = time.monotonic()
    with pytest.raises(termination_signal.EndedError):
        run()
    finished = {"block 0": [], "between": [0, 1]}.get(stage, [0])
    assert (done, written) == (finished, [finished] * kept)
    assert time.monotonic() - began < 200
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_task_that_loads_ends_at_once_when_it_is_asked_to(start, corpus):
    Path("load").touch()
    task = start("score", "-m", "toys:Company", *corpus, "--shard", "0/1", "-o", "shards", "-q", stderr=subprocess.PIPE)
    wait_for(task, Path("loading").exists)
    task.send_signal(signal.SIGTERM)
    _, err = task.communicate(timeout=120)
    assert (task.returncode, err.decode()) == (75, ENDED)
    assert not begun()


def test_the_time_that_is_left_is_slurms_where_it_is_near(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    for end, left in (
        ("1120", 110.0),
        ("1005", termination_signal.GRACE),
        ("9000", termination_signal.GRACE),
        ("", termination_signal.GRACE),
    ):
        monkeypatch.setenv("SLURM_JOB_END_TIME", end)
        assert termination_signal.seconds_left() == left


def test_a_task_reads_the_parts_that_may_hold_its_blocks_and_no_others(score, monkeypatch):
    """Tasks of 6 and of 4 share blocks where their numbers differ by an even one; other names may hold any block."""
    parts = [(index, count) for count in (1, 4, 6) for index in range(count)]
    for task in ((2, 6), (1, 4)):
        mine = set(shards.Shard(*task).blocks(24))
        overlaps = [shards.Shard(*task).may_overlap(f"part-000000-000023-0a-{i}of{n}.parquet") for i, n in parts]
        assert overlaps == [bool(mine & set(shards.Shard(*part).blocks(24))) for part in parts]
    assert shards.Shard(2, 6).may_overlap("part-000000-000006-0a1b2c3d.parquet")
    score("0/4", "1/4", metrics="toys:Company")
    first, second = sorted(Path("shards").rglob("part-*.parquet"))
    second.write_bytes(b"damaged")
    before = len(begun())
    score("0/4", metrics="toys:Company")
    first.rename(first.with_name("part-of-an-earlier-version.parquet"))
    second.unlink()
    score("0/4", "2/4", metrics="toys:Company")
    assert len(begun()) - before == len(shards.Shard(2, 4).blocks(14))


def test_failed_pairs_are_counted_and_not_merged(cli, score, plain, stored):
    score("0/2", "1/2", metrics="toys:Sometimes")
    assert " failed" in cli("shards", "status", "shards").out
    ended = cli("shards", "merge", "shards", "--store", "merged.sqlite")
    assert " failed ones left out" in ended.out
    assert stored("merged.sqlite") == plain("toys:Sometimes")


def test_what_a_store_has_stays(cli, score, plain, stored):
    before = plain("overlap")
    with closing(sqlite3.connect("plain.sqlite")) as file, file:
        file.execute("DELETE FROM scores WHERE substr(hex(pair), 1, 1) < '8'")
    score("0/1", metrics="overlap")
    changed(part_of("overlap"), score=lambda value: value + 1e-9)
    kept = stored("plain.sqlite")
    ended = cli("shards", "merge", "shards", "--store", "plain.sqlite")
    after = stored("plain.sqlite")
    assert f"{len(before) - len(kept)} of them new, {len(kept)} differ from those in the store, which stay" in ended.out
    assert after.keys() == before.keys()
    assert kept.items() <= after.items()


def test_a_block_that_two_parts_score_differently_is_refused(refused, ran, score):
    score("0/1", metrics="overlap")
    part = part_of("overlap")
    copy = part.with_name("part-000000-000000-00000000.parquet")
    shutil.copy(part, copy)
    ran("shards", "merge", "shards", "--store", "s.sqlite")
    changed(copy, score=lambda value: value + 1e-9)
    Path("s.sqlite").unlink()
    assert "have different scores for the same pair" in refused("shards", "merge", "shards", "--store", "s.sqlite")
    with closing(sqlite3.connect("s.sqlite")) as file:
        assert file.execute("SELECT COUNT(*) FROM scores").fetchone() == (0,)


def test_two_plans_of_one_metric_are_merged_where_they_agree(refused, ran, corpus, score):
    lines = Path("made.jsonl").read_text().splitlines(keepends=True)
    for metric in ("overlap", "toys:Company"):
        score("0/1", metrics=metric, folder=metric)
    Path("made.jsonl").write_text("".join(line for line in lines if '"s39"' not in line))
    for metric in ("overlap", "toys:Company"):
        score("0/1", metrics=metric, folder=metric)
    ran("shards", "merge", "overlap", "--store", "s.sqlite")
    said = refused("shards", "merge", "toys:Company", "--store", "s.sqlite")
    assert "which happens with two models of device or two plans" in said


def test_parts_of_something_else_and_broken_ones_are_refused(refused, score):
    score("0/1", metrics="overlap,rouge")
    part, foreign = part_of("overlap"), part_of("rouge")
    whole = part.read_bytes()
    merge = ("shards", "merge", "shards", "--store", "s.sqlite")
    shutil.copy(foreign, part)
    assert refused(*merge) == f"{part} is of another metric or plan than its folder: move it elsewhere."
    for broken in (whole[:-20], b"", b"{}", whole[:200] + b"\0" + whole[201:]):
        part.write_bytes(broken)
        assert refused(*merge).startswith(f"{part} is damaged, or not a shard's file: delete it")
    part.write_bytes(whole)
    changed(part, pair=lambda key: bytes(16))
    assert refused(*merge).startswith(f"{part} is damaged")
    part.write_bytes(whole)
    changed(part, status=lambda _: "unparsed")  # with a score
    assert "holds a row that no metric can have returned" in refused(*merge)
    part.write_bytes(whole)
    note = part.with_name("plan.json")
    note.write_text(note.read_text().replace('"metaeval-plan/1"', '"metaeval-plan/9"'))
    assert refused(*merge).startswith(f"{note} is damaged")


def test_what_a_killed_task_left_unfinished_is_removed_when_all_is_merged(ran, score):
    score("0/2", metrics="toys:Company")
    left = part_of("toys:Company").with_name(".part-000000-000000-00000000.parquet.x.unfinished")
    left.touch()
    ran("shards", "merge", "shards", "--store", "s.sqlite")
    assert left.exists()  # another task may be writing it
    score("1/2", metrics="toys:Company")
    ran("shards", "merge", "shards", "--store", "s.sqlite")
    assert not left.exists()


def test_verify_scores_blocks_again(cli, ran, refused, score):
    score("0/1", metrics="rouge,bm25")
    ended = ran("shards", "verify", "shards", "--blocks", "2")
    assert ended.out.count("on the same model of device: all equal") == 2
    changed(part_of("bm25"), score=lambda value: value + 1e-9)
    ended = cli("shards", "verify", "shards", "--blocks", "2")
    assert ended.code == 1
    assert "differ, by up to 1.0e-09" in ended.out
    assert ended.out.endswith("The scores differ by more than they may: do not merge these shards.\n")
    Path("made.jsonl").write_text(Path("made.jsonl").read_text().replace("was opened", "was closed"))
    assert "does not match what this machine computes for" in refused("shards", "verify", "shards", "-q")


def test_verify_of_a_plan_without_parts_says_that_nothing_was_compared(refused, score):
    score("0/1", metrics="overlap")
    part_of("overlap").unlink()
    said = refused("shards", "verify", "shards", "-q")
    assert said.endswith("(overlap) is scored, so there is nothing to verify: score one first.")


def test_verify_scores_where_it_is_told_to(ran, refused, score):
    score("0/1", metrics="overlap")
    for note in Path("shards").rglob("plan.json"):  # as of a node with more devices than this machine
        values = json.loads(note.read_text())
        values["run"]["executor"]["devices"] = ["70", "71"]
        note.write_text(json.dumps(values))
    for more in ((), ("--executor", "local", "-s", "executor.workers=2")):
        ended = ran("shards", "verify", "shards", *more)
        assert "all equal" in ended.out
    said = refused("shards", "verify", "shards", "--set", "chunk.size=9")
    assert "Unknown setting 'chunk'" in said


def test_a_block_that_the_plan_does_not_have_is_refused(refused, score):
    score("0/1", metrics="overlap")
    part = part_of("overlap")
    table = pq.read_table(part)
    note = json.loads(table.schema.metadata[b"metaeval"])
    note["blocks"][0]["number"] = 99
    pq.write_table(table.replace_schema_metadata({b"metaeval": json.dumps(note).encode()}), part)
    assert refused("shards", "verify", "shards", "-q").startswith(f"{part} holds a block that is not in its plan")
    assert "has parts with blocks that its plan.json lacks" in refused(
        "shards", "merge", "shards", "--store", "s.sqlite"
    )


def test_verify_runs_no_code_that_a_file_names(ran, refused, score):
    score("0/1", metrics="toys:Company")
    assert 'sets metrics: "toys:Company". A file may name code' in refused("shards", "verify", "shards", "-q")
    ran("shards", "verify", "shards", "-q", "--trust-config")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("score -m overlap --shard 8/8", "--shard is '8/8'; allowed: I/N, task I of N tasks, counted from 0"),
        ("score -m overlap --shard one", "--shard is 'one'; allowed: I/N"),
        ("score -m llm-discrete --shard 0/8", "'llm-discrete' asks a chat model, and each task would"),
        ("score -m ensemble:overlap+rouge --shard 0/8", "'ensemble:overlap+rouge' combines overlap, rouge"),
        ("score -m scores:x.jsonl --shard 0/8", "'scores:x.jsonl' is a file of scores"),
        ("shards status nowhere", "nowhere holds no shards: 'metaeval score --shard 0/8 -o nowhere' writes"),
        ("shards merge nowhere", "nowhere holds no shards"),
        ("shards verify nowhere --blocks 0", "blocks is 0; it should be 1 or more"),
        ("shards slurm -m overlpa", "Unknown metric 'overlpa'. Did you mean 'overlap'?"),
        ("shards slurm -m overlap --tasks 0", "tasks is 0; it should be 1 or more"),
        ("shards slurm -m overlap --time 'soon\nX'", "time is 'soon\\nX'; allowed:"),
        ("shards slurm -m overlap --mem lots", "mem is 'lots'; allowed: a size as Slurm reads it"),
        ("shards slurm -m overlap --ray --at-once 2", "at_once limits the tasks of an array"),
        ("shards slurm -m scores:x.jsonl", "'scores:x.jsonl' is a file of scores"),
        ("shards slurm -m llm-discrete", "'llm-discrete' asks a chat model"),
    ],
)
def test_what_cannot_be_done_is_refused(typed, sentence, refused):
    assert refused(*shlex.split(typed)).startswith(sentence)


def test_a_batch_file_scores_its_shard(cli, ran, corpus, tmp_path):
    asked = "--tasks 2 --gpus 2 -s chunk.size=9".split()
    ended = ran("shards", "slurm", "-m", "toys:Company", *corpus, *asked, "-o", "a b")
    assert "#SBATCH --array=0-1\n" in ended.out
    assert "#SBATCH --gpus-per-task=2\n" in ended.out
    assert "--set executor.devices=auto" in ended.out
    path = tmp_path / "job.sbatch"
    path.write_text(ended.out.replace(" --set executor.devices=auto", ""))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", path], env={**environment, "SLURM_ARRAY_TASK_ID": "1"}, check=True)
    assert "left of 2: --array=0\n" in cli("shards", "status", "a b").out


FAKES = {  # what Slurm and Ray do with their words on a machine of one node
    "scontrol": 'test "$*" = "show hostnames $SLURM_JOB_NODELIST" && printf "first\\nsecond\\n"',
    "srun": 'test "$1 $2 $3 $4" = "--nodes=2 --ntasks=2 --cpus-per-task=4 --gpus-per-task=4" && shift 4 && exec "$@"',
    "ray": 'echo "$@" > ray_words; while [ "$1" != -- ]; do shift; done; shift; "$@"',
}


SBATCH = {  # the forms of sbatch's and srun's options, from the manual of Slurm 25.05 (slurm.schedmd.com/sbatch.html)
    "array": r"\d+(-\d+)?(,\d+(-\d+)?)*(%[1-9]\d*)?",
    "cpus-per-task": r"[1-9]\d*",
    "gpus-per-task": r"([a-z]\w*:)?[1-9]\d*",
    "job-name": r"\S+",
    "mem": r"\d+[KMGT]?",
    "nodes": r"[1-9]\d*(-[1-9]\d*)?",
    "ntasks": r"[1-9]\d*",
    "ntasks-per-node": r"[1-9]\d*",
    "requeue": r"",
    "signal": r"([RB]{1,2}:)?([A-Z]\w*|\d+)(@\d+)?",
    "time": r"\d+|\d+:\d+(:\d+)?|\d+-\d+(:\d+){0,2}",
}


def slurm_options(words):
    """Options and values of a line of Slurm; every one has a form of the manual."""
    pairs = [word.removeprefix("--").partition("=")[::2] for word in words]
    assert all(word.startswith("--") for word in words)
    assert all(re.fullmatch(SBATCH[name], value) for name, value in pairs)
    return dict(pairs)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("--tasks 64 --at-once 8", {"array": "0-63%8", "ntasks": "1", "cpus-per-task": "4"}),
        ("--gpus 2 --mem 16G", {"array": "0-7", "gpus-per-task": "2", "mem": "16G"}),
        ("--tasks 1 --time 2-12:00:00", {"array": "0-0", "time": "2-12:00:00"}),
        ("--ray --tasks 3 --gpus 4 --cpus 16 --mem 200G", {"nodes": "3", "ntasks": "3", "ntasks-per-node": "1"}),
    ],
)
def test_a_batch_file_holds_what_sbatch_reads(typed, asked, ran, corpus):
    setup = "module load cuda\nsource 'my env/bin/activate'"
    lines = ran("shards", "slurm", "-m", "overlap", *corpus, *typed.split(), "--setup", setup).out.splitlines()
    assert lines[0] == "#!/bin/bash"
    directives = [line for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : 1 + len(directives)] == directives  # sbatch reads none behind the first command
    found = slurm_options([line.removeprefix("#SBATCH ") for line in directives])
    assert len(found) == len(directives)
    assert asked.items() <= found.items()
    assert "ntasks" in found  # --gpus-per-task needs it
    at = lines.index("module load cuda")
    assert lines[at + 1] == "source 'my env/bin/activate'"
    assert not any("metaeval score" in line for line in lines[:at])
    for line in lines:
        if line.startswith("srun "):  # since 22.05 it takes no --cpus-per-task from the batch file
            step = slurm_options(line.removesuffix(" \\").split()[1:])
            assert step == {name: found[name] for name in ("nodes", "ntasks", "cpus-per-task", "gpus-per-task")}


def test_parts_name_the_device_of_the_worker_that_scored_them(cli, ran, score, monkeypatch):
    def of_two_nodes(_pool, _names, metrics, _config):
        def execute(context, tasks):
            for block in Work(metrics).run(context, tasks):
                yield block._replace(device=f"GPU {block.task.block % 2}")

        return execute

    with monkeypatch.context() as patch:
        patch.setattr(shard_tasks, "scoring_function", of_two_nodes)
        score("0/1", metrics="toys:Company")
        assert "on the same model of device: all equal" in ran("shards", "verify", "shards", "--trust-config").out
    (state,) = shards.shard_states(Path("shards"))
    assert state.devices == ["GPU 0", "GPU 1"]
    of = {note.device: {block.number % 2 for block in note.blocks} for note in shards.part_notes(state.place).values()}
    assert of == {"GPU 0": {0}, "GPU 1": {1}}
    assert "on another model of device" in cli("shards", "verify", "shards", "--trust-config").out


def test_a_batch_file_of_ray_runs_on_the_first_node_and_hands_the_signal_on(ran, refused, corpus, tmp_path):
    command = ("shards", "slurm", "-m", "toys:Company", *corpus, "--tasks", "2", "--ray")
    assert refused(*command, "-s", "executor=ray").startswith("With --ray, the batch file sets the executor")
    ended = ran(*command, "--gpus", "4")
    assert "#SBATCH --nodes=2\n" in ended.out
    assert "--array" not in ended.out
    for name, body in FAKES.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    path = tmp_path / "job.sbatch"
    path.write_text(ended.out.replace(" --executor ray --set executor.address=auto", ""))
    Path("hold").write_text("2")
    folders = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    job = subprocess.Popen(
        ["bash", path], env={**os.environ, "PATH": folders, "SLURM_JOB_NODELIST": "n[1-2]"}, stderr=subprocess.PIPE
    )
    asked_to_end(job, 2)
    assert b"ended as asked" in job.communicate(timeout=120)[1]
    assert job.returncode == 75
    words = "symmetric-run --address first:6379 --min-nodes 2 --num-cpus 4 --num-gpus 4 -- bash -c"
    assert Path("ray_words").read_text().startswith(words)
    (state,) = shards.shard_states(Path("shards"))
    assert state.note.blocks - len(state.missing) == len(begun()) < state.note.blocks
