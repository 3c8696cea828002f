"""The ratio tables of all metrics, one after the other: ours against the usual implementation.

    python -m benchmarks.metrics [name ...]

Each runs in a process of its own, on one pinned thread, with the number of pairs that its module sets; an hour or more
in all. `python -m benchmarks.metrics.NAME` takes numbers of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SHARED = ("__init__", "__main__", "classifiers")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; the number that failed."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in _SHARED)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No benchmark {', '.join(unknown)}; there are: {', '.join(known)}.")
        return 2
    failed = 0
    for name in names or known:
        print(f"== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.metrics.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
