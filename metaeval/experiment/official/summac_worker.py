"""The official summac package as a worker (protocol `metaeval-worker/1`): run by path, where metaeval is not installed.

Argument: a JSON object. kind: zs or conv. folder: the NLI model's files. model: its name in the package's table.
options: arguments of the class. nltk_data: folders to look for punkt_tab in. device.
"""

import importlib
import json
import os
import sys
from itertools import takewhile
from typing import Any


def load(settings: dict[str, Any]) -> Any:
    """The official scorer, on the files in `folder`: the package's own table is told where they lie."""
    nltk: Any = importlib.import_module("nltk")
    nltk.data.path[:0] = settings["nltk_data"]
    package: Any = importlib.import_module("summac.model_summac")
    name, options = settings["model"], settings["options"]
    package.model_map[name]["model_card"] = settings["folder"]
    # The package would look for a cache of its author's.
    shared = {**options, "device": settings["device"], "imager_load_cache": False}
    if settings["kind"] == "zs":
        return package.SummaCZS(model_name=name, **shared)
    return package.SummaCConv(models=[name], **shared)


def main() -> None:
    """Serve pairs until the input ends."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    answers, sys.stdout = sys.stdout, sys.stderr  # the package prints

    def say(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    next(sys.stdin)
    settings = json.loads(sys.argv[1])
    scorer = load(settings)
    import transformers

    identity = {"transformers": str(transformers.__version__)}
    say(protocol="metaeval-worker/1", name=f"summac-{settings['kind']}", version="0.0.4", identity=identity)
    while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
        sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
        for pair, score in zip(block, scorer.score(sources, statements)["scores"], strict=True):
            say(id=pair["id"], score=float(score))


if __name__ == "__main__":
    main()
