"""What executors cost beside the scoring, with a metric that does next to nothing.

python benchmarks/executors.py [PAIRS] [EXECUTOR ...], of alone, local and ray; two workers each. CPU seconds are of
this process, and of its children that have ended; of Ray's processes only some are.
"""

import resource
import sys
import time
from collections.abc import Iterator

from metaeval.config import RunConfig
from metaeval.experiment.metrics import score_metrics
from metaeval.scoring.contract import Metric, MetricCard, PairScore


class Toy(Metric):
    """The length of a statement."""

    card = MetricCard(name="toy", family="test", summary="", paper="", licence="")

    def score(self, sources, statements):
        """Lengths."""
        return [PairScore(float(len(text))) for text in statements]


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


def main() -> None:
    """Score the same pairs with each."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    pairs = [(f"Source {number // 20} is a page of a few words.", f"Statement {number}.") for number in range(count)]
    for name in sys.argv[2:] or EXECUTORS:
        config, blocks = RunConfig(executor=EXECUTORS[name]), []
        own = list(cpu())

        def progress(_label: str, done: int, _total: int, blocks: list[float] = blocks) -> None:
            blocks.append(time.monotonic())

        began = time.monotonic()
        ((_, _, found),) = score_metrics(pairs, ["executors:Toy"], config, None, progress)
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


if __name__ == "__main__":
    main()
