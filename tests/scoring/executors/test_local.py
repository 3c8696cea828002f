"""Several processes: the bytes of one, whoever is killed; whole blocks, each once; errors as they are."""

import json
import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from metaeval.core.config import ExecutorConfig, RunConfig, load_run
from metaeval.core.errors import UserError
from metaeval.runs import score
from metaeval.runs.data import prepare
from metaeval.runs.metrics import load_metrics
from metaeval.runs.score import recipe_of, score_metrics, score_rows
from metaeval.runs.scoring_worker import Scorer
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import context_of
from metaeval.scoring.executors import local, worker_pool
from metaeval.scoring.executors.contract import BlockTask
from metaeval.scoring.score_store import ScoreStore
from tests.scoring.executors.job import ALL, TEXTS, begun, running, write_corpus


@pytest.fixture(autouse=True)
def forked(start, monkeypatch):
    """Workers are forks, which do what the programs do and have made their imports before."""

    def fork(command, **given):
        assert command[1:] == ["-P", "-m", local.WORKER]
        return start(module=local.WORKER, **given)

    monkeypatch.setattr(local, "subprocess", SimpleNamespace(Popen=fork, PIPE=subprocess.PIPE))


@pytest.fixture
def programs(forked, monkeypatch):
    """Workers are the programs that a user's run starts."""
    monkeypatch.setattr(local, "subprocess", subprocess)


def scored(names=("toys:Company",), workers=0, texts=TEXTS, store=None, progress=None, **options):
    config = RunConfig(executor={"workers": workers}, metric_options={"toys:Company": options} if options else {})
    return {name: found for name, _, found in score_metrics(texts, names, config, store, progress)}


@pytest.mark.parametrize("workers", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_workers_give_the_bytes_of_one_process_in_the_same_blocks(workers, tmp_path, programs):
    one = scored(ALL)
    alone = begun()
    Path("log").unlink()
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        assert scored(ALL, workers, store=store, pause=0.1) == one  # until all have started
        again = scored(ALL, workers, store=store)
    assert all(found.computed == 0 and found.answers == one[name].answers for name, found in again.items())
    several = begun()
    assert Counter(str(each["block"]) for each in several) == Counter(str(each["block"]) for each in alone)
    cores = {each["pid"]: each["cores"] for each in several}
    assert sorted(cores.values()) == sorted(sorted(place.cores) for place in local.places(workers))
    assert {each["pid"] for each in alone} == {os.getpid()}


def test_joined_chunks_are_scored_by_the_workers_that_are_there(folder):
    write_corpus(folder / "made.jsonl")
    data = {"dataset": "jsonl", "data": Path("made.jsonl"), "unit": "citation", "chunk": {"size": 4}}
    union = RunConfig(**data, aggregate="union:2", metric_options={"toys:Company": {"pause": 0.1}})

    def answers(workers):
        job = prepare(union.model_copy(update={"executor": ExecutorConfig(workers=workers)}))
        ((_, _, found),) = score_rows(job, load_metrics(["toys:Company"], job.config))
        assert found.joined
        return found.rows

    one = answers(0)
    Path("log").unlink()
    assert answers(2) == one
    assert len({each["pid"] for each in begun()}) == 2


def test_each_worker_has_its_own_cores_and_device():
    mine = sorted(os.sched_getaffinity(0))
    devices = [str(number) for number in range(len(mine))]
    found = local.places(len(mine), devices)
    assert sorted(core for place in found for core in place.cores) == mine
    assert [place.environment["CUDA_VISIBLE_DEVICES"] for place in found] == devices
    crowded = local.places(3 * len(mine))
    assert all(len(place.cores) == 1 for place in crowded)
    assert {core for place in crowded for core in place.cores} == set(mine)


def test_a_worker_passes_on_warnings_and_nothing_below(caplog):
    logger = logging.getLogger("metaeval")
    with caplog.at_level(logging.INFO, "metaeval"):
        scorer = Scorer()
        logger.info("told to nobody")
        logger.warning("told")
        recipe = {"names": ["no-such"], "settings": {}, "identities": ["0"], "versions": {}}
        answers = [scorer.answer({"recipe": recipe, "path": ["added"], "context": {}}) for _ in range(2)]
    logger.removeHandler(scorer._warnings)
    assert [(answer.get("said"), "error" in answer) for answer in answers] == [(["told"], True), (None, True)]
    assert (sys.path.count("added"), sys.path.pop()) == (1, "added")


def test_what_a_killed_worker_had_in_hand_is_scored_by_another(caplog):
    one = scored(workers=0)["toys:Company"]
    blocks = len(begun())
    Path("log").unlink()
    kills = [Path(f"kill{number}") for number in range(2)]
    for path in kills:
        path.touch()
    with caplog.at_level(logging.WARNING, "metaeval"):
        assert scored(workers=2, kills=kills)["toys:Company"].answers == one.answers
    assert not any(path.exists() for path in kills)
    times = Counter(str(each["block"]) for each in begun())
    assert len(times) == blocks
    assert 2 <= sum(times.values()) - blocks <= 2 * 2 * 2  # at most 2 x workers of them each time
    assert "was killed by SIGKILL" in caplog.text


def stored(path):
    """The number of scores in a store."""
    return sqlite3.connect(path).execute("SELECT COUNT(*) FROM scores").fetchone()[0]


def test_a_pair_that_kills_its_workers_is_found_and_has_failed(tmp_path, caplog):
    poisoned = [("poison" * 30, "This cannot be read."), ("poison" * 30, "Nor this."), *TEXTS[:20]]
    with caplog.at_level(logging.WARNING, "metaeval"), ScoreStore(tmp_path / "scores.sqlite") as store:
        found = scored(workers=2, texts=poisoned, store=store)["toys:Company"]
        kept = scored(workers=2, texts=[TEXTS[0]], store=store)
        assert stored(tmp_path / "scores.sqlite") == len(set(TEXTS[:20]))
    assert [answer.status for answer in found.answers] == [*[Status.FAILED] * 2, *[Status.OK] * 20]
    assert kept["toys:Company"].computed == 0
    assert "A pair kills every worker that scores it, and has no score: source 'poison" in caplog.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("refused", "This text is refused: mend it."),
        ("fault", "Metric 'toys:Company' stopped with ZeroDivisionError: by nothing (toys.py, line "),
    ],
)
def test_an_error_in_a_worker_is_the_error_of_one_process(text, sentence, tmp_path):
    texts = [*TEXTS, (text, "It ends the run.")]
    said = []
    for workers in (0, 2):
        with ScoreStore(tmp_path / f"{workers}.sqlite") as store:
            with pytest.raises(UserError) as error:
                scored(workers=workers, texts=texts, store=store)
            said.append(str(error.value))
            assert stored(tmp_path / f"{workers}.sqlite") > 0  # finished blocks are kept
    assert said[0] == said[1]
    assert said[0].startswith(sentence)


