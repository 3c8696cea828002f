"""`metaeval metrics ...`: what a person sees, how a command ends, and that nothing is downloaded or imported for it."""

import io
import json
import os
import shlex
import subprocess
import sys

import pytest

from metaeval.config import RunConfig

WORKER = """\
import json, sys
next(sys.stdin)
print(json.dumps({"protocol": "metaeval-worker/1", "name": "shared, words", "version": "1", "low": 0}), flush=True)
for line in sys.stdin:
    if line.strip():
        pair = json.loads(line)
        words = set(pair["statement"].split())
        score = len(words & set(pair["source"].split())) / len(words)
        print(json.dumps({"id": pair["id"], "score": score}), flush=True)
"""


def table(text):
    """Lines before the first empty one, by their first two spaces."""
    return text.split("\n\n")[0].splitlines()


def test_the_list_says_what_each_metric_needs(cli, no_network, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ended = cli("metrics", "list")
    states = {line.split()[0]: line for line in ended.out.splitlines()}
    assert states["overlap"].split()[1] == "ready"
    assert "needs a name: worker:COMMAND" in states["worker"]
    assert states["rouge-1"].split()[1:3] == ["ready", "rouge:"]
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize("command", [("metrics", "list"), ("data", "list"), ("results", "list")])
def test_lists_fit_in_80_columns_and_lose_nothing(cli, monkeypatch, command):
    cli("run", "-m", "overlap,rouge,bm25", "-p", "correlation", "--set", "controls=false", "-q")
    printed = {}
    for width in ("80", "400"):
        monkeypatch.setenv("COLUMNS", width)
        printed[width] = cli(*command).out
    assert max(map(len, printed["80"].splitlines())) <= 80
    assert sorted("".join(printed["80"].split())) == sorted("".join(printed["400"].split()))


def test_a_job_without_metrics_is_listed_without_the_default_ones(ran):
    ran("data", "audit", "mini", "--sizes", "50", "-s", "interval.resamples=20")
    ran("run", "-m", "overlap", "-p", "correlation", "-s", "controls=false", "-s", "interval.resamples=20", "-q")
    audit, run = (
        next(line for line in ran("results", "list").out.splitlines() if f" {command} " in line)
        for command in ("data audit", "run")
    )
    names = RunConfig().metrics
    assert "overlap" in run
    assert not any(name in audit for name in names)


def test_the_list_imports_no_torch():
    code = "import sys; from metaeval.cli.app import app; app(['metrics', 'list'], standalone_mode=False)"
    code += "; print({'torch', 'transformers', 'openai'} & set(sys.modules), file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "overlap" in ended.stdout
    assert ended.stderr.strip() == "set()"


def test_show_downloads_nothing(ran, no_network, tmp_path, monkeypatch):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "empty"))
    ended = ran("metrics", "show", "factcc")
    assert "needs download: 438 MB" in ended.out
    assert "identity          known once the model's files are here" in ended.out


def test_show_with_a_folder_has_the_identity(ran, no_network, tmp_path):
    pytest.importorskip("huggingface_hub")
    (tmp_path / "model").mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "model" / name).write_text("{}")
    ended = ran("metrics", "show", "factcc", "--set", "folder=model")
    assert '"weights":"sha256:' in ended.out


def test_show_of_a_metric_that_needs_an_argument(ran):
    ended = ran("metrics", "show", "worker")
    assert "metric='worker:python my_worker.py'" in ended.out


def test_show_of_a_worker_is_what_it_says_of_itself(ran, tmp_path):
    (tmp_path / "it.py").write_text(WORKER)
    ended = ran("metrics", "show", f"worker:{shlex.quote(sys.executable)} it.py")
    assert '"name":"shared, words"' in ended.out


def test_verify_prints_scores_and_a_verdict(cli):
    ended = cli("metrics", "verify", "overlap")
    assert (ended.code, ended.err) == (0, "")
    heading, *lines = table(ended.out)
    assert heading.split() == ["pair", "score", "tokens", "cut", "alone", "differs", "by"]
    assert len(lines) == 13
    assert max(map(len, ended.out.splitlines())) <= 100
    assert "largest difference 0 (allowed 1e-05)" in ended.out
    assert ended.out.endswith("As it should be.\n")


