"""The official bert-score package as a worker (protocol `metaeval-worker/1`): run by path, where metaeval is not
installed.

Argument: a JSON object. folder: the model's files. layer. measure: 0 precision, 1 recall, 2 F1. baseline: the hub id
whose English baseline rescales, or null. device.
"""

import importlib
import json
import os
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any


def load(settings: dict[str, Any]) -> Any:
    """The official scorer, on the files in `folder`."""
    package: Any = importlib.import_module("bert_score")
    # The package reads the kind of model out of its name; in the folder itself the name is a dot, and says nothing.
    os.chdir(settings["folder"])
    baseline: dict[str, Any] = {}
    if settings["baseline"]:
        folder = Path(package.__file__).parent / "rescale_baseline" / "en"
        path = str(folder / f"{settings['baseline']}.tsv")
        baseline = {"lang": "en", "rescale_with_baseline": True, "baseline_path": path}
    scorer = package.BERTScorer(model_type=".", num_layers=settings["layer"], device=settings["device"], **baseline)
    # Transformers once knew this limit by the model's hub id; without one nothing would be cut.
    scorer._tokenizer.model_max_length = min(scorer._tokenizer.model_max_length, 512)
    return scorer


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
    say(protocol="metaeval-worker/1", name="bert-score", version="0.3.13", identity=identity)
    while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
        sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
        scores = scorer.score(cands=statements, refs=sources)[settings["measure"]]
        for pair, score in zip(block, scores.tolist(), strict=True):
            say(id=pair["id"], score=score)


if __name__ == "__main__":
    main()
