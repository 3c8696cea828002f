"""The job that executors are tested with, and what its metrics noted of their work."""

import json
import random
from pathlib import Path

RNG = random.Random(3)
TEXTS = [(f"{'s' * RNG.randrange(1, 150)} {n % 40}", f"statement {'x' * RNG.randrange(9)} {n}") for n in range(120)]
ALL = ("toys:Company", "toys:Observed", "toys:Doubled", "overlap", "bm25")


def begun():
    """Each block that was begun: where, and which. A line that is being written is none yet."""
    log = Path("log")
    whole = log.read_text().rpartition("\n")[0] if log.exists() else ""
    return [json.loads(line) for line in whole.splitlines()]


def write_corpus(path):
    """Write a corpus of 40 documents of two sentences: some 14 blocks of `toys:Company`."""
    rng = random.Random(5)
    rows = [{"type": "corpus", "format": "metaeval-corpus/1", "name": "made"}]
    for number in range(40):
        text = f"Bridge {number} {'x' * rng.randrange(1, 60)} was opened."
        rows.append({"type": "document", "id": f"d{number}", "sentences": [text, "It is long."]})
        rows.append({"type": "statement", "id": f"s{number}", "text": f"It opened{'!' * (number % 5)}"})
        for other in {number, rng.randrange(number + 1)}:
            level = {"level": ["none", "partial", "full"][other % 3]}
            rows.append({"type": "citation", "statement": f"s{number}", "document": f"d{other}", **level})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def running(pid):
    """Whether a process is there, and not only its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
