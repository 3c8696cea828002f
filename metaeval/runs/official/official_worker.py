"""An official package as a worker (protocol `metaeval-worker/1`): run by path, where metaeval is not installed.

Argument: a JSON object with package (bert-score or summac), folder (the model's files), device, and of bert-score:
layer; measure: 0 precision, 1 recall, 2 F1; baseline: the hub id whose English baseline rescales, or null. Of summac:
kind: zs or conv; model: its name in the package's table; options: arguments of the class; nltk_data: folders to look
for punkt_tab in.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

Score = Callable[[list[str], list[str]], list[float]]
"""A function of sources and statements, of one length, that returns a score for each pair."""


def bert_score(settings: dict[str, Any]) -> Score:
    """Return the official BERTScore scorer for the model files in `folder`."""
    package: Any = importlib.import_module("bert_score")
    # The package infers the kind of model from its name; the name "." in the model's folder avoids this.
    os.chdir(settings["folder"])
    baseline: dict[str, Any] = {}
    if settings["baseline"]:
        folder = Path(package.__file__).parent / "rescale_baseline" / "en"
        path = str(folder / f"{settings['baseline']}.tsv")
        baseline = {"lang": "en", "rescale_with_baseline": True, "baseline_path": path}
    scorer = package.BERTScorer(model_type=".", num_layers=settings["layer"], device=settings["device"], **baseline)
    # Earlier transformers knew this limit by the model's hub id; without one, inputs would not be truncated.
    scorer._tokenizer.model_max_length = min(scorer._tokenizer.model_max_length, 512)
    return lambda sources, statements: list(scorer.score(cands=statements, refs=sources)[settings["measure"]].tolist())


def summac(settings: dict[str, Any]) -> Score:
    """Return the official SummaC scorer for the files in `folder`, which the package's table then gives for `model`."""
    nltk: Any = importlib.import_module("nltk")
    nltk.data.path[:0] = settings["nltk_data"]
    package: Any = importlib.import_module("summac.model_summac")
    name, options = settings["model"], settings["options"]
    package.model_map[name]["model_card"] = settings["folder"]
    # The package would look for its author's cache.
    shared = {**options, "device": settings["device"], "imager_load_cache": False}
    if settings["kind"] == "zs":
        scorer = package.SummaCZS(model_name=name, **shared)
    else:
        scorer = package.SummaCConv(models=[name], **shared)
    return lambda sources, statements: [float(score) for score in scorer.score(sources, statements)["scores"]]


def main() -> None:
    """Read blocks of pairs from standard input and write a line for each score, until the input ends."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    answers, sys.stdout = sys.stdout, sys.stderr  # the package prints

    def say(**fields: Any) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    next(sys.stdin)
    settings = json.loads(sys.argv[1])
    if settings["package"] == "bert-score":
        name, version, score = "bert-score", "0.3.13", bert_score(settings)
    else:
        name, version, score = f"summac-{settings['kind']}", "0.0.4", summac(settings)
    import transformers

    identity = {"transformers": str(transformers.__version__)}
    say(protocol="metaeval-worker/1", name=name, version=version, identity=identity)
    while block := [json.loads(line) for line in takewhile(str.strip, sys.stdin)]:
        sources, statements = ([pair[side] for pair in block] for side in ("source", "statement"))
        for pair, value in zip(block, score(sources, statements), strict=True):
            say(id=pair["id"], score=value)


if __name__ == "__main__":
    main()