def test_code_that_changes_under_a_run_is_not_mixed(folder):
    def change(_label, done, total):
        if done == 0:  # this process has read the metric, the workers have not
            source = (folder / "toys.py").read_text()
            (folder / "toys.py").write_text(source.replace("/ 7", "/ 8"))

    with pytest.raises(UserError, match=r"A worker process has another version of 'toys:Company'"):
        scored(workers=2, progress=change)


def test_other_packages_than_the_drivers_are_refused(monkeypatch):
    known = {**score.package_versions(), "torch": "0.4.1"}
    monkeypatch.setattr(score, "package_versions", lambda: known)
    with pytest.raises(UserError, match=r"^A worker has other package versions .* \(torch 0\.4\.1, here .*\): install"):
        scored(workers=2)


def test_what_a_worker_warns_of_is_said(caplog):
    Path("warn").touch()
    scored(workers=2)
    assert {record.getMessage() for record in caplog.records} == {"Company is all that counts."}


def test_a_worker_is_not_ended_by_a_signal_to_the_whole_job():
    def stop(_label, done, _total):
        if 0 < done < 30:
            for pid in {each["pid"] for each in begun()}:
                os.kill(pid, signal.SIGTERM)

    assert scored(workers=2, progress=stop, pause=0.1)["toys:Company"] == scored()["toys:Company"]
    assert len({each["pid"] for each in begun()}) == 2 + 1  # and this process


@pytest.mark.parametrize(("module", "said"), [("x" * 3000, f"1 ({'x' * 1999}). "), ("__future__", "code 0. ")])
def test_a_worker_that_cannot_start_is_said(module, said, monkeypatch, programs, caplog):
    monkeypatch.setattr(local, "WORKER", module)
    with pytest.raises(UserError, match="3 times"):
        scored(workers=2)
    assert said in caplog.text


