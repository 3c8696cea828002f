"""The batch file of `metaeval shards slurm --ray`, run by the real `ray symmetric-run` on two nodes.

A node is a set of namespaces on this machine: processes and a network of its own. So `ray stop`, with which
`ray symmetric-run` ends, stops nobody else's cluster.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra 'ray'")
pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")

from metaeval.scoring.shards import part_notes, shard_states
from tests.scoring.executors.job import begun, write_corpus

pytestmark = [pytest.mark.ray, pytest.mark.slow]

APART = ("unshare", "--fork", "--pid", "--mount-proc")
OWN_NETWORK = (*APART, "--user", "--map-root-user", "--net")
SOON = "RAY_gcs_rpc_server_reconnect_timeout_s=5"  # after so long without the first node the other one ends; else 60
PROGRAMS = {
    "metaeval": f'exec {sys.executable} -m metaeval "$@"',
    "ray": f'exec {sys.executable} -m ray.scripts.scripts "$@"',
    "scontrol": "printf '10.9.0.1\\n10.9.0.2\\n'",
    # What Slurm does: the same command on this node and on the other one, and the worst of their exit codes.
    "srun": """
test "$1 $2 $3" = "--nodes=2 --ntasks=2 --cpus-per-task=1" && shift 3
printf '%s\\n' "exec ${*@Q}" > words.new && export -p > environment && mv words.new words
"$@"; code=$?
until [ -f other ]; do sleep 0.1; done
read -r other < other; rm other
exit $((code > other ? code : other))""",
    "second_node": f"""
until ip address add 10.9.0.2/24 dev second 2> /dev/null; do sleep 0.1; done
ip link set second up && ip link set lo up
while :; do
  until [ -f words ]; do sleep 0.1; done
  mv words taken; (. ./environment; export {SOON}; . ./taken); echo $? > other.new && mv other.new other
done""",
    "first_node": """
bash job.sbatch & job=$!
until [ "$(cat log 2> /dev/null | wc -l)" -ge 5 ]; do kill -0 $job || exit 9; sleep 0.1; done
kill -TERM $job
wait $job; echo "asked to end: $?" >> codes
bash job.sbatch; echo "again: $?" >> codes""",
    "nodes": f"""
{" ".join(APART)} --net second_node & other=$!
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
ip link add first type veth peer name second netns $other
ip address add 10.9.0.1/24 dev first && ip link set first up && ip link set lo up
{" ".join(APART)} first_node""",
}


@pytest.fixture
def temporary():
    """A folder with a short name: a socket's has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        yield folder


def test_two_nodes_score_one_plan_are_asked_to_end_and_go_on(folder, temporary):
    if not shutil.which("ip") or subprocess.run([*OWN_NETWORK, "true"], capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    write_corpus(folder / "made.jsonl")
    (folder / "bin").mkdir()
    for name, body in PROGRAMS.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / "bin" / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "RAY_TMPDIR": temporary,
        "SLURM_JOB_NODELIST": "node[1-2]",
    }
    job = ["-m", "toys:Company", "-d", "jsonl", "--data", "made.jsonl"]
    pause = ["--set", "metric_options.toys:Company.pause=1"]
    written = subprocess.run(
        ["metaeval", "shards", "slurm", *job, *pause, "--tasks", "2", "--cpus", "1", "--ray"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    (folder / "job.sbatch").write_text(written.stdout)
    done = subprocess.run([*OWN_NETWORK, "nodes"], env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert Path("codes").read_text() == "asked to end: 75\nagain: 0\n"
    assert "metaeval: ended as asked. Finished blocks are written; the same command goes on from there." in done.stderr
    assert "Asked to end by SIGTERM: begun blocks are finished first, if that takes at most 20 s." in done.stderr
    (state,) = shard_states(Path("shards"))
    kept = [block.number for note in part_notes(state.place).values() for block in note.blocks]
    assert sorted(kept) == [*range(state.note.blocks)]  # none lost, none kept twice
    times = Counter(str(each["block"]) for each in begun())
    assert len(times) == state.note.blocks
    # What was in hand is finished and kept, but for what takes longer than 20 s: of each of two workers two blocks.
    assert times.total() - len(times) <= 2 * 2