def test_verify_ends_with_1_where_a_score_moves(cli, tmp_path):
    (tmp_path / "mover.py").write_text(
        "from metaeval import Metric, MetricCard, PairScore\n"
        "class Mover(Metric):\n"
        "    card = MetricCard(name='mover', family='-', summary='-', paper='-', licence='-')\n"
        "    def score(self, sources, statements):\n"
        "        return [PairScore(float(len(sources))) for _ in sources]\n"
    )
    ended = cli("metrics", "verify", "mover:Mover")
    assert ended.code == 1
    # Thirteen pairs with two companions each, of which "No."/"Yes." has the same ones; then one alone: 37 - 1.
    assert "largest difference 3.6e+01" in ended.out
    assert ended.out.endswith("NOT as it should be: do not trust its scores here.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", "overlp"], "Did you mean 'overlap'?"),
        (["verify", "factcc", "--set", "folder=/no/such"], "/no/such"),
        (["verify", "factcc", "--set", "foldr=x"], "Did you mean 'folder'?"),
        (["verify", "overlap", "--set", "folder"], "--set takes key=value"),
        (["verify", "overlap", "--official"], "'overlap' has no official package"),
        (["verify", "ensemble"], "verify overlap, rouge instead"),
        (["verify", "worker:no-such-program"], "cannot be started (No such file or directory)"),
        (["show", "worker:"], "needs a program"),
        (["show", "factcc", "--set", "folder=/no/such"], "/no/such"),
        (["show", "worker:python 'open"], "open quote"),
    ],
)
def test_wrong_input_is_one_sentence(refused, words, said):
    assert said in refused("metrics", *words)


def test_no_network_is_one_sentence(tmp_path):
    """As a person without a network sees it; in a process of its own, because the hub's address is read at import."""
    pytest.importorskip("huggingface_hub")
    environment = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    environment["METAEVAL_CACHE"] = str(tmp_path)
    command = [sys.executable, "-m", "metaeval", "metrics", "verify", "factcc"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 2
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "manueldeprada/FactCC (438 MB, BSD-3-Clause-Clear) is not on this machine" in ended.stderr


def test_the_doctor_in_words(cli, no_network, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    ended = cli("metrics", "doctor")
    assert (ended.code, ended.err) == (0, "")
    assert "sk-very-secret" not in ended.out
    assert "OPENAI_API_KEY   set" in ended.out
    assert f"metaeval cache   {tmp_path / 'cache'} (by METAEVAL_CACHE), " in ended.out
    assert "factcc" in ended.out
    machine = [line for line in ended.out.splitlines() if str(tmp_path) not in line]
    assert max(map(len, machine)) <= 100


def test_the_doctor_for_machines(cli, no_network):
    seen = json.loads(cli("metrics", "doctor", "--json").out)
    assert set("metaeval python packages devices caches splitter keys metrics traps".split()) <= seen.keys()
    assert all(set(trap) == {"package", "what", "metaeval"} for trap in seen["traps"])


def test_a_run_with_a_worker_and_from_the_store(cli, ran, small, tmp_path):
    (tmp_path / "it.py").write_text(WORKER)
    run = ("run", "-m", f"worker:{shlex.quote(sys.executable)} it.py", "-p", "classification", *small, "--full")
    first = ran(*run)
    assert "shared, words@1" in first.out
    assert "it.py@sha256:" in first.out
    assert "27 of 27 pairs from the store" in cli(*run).err
    (tmp_path / "it.py").write_text(WORKER + "# edited\n")
    assert "0 of 27 pairs" in cli(*run).err


def test_serve_gives_a_metrics_own_scores(ran, small, tmp_path):
    """`overlap` served by a second metaeval, beside `overlap` itself: the same column."""
    served = f"worker:{shlex.quote(sys.executable)} -m metaeval metrics serve overlap"
    ran("run", "-m", f"{served},overlap", "-p", "correlation", *small)
    result = json.loads(next(tmp_path.glob("results/*/correlation.json")).read_text(encoding="utf-8"))
    worker, overlap = result["rows"]
    assert worker["values"] == overlap["values"]
    assert '"worker:shared' not in worker["signature"]
    assert "overlap@metaeval-" in worker["signature"]


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("overlp", "", "Did you mean 'overlap'?"),
        ("bm25", "", "a worker process sees only one block of pairs at a time"),
        ("overlap", "hello\n", "This program is a worker, which metaeval starts"),
        ("overlap", "", "This program is a worker, which metaeval starts"),
    ],
)
def test_serve_says_what_is_wrong_on_both_ends(cli, monkeypatch, name, line, said):
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    ended = cli("metrics", "serve", name)
    assert ended.code == 2
    assert said in json.loads(ended.out)["error"]
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("name", ["minilm-bertscore", "support-minilm"])
def test_a_served_metric_loads_its_model_once_for_all_blocks(ran, monkeypatch, name):
    pytest.importorskip("torch", reason="needs the extra 'models'")
    from metaeval.scoring.backends import minilm

    load, loads = minilm.load_encoder, []
    monkeypatch.setattr(minilm, "load_encoder", lambda *given: loads.append(given) or load(*given))
    block = [json.dumps({"id": 0, "source": "Dams store water.", "statement": "Water is stored."}), ""]
    sent = [json.dumps({"protocol": "metaeval-worker/1"}), *block, *block, *block]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in sent)))
    ended = ran("metrics", "serve", name)
    first, *scores = map(json.loads, ended.out.splitlines())
    assert first["name"] == name
    assert scores == scores[:1] * 3
    assert len(loads) == 1
