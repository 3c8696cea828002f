"""The job that executors are tested with, and what its metrics noted of their work."""

import json
import random
from pathlib import Path

RNG = random.Random(3)
TEXTS = [(f"{'s' * RNG.randrange(1, 150)} {n % 40}", f"statement {'x' * RNG.randrange(9)} {n}") for n in range(120)]
ALL = ("toys:Company", "toys:Observed", "toys:Doubled", "overlap", "bm25")


def begun():
    """Each block that was begun: where, and which."""
    return [json.loads(line) for line in Path("log").read_text().splitlines()]
