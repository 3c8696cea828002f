"""The batch file of the page on scale, run by the real `ray symmetric-run` on two nodes.

A node is a set of namespaces on this machine: processes and a network of its own. So `ray stop`, with which
`ray symmetric-run` ends, stops nobody else's cluster.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="needs the extra 'ray'")


from tests.scoring.executors.job import write_corpus

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "scale.md"

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
bash job.sbatch""",
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


def test_two_nodes_score_one_job(folder, temporary):
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
    job = "score -m toys:Company -d jsonl --data made.jsonl -q"
    subprocess.run(["metaeval", *job.split(), "-o", "alone", "--store", "alone.sqlite"], env=environment, check=True)
    Path("log").unlink()
    script = PAGE.read_text(encoding="utf-8").partition("```sh\n#!/bin/bash\n")[2].partition("```")[0]
    for written, here in (
        ("score -m autoais -d gensearch", f"{job} -s metric_options.toys:Company.pause=0.5"),
        ("--cpus-per-task=8 --gpus-per-task=1", "--cpus-per-task=1"),
        ("--num-cpus 8 --num-gpus 1", "--num-cpus 1"),
    ):
        assert written in script
        script = script.replace(written, here)
    (folder / "job.sbatch").write_text(script)
    done = subprocess.run([*OWN_NETWORK, "nodes"], env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert Path("scores/toys.Company.jsonl").read_bytes() == Path("alone/toys.Company.jsonl").read_bytes()
