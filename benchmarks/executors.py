"""What executors cost beside the scoring.

python -m benchmarks.executors [PAIRS] [EXECUTOR ...], of alone, local and ray: a metric that does next to nothing, two
workers each.

python -m benchmarks.executors overhead [BLOCKS] [ROUNDS]: blocks that take a second without a processor, of one worker,
alone and by `ray` in turns, in one cluster. What a block takes beyond its second, and the CPU time of all processes
beyond that, is the executor's; medians over the rounds. Nothing of the start is counted.

python -m benchmarks.executors table PAIRS [EXECUTOR ...]: a Parquet table of pairs through `metaeval score`; time, and
CPU time and most memory of the driver, the workers and the cluster.
"""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from benchmarks.pairs import write_table
from metaeval.core.config import RunConfig
from metaeval.runs.score import score_metrics
from metaeval.scoring.contract import Metric, MetricCard, PairScore
from metaeval.scoring.executors.local import WORKER


class Toy(Metric):
    """The length of a statement."""

    card = MetricCard(name="toy", family="test", summary="", paper="", licence="")

    def score(self, sources, statements):
        """Lengths."""
        return [PairScore(float(len(text))) for text in statements]


TOY = "benchmarks.executors:Toy"
SECOND = 1.0


class Slow(Toy):
    """The same, a second a block: 80 pairs of 400 tokens."""

    card = MetricCard(name="slow", family="test", summary="", paper="", licence="")
    block_tokens: ClassVar[int] = 32_000

    def score(self, sources, statements):
        """Lengths, in a second."""
        time.sleep(SECOND)
        return super().score(sources, statements)


EXECUTORS = {
    "alone": {},
    "local": {"name": "local", "workers": 2},
    "ray": {"name": "ray", "workers": 2},
}


def cpu() -> Iterator[float]:
    """CPU seconds of this process, and of its children that have ended."""
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        yield used.ru_utime + used.ru_stime