def test_workers_end_with_the_run_and_with_the_driver(folder):
    def alive():
        return [pid for pid in {each["pid"] for each in begun()} if running(pid)]

    scored(workers=2)
    assert not alive()

    def stop(_label, done, _total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(workers=2, texts=[("other " + source, statement) for source, statement in TEXTS], progress=stop)
    assert not alive()


@pytest.fixture
def driver(start):
    """Start a process of its own that scores all texts; it prints the number of pairs computed, and their sum."""
    script = f"""
import json, sys, pathlib
from metaeval.core.config import RunConfig
from metaeval.runs.score import score_metrics
from metaeval.scoring.score_store import ScoreStore
with ScoreStore(pathlib.Path("scores.sqlite")) as store:
    ((_, _, found),) = score_metrics({TEXTS!r}, ["toys:Company"], RunConfig(executor=json.loads(sys.argv[1])), store)
    print(found.computed, sum(answer.score for answer in found.answers))
"""
    return lambda **executor: start(json.dumps(executor), code=script, stdout=subprocess.PIPE, text=True)


def test_runs_with_one_store_share_the_blocks(driver):
    whole = scored()["toys:Company"]
    blocks = len(begun())
    Path("log").unlink()
    runs = [driver() for _ in range(2)]
    said = [run.communicate()[0].split() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert len(begun()) == blocks
    assert sum(int(computed) for computed, _ in said) == whole.unique
    assert {float(total) for _, total in said} == {sum(answer.score for answer in whole.answers)}
    assert not Path(".scores.sqlite.claims").exists()


def test_a_block_of_a_killed_run_is_taken_over(driver):
    whole = scored()["toys:Company"]
    blocks = len(begun())
    Path("log").unlink()
    Path("hold").touch()
    first, second = driver(), driver()
    while len(begun()) < 2:
        assert (first.poll(), second.poll()) == (None, None)
        time.sleep(0.02)
    first.kill()
    first.communicate()
    Path("hold").unlink()
    computed, total = second.communicate()[0].split()
    assert (int(computed), float(total)) == (whole.unique, sum(answer.score for answer in whole.answers))
    assert len(begun()) == blocks + 1


def test_a_driver_that_is_killed_takes_its_workers_along(driver):
    Path("hold").touch()
    driver = driver(workers=2)
    while len(begun()) < 2:
        assert driver.poll() is None
        time.sleep(0.05)
    pids = [each["pid"] for each in begun()]
    assert len(pids) == 2
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    deadline = time.monotonic() + 120
    while any(map(running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, pids))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"devices": "0,x"}, "'0,x'"),
        ({"devices": "1,1"}, "'1,1'"),
        ({"name": "ray", "devices": "0"}, "Ray places"),
        ({"workers": "2:4"}, r"executor\.name"),
        ({"name": "ray", "workers": "4:2"}, "4:2"),
        ({"address": "auto"}, r"executor\.name"),
        ({"workers": 2000}, "1024"),
    ],
)
def test_settings_are_checked(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        load_run(None, {"executor": settings})


@pytest.mark.parametrize("typed", ["4:", "a:b", "4:8:9", "4:0", "-1", "1.5", "", "[1]"])
def test_a_number_of_workers_that_is_none_is_said(typed):
    with pytest.raises(UserError, match=rf"executor\.workers is {re.escape(repr(typed))}"):
        load_run(None, {"executor": "ray"}, [f"executor.workers={typed}"])


def test_settings_of_another_executor_do_not_outlive_a_typed_name(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("executor: {name: ray, address: auto, workers: 8:64}\n")
    asked = load_run(path, {}, ["executor.address=head:6379"]).executor
    assert (asked.address, asked.workers, asked.most) == ("head:6379", 8, 64)
    assert load_run(path, {"executor": "ray"}).executor.address == "auto"
    assert load_run(path, {"executor": "local"}).executor == ExecutorConfig()
    assert load_run(path, {"executor": "local"}, ["executor.workers=2"]).executor == ExecutorConfig(workers=2)
    ranged = load_run(None, {"executor": "ray"}, ["executor.workers=2:4"]).executor  # no base-60 number of YAML 1.1
    assert (ranged.workers, ranged.most) == (2, 4)
    assert ExecutorConfig(**ranged.model_dump()) == ranged


def test_devices_that_are_not_there_are_refused():
    torch = pytest.importorskip("torch", reason="needs the extra 'models'")
    if torch.cuda.is_available():
        pytest.skip("there are CUDA devices here")
    config = RunConfig(executor={"devices": "0"})
    with pytest.raises(UserError, match=r"executor\.devices names '0'"):
        list(score_metrics(TEXTS, ["overlap"], config))


def test_a_block_with_an_error_does_not_take_the_scores_of_the_next(folder, monkeypatch):
    code = "def own(sources, statements):\n    return [1 / int(text) for text in statements][statements[0] == '7':]\n"
    (folder / "breaks.py").write_text(code)
    texts = [("a", f"{number}") for number in (7, 8, 2, 3)]
    config = RunConfig(executor={"workers": 1})
    (metric,) = load_metrics(["breaks:own"], config).by_name.values()
    tasks = [BlockTask(at, [b"first", b"second"], texts[at : at + 2], [0]) for at in (0, 2)]
    # Both blocks are answered before the first answer is read.
    monkeypatch.setattr(worker_pool, "wait", lambda *given, **more: time.sleep(0.5) or wait(*given, **more))
    with closing(local.ProcessPool(local.places(1))) as pool:
        done = pool.run(recipe_of(["breaks:own"], [metric], config), context_of(texts), tasks)
        block = next(done)
        assert (block.task.block, block.answers[0][0].score) == (2, 0.5)
        with pytest.raises(UserError, match="1 results for 2 pairs"):
            next(done)
