"""ALCE's citation scores with a T5 as the backend: our batched waves, against one pair at a time through `generate`.

    python -m benchmarks.citation_backend FILE [answers] [layers] [rounds]

FILE: answers, such as CRAG-25's `study1_responses_llm.jsonl.gz`; a sample of them, drawn with a seed. The T5 has the
shape of T5-small 1.1, with `layers` of encoder and decoder each, and random weights; a claim counts as supported from
the median of the joint scores on, since a random model answers "1" to nothing: half of the groups then go on to the
second wave.

    ours           every joint verdict in one call of the engine, then every passage alone, then the rest; each unique
                   pair once, batches of like length, one decoder step
    one at a time  the published loop: sentence by sentence, pair by pair, two steps of `generate` for each, repeated
                   pairs asked again

Both give the same verdicts, which is checked. In CPU seconds on one thread, where both spend their time in the encoder
and batches gain little: premises of several passages hold hundreds of tokens. On a machine with a GPU (where the time
is the wall's, and a lone pair leaves most of it idle) add `cuda` as the last argument.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.metrics.autoais import ALCE, AutoAIS
from benchmarks.paired import pin
from benchmarks.workload import model_folder
from metaeval.citation.alce.citations import PAPER, read_alce, statements
from metaeval.citation.citation_table import claims_of, premise
from metaeval.citation.data_model import Answer, NliPair, Verdict
from metaeval.citation.readers.answer_files import read_answers
from metaeval.scoring.engine import score_pairs

GOAL = 5.0

SMALL = {"d_model": 512, "d_ff": 1024, "num_heads": 6}
"""What T5-small 1.1 has where T5-large has more."""

Verdicts = tuple[list[int | None], list[int | None]]
"""Recall of each claim, and precision of each citation that has one, in order."""


class Ours:
    """The engine behind the pipeline, with its model in memory."""

    def __init__(self, folder: Path, device: str) -> None:
        self.metric = AutoAIS(AutoAIS.Options(model=folder, device=device, score="two_way"))
        self.metric.prepare([], [])

    def scores(self, pairs: Sequence[NliPair]) -> list[float]:
        """Scores, with nothing remembered of earlier rounds."""
        self.metric.__dict__.pop("prompts", None)
        return [float(answer.score or 0) for answer in score_pairs(self.metric, pairs).answers]

    def verdicts(self, answers: Sequence[Answer], threshold: float) -> Verdicts:
        """The pipeline's lines."""
        lines, _ = read_alce(answers).judge(
            lambda pairs: [Verdict(score >= threshold, score) for score in self.scores(pairs)]
        )
        return [line.recall for line in claims_of(lines)], [
            line.precision for line in lines if line.precision is not None
        ]


class OneAtATime:
    """The published loop."""

    def __init__(self, folder: Path, device: str) -> None:
        self.judge = ALCE(folder)
        self.asked = 0
        if device != "cpu":
            self.judge._model.to(device)
            tokenizer = self.judge._tokenizer
            self.judge._tokenizer = lambda text, **how: tokenizer(text, **how).to(device)
            self.judge._both = tokenizer.convert_tokens_to_ids(["▁", "▁1"])

    def verdicts(self, answers: Sequence[Answer], threshold: float) -> Verdicts:
        """Sentence by sentence."""
        recalls: list[int | None] = []
        precisions: list[int | None] = []
        self.asked = 0

        def entails(answer: Answer, places: Sequence[int], claim: str) -> bool:
            self.asked += 1
            return self.judge.generate(premise([answer.passages[place] for place in places]), claim) >= threshold

        for answer in answers:
            for one in statements(answer, PAPER):
                if not one.counts:
                    continue
                places, claim = one.places, one.claim.text
                joint = bool(places) and entails(answer, places, claim)
                recalls.append(int(joint))
                own = iter(places)
                for mark in one.cited:
                    if mark.state != "judged":
                        if mark.state == "fails":
                            precisions.append(0)
                        continue
                    place = next(own)
                    if not joint or len(places) == 1:
                        precisions.append(int(joint))
                        continue
                    others = [other for other in places if other != place]
                    needed = entails(answer, [place], claim) or not entails(answer, others, claim)
                    precisions.append(int(needed))
        return recalls, precisions


def main(file: Path, count: int, layers: int, rounds: int, device: str = "cpu") -> None:
    """Print both times and their ratio."""
    if device == "cpu":
        pin()
    answers = random.Random(0).sample(read_answers(file), count)
    folder = model_folder("t5-large", **SMALL, num_layers=layers, num_decoder_layers=layers, initializer_factor=0.3)
    ours, usual = Ours(folder, device), OneAtATime(folder, device)
    joint = [
        (premise([answer.passages[place] for place in one.places]), one.claim.text)
        for answer in answers
        for one in statements(answer, PAPER)
        if one.places
    ]
    threshold = statistics.median_low(ours.scores(joint)) - 1e-9
    clock = time.process_time if device == "cpu" else time.perf_counter
    seconds: dict[str, list[float]] = {"ours": [], "one at a time": []}
    for _ in range(rounds):
        start = clock()
        mine = ours.verdicts(answers, threshold)
        seconds["ours"].append(clock() - start)
        start = clock()
        theirs = usual.verdicts(answers, threshold)
        seconds["one at a time"].append(clock() - start)
        if mine != theirs:
            raise SystemExit("The two ways give different verdicts.")
    ratio = statistics.median(a / b for a, b in zip(seconds["one at a time"], seconds["ours"], strict=True))
    print(
        f"ALCE on {count} answers, {len(mine[0])} claims, {len(mine[1])} citations, {usual.asked} pairs in the loop; "
        f"T5-small's width, {layers} + {layers} layers, fp32, {device}, median of {rounds}"
    )
    for name, taken in seconds.items():
        print(f"  {name:<14} {statistics.median(taken):8.2f} s")
    print(f"  {ratio:.2f} x, identical verdicts ({sum(map(bool, mine[0]))} claims supported); goal {GOAL} x")


if __name__ == "__main__":
    file, *numbers = sys.argv[1:]
    device = numbers.pop() if numbers and not numbers[-1].isdigit() else "cpu"
    given = [*map(int, numbers), *(10, 8, 3)[len(numbers) :]]
    main(Path(file), *given, device=device)