def processes() -> dict[int, tuple[str, float]]:
    """The processes that this one has started, and it: their names, and CPU seconds (Linux)."""
    found, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = stat.read_text().rpartition(")")
            words = (stat.parent / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if not words:  # it has ended
            continue
        pid, fields = int(stat.parent.name), rest.split()
        parents[pid] = int(fields[1])
        ticks = int(fields[11]) + int(fields[12])
        found[pid] = (words, ticks / os.sysconf("SC_CLK_TCK"))

    def own(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and own(parents[pid]))

    return {pid: one for pid, one in found.items() if own(pid)}


def memory(pid: int) -> int:
    """Most KiB that a process had in memory, shared memory included; 0 when it has ended (Linux)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return max((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), default=0)


def kind(words: str) -> str:
    """What a process is to the executor."""
    if "ray::_Actor" in words or WORKER in words:
        return "workers"
    return "driver" if "benchmarks.executors" in words or "metaeval score" in words else "the cluster as well"


def overhead(blocks: int = 20, rounds: int = 5) -> None:
    """Print what a block of a second costs beyond it."""
    import ray

    ray.init(address="local", include_dashboard=False, logging_level="error", log_to_driver=False)
    pairs = [(f"{number:06} {'word ' * 320}", "A statement.") for number in range(blocks * 78)]
    taken = {name: [] for name in ("alone", "ray")}
    for number in range(-1, rounds):  # the first round starts what is started once
        for name in taken if number % 2 == 0 else reversed(taken):
            config = RunConfig(executor={"name": "ray", "workers": 1} if name == "ray" else {})
            times, used = [], []

            def progress(_label: str, done: int, total: int, times=times, used=used) -> None:
                times.append(time.monotonic())
                if len(times) == 2 or done == total:
                    used.append(processes())

            list(score_metrics(pairs, ["benchmarks.executors:Slow"], config, None, progress))
            count = len(times) - 2
            spent: dict[str, float] = {}
            for pid, (words, seconds) in used[-1].items():
                spent[kind(words)] = spent.get(kind(words), 0.0) + seconds - used[0].get(pid, ("", 0.0))[1]
            if number >= 0:
                taken[name].append(((times[-1] - times[1]) / count - SECOND, {k: v / count for k, v in spent.items()}))
    for name, found in taken.items():
        beyond = statistics.median(gap for gap, _ in found) * 1e3
        parts = {part: statistics.median(spent.get(part, 0.0) for _, spent in found) * 1e3 for part in found[0][1]}
        said = ", ".join(f"{part} {value:.1f}" for part, value in parts.items())
        print(
            f"{name:6} {rounds} rounds of {blocks} blocks: {beyond:.2f} ms beyond a block's second; CPU ms each: {said}"
        )


def table(count: int, names: list[str]) -> None:
    """Score a table of pairs with each executor."""
    with TemporaryDirectory() as folder:
        write_table(Path(folder) / "pairs.parquet", count)
        for name in names:
            more = [f"--set=executor.{key}={value}" for key, value in EXECUTORS[name].items()]
            job = f"-m metaeval score -m {TOY} -d ratings --data {folder}/pairs.parquet -q"
            given = f"{job} --store {folder}/{name}.sqlite -o"
            began, found, most = time.monotonic(), {}, {}
            command = subprocess.Popen([sys.executable, *given.split(), f"{folder}/{name}", *more])
            while command.poll() is None:
                found |= {pid: one for pid, one in processes().items() if pid != os.getpid()}
                most |= {pid: memory(pid) for pid in found if memory(pid)}
                time.sleep(1)
            took = time.monotonic() - began
            assert command.returncode == 0
            spent: dict[str, float] = {}
            sizes: dict[str, int] = {}
            for pid, (words, seconds) in found.items():
                spent[kind(words)] = spent.get(kind(words), 0.0) + seconds
                sizes[kind(words)] = sizes.get(kind(words), 0) + most.get(pid, 0)
            said = ", ".join(f"{part} {seconds:.0f}" for part, seconds in spent.items())
            memories = ", ".join(f"{part} {size / 2**20:.2f}" for part, size in sizes.items())
            print(
                f"{name:6} {count:,} pairs: {took:.0f} s, {count / took:,.0f} pairs/s; CPU s: {said} "
                f"({spent['driver'] / count * 1e6:.0f} us a pair in the driver); most GiB: {memories}",
                flush=True,
            )


def quick(count: int, names: list[str]) -> None:
    """Score the same pairs with each executor."""
    pairs = [(f"Source {number // 20} is a page of a few words.", f"Statement {number}.") for number in range(count)]
    for name in names:
        config, blocks = RunConfig(executor=EXECUTORS[name]), []
        own = list(cpu())

        def progress(_label: str, done: int, _total: int, blocks: list[float] = blocks) -> None:
            blocks.append(time.monotonic())

        began = time.monotonic()
        ((_, _, found),) = score_metrics(pairs, [TOY], config, None, progress)
        took = time.monotonic() - began
        mine, children = (now - before for now, before in zip(cpu(), own, strict=True))
        assert all(answer.score is not None for answer in found.answers)
        scored = blocks[-1] - blocks[1]
        print(
            f"{name:6} {count:,} pairs in {len(blocks) - 1:,} blocks: {took:.1f} s, {count / took:,.0f} pairs/s; "
            f"{mine:.1f} CPU seconds here ({mine / count * 1e6:.0f} us a pair), {children:.1f} of children; "
            f"{scored / max(len(blocks) - 2, 1) * 1e3:.2f} ms from block to block",
            flush=True,
        )


def main() -> None:
    """Measure what is asked for."""
    words = sys.argv[1:]
    if words[:1] == ["table"]:
        table(int(words[1]), words[2:] or list(EXECUTORS))
    elif words[:1] == ["overhead"]:
        overhead(*map(int, words[1:]))
    else:
        quick(int(words[0]) if words else 100_000, words[1:] or list(EXECUTORS))


if __name__ == "__main__":
    main()
