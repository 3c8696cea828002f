"""What a plug-in declares and returns, and what is made of it: cards, answers, functions, workers that die."""

import asyncio
import os
import time
from dataclasses import asdict, replace
from itertools import product
from types import SimpleNamespace

import numpy as np

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.ratings import Rating, RatingColumns
from metaeval.corpus.units import UnitRow
from metaeval.runs.score import array_column, is_fitted_on
from metaeval.scoring import functions
from metaeval.scoring.backends.model_metric import ModelMetric
from metaeval.scoring.block_claims import claims_beside
from metaeval.scoring.contract import Metric, MetricCard, PairScore, Status, check_count, checked_answer
from metaeval.scoring.controls import CONTROLS, group_of, rated_controls
from metaeval.scoring.engine import score_pairs
from metaeval.scoring.executors import worker_pool
from metaeval.scoring.executors.contract import BlockTask, Context, WorkerRecipe
from metaeval.scoring.executors.worker_pool import Pool, Worker, WorkerLostError
from metaeval.scoring.fixed_pairs import BATCH_TOLERANCE, OFFICIAL_TOLERANCE, PUBLISHED, VERIFICATION_PAIRS

CARD = MetricCard(name="own", family="test", summary="s", paper="p", licence="l")
LIMITS = [BATCH_TOLERANCE, OFFICIAL_TOLERANCE, ModelMetric.cpu_batch]


class Own(Metric):
    card = CARD

    def score(self, sources, statements):
        return [PairScore(float(len(text))) for text in statements]


def tried(call, *arguments):
    """What a call returns, or the kind of error that it raises."""
    try:
        return call(*arguments)
    except (UserError, TypeError, NotImplementedError) as error:
        return type(error).__name__


def test_an_answer_is_what_the_contract_makes_of_it(recorded):
    cards = [CARD, replace(CARD, low=0.0, high=1.0), replace(CARD, low=-5e6), replace(CARD, high=-2.0)]
    values = [0, -0.0, 1, 1.000001, 1.0000011, -0.000001, -5e6 - 5, -5e6 - 5.1, -2.0, True, "1", b"1", None, [1]]
    values += [float("nan"), float("inf"), np.float32(0.5), np.complex64(1), np.array([1, 2]), 10**400]
    ends, found, metric = (-5e6 - 5, -2, -2 + 1e-6, -1e-6, -2e-6, 0, 1 + 1e-6, 1 + 2e-6), {}, Own()
    for number, card in enumerate(cards):
        vars(metric)["card"] = card
        found[f"values {number}"] = [tried(checked_answer, metric, PairScore(value)) for value in values]
        found[f"holds {number}"] = [card.holds(value) for value in ends]
    others = [0.5, PairScore(None), PairScore(0.5, Status.EMPTY), PairScore(None, "failed"), PairScore(0.5, "fine")]
    others += [PairScore(None, Status.TOO_LONG, 7, 2), PairScore(None, "fine"), PairScore(0.5, "ok", 3.0, True)]
    found["others"] = [tried(checked_answer, metric, other) for other in others]
    lists = [[1, 2], [1], (1, 2), {1: 1, 2: 2}, {1, 2}, 5, None, "ab", np.zeros(2)]
    found["lists"] = [tried(check_count, metric, each, 2) for each in lists]
    found["oriented"] = [score.oriented(way) for score, way in product((PairScore(0.5, cut=1), others[5]), (1, -1))]
    recorded.held("scoring-answers", found)


def test_a_card_tells_what_its_metric_is(recorded):
    changes = {"checkpoint": "a/b", "revision": "r", "dtype": "float32", "template": "t", "truncation": "both"}
    full = replace(CARD, **changes, splitter="rules", corpus_dependent=True, modules=("numpy", "no-such", "json.tool"))
    found = {}
    for name, card, origin in (("bare", CARD, ""), ("full", full, ""), ("own", full, "code 1")):
        metric = type("Own", (Own,), {"card": card, "origin": origin})()
        found[name] = [metric.identity(), metric.provenance(), card.missing, metric.corpus_dependent]
    bare = Own()
    found["none"] = [bare.estimate([], []), bare.requests([], []), bare.note(), bare.settled([]), bare.replies("", "")]
    found["more"] = [bare.cost("", ""), Own.explains(), bare.describe_options(), bare.kept, bare.block_tokens]
    found["refused"] = [tried(bare.entail, [], []), tried(bare.explain, "", ""), tried(bare.explain_all, [("", "")])]
    ranged = type("Ranged", (Own,), {"range_by_options": lambda self: {"low": 0.5}})()
    assert (ranged.card.low, type(ranged).card.low) == (0.5, None)
    explaining = type("Own", (Own,), {"explain": lambda self, one, other: [one, other]})()
    assert explaining.explain_all([("a", "b"), ("c", "d")]) == [["a", "b"], ["c", "d"]]
    sets = ((), ("made/dev", "mini/test"), ("other/all", "made"))
    jobs = [SimpleNamespace(name=name, split=split) for name, split in product(("made", "mad"), ("all", "dev", "test"))]
    on = [SimpleNamespace(card=replace(CARD, fitted_on=each)) for each in sets]
    found["fitted on"] = [[is_fitted_on(metric, job) for job in jobs] for metric in on]
    recorded.held("scoring-cards", found)


def sure(source, statement):
    """The first line.

    More of it.
    """
    return 1.0


async def later(source, statement):
    await asyncio.sleep(0)
    return 0.5


def several(sources, statements, *more):
    return [None if "no" in text else PairScore(0.25, tokens=1) for text in statements]


def broken(source, statement):
    if "stop" in statement:
        raise StopIteration
    return {"nan": float("nan"), "text": "x"}.get(statement) or 1 / ("zero" not in statement)


def test_functions_are_metrics_with_the_fields_that_they_had(recorded, caplog):
    pairs, found = [("a", text) for text in ("b", "no c", "", "nan", "text", "zero", "zero", "stop")], {}
    marks = [{}, {"concurrency": 2}, {"low": 0, "high": 1, "direction": -1, "threshold": 0.5}, {"packages": ["numpy"]}]
    more = [(several, {"batched": False}), (broken, {"low": 2})]
    for function, mark in [*product((sure, later, several), marks), *more]:
        copy = functions.FunctionType(function.__code__, globals(), function.__name__)
        copy.__doc__ = function.__doc__
        metric = functions.as_class(metaeval.metric(**mark)(copy))()
        card = {name: own for name, own in asdict(metric.card).items() if own != getattr(CARD, name)}
        answers = tried(metric.score, *map(list, zip(*pairs, strict=True)))
        fields = [metric.lists, metric.in_loop, metric.where, metric.concurrency, metric.batched, metric.scored]
        told = len(caplog.messages), metric.note().count(";")
        found["+".join([function.__name__, *mark])] = [card, fields, answers, told]
        caplog.clear()
    assert functions.as_class(Own) is Own
    recorded.held("scoring-functions", found)


def raised(error, cause=None):
    try:
        raise error from cause
    except Exception as one:  # noqa: BLE001 (whatever it is)
        return one


def test_the_cause_of_an_error_is_one_line_without_keys(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "hidden-8")
    monkeypatch.setenv("SHORT_KEY", "word")
    monkeypatch.setenv("OTHER", "visible-words")
    said = "a\n b hidden-8 word visible-words sk-abc.d Bearer x_1 hf_x 0123abcd-ef 0123abc " + "w" * 200
    line = functions.cause_of(raised(ValueError(said)))
    told = "ValueError: a b *** word visible-words … … … … 0123abc " + "w" * 200
    assert line.startswith(f"{told[:212]}… (test_plug_ins.py, line ")
    assert functions.cause_of(raised(RuntimeError("x"), StopIteration("y"))).startswith("StopIteration: y")
    assert functions.cause_of(ValueError(" " * 99_800 + "x" * 201)) == f"ValueError: {'x' * 200}"
    silent = type("Silent", (Exception,), {"__str__": lambda self: 1 / 0})
    assert functions.cause_of(silent()) == "Silent: Silent without a text"


def test_a_metric_that_has_scored_is_not_ended_by_a_job_in_which_all_fails():
    def failing(source, statement):
        return 1 / (statement != "zero")

    for jobs in ([["zero"]], [["fine"], ["zero"]]):
        metric = functions.as_class(failing)()
        metric.kept = False
        told = [tried(score_pairs, metric, [("a", text) for text in job]) for job in jobs]
        assert [isinstance(each, str) for each in told] == [False] * (len(jobs) - 1) + [len(jobs) == 1]


def test_controls_have_the_scores_and_the_groups_that_they_had(recorded):
    levels, words = (2, 0, 1, None, 0), "the river rose in one night and the mill was lost".split()
    texts = [" ".join(words[number % 7 : number % 7 + 1 + number % 5]) for number in range(15)]
    rows = [
        UnitRow(f"c{n}", f"s{n // 2}", f"g{n // 6}", levels[n % 5], True, (n,), texts[n // 2], 5 * n, n % 2)
        for n in range(30)
    ]
    rated = [Rating(f"r{n}", f"g{n // 2}", n % 3 / 2, "ab"[n % 2], text="w " * (n % 4 + 1)) for n in range(24)]
    names = [*CONTROLS, "overlap", "support-mini", "system", "random (control)", "oracle (control)", "mine"]
    kinds = product(names, ("control", "metric"))
    columns = [replace(array_column(name, np.zeros(1), {}), kind=kind) for name, kind in kinds]
    found = {"rows": {name: control(rows) for name, control in CONTROLS.items()}}
    found["rated"] = [rated_controls(RatingColumns.of(each)) for each in (rated, rated[::2], rated[:2], rated[:4])]
    found["kinds"] = [[column.is_random, column.is_system] for column in columns]
    found["groups"] = {name: group_of(name) for name in names}
    fixed = [[pair.name, len(pair.source), len(pair.statement)] for pair in VERIFICATION_PAIRS]
    recorded.held("scoring-controls", {**found, "pairs": fixed, "published": PUBLISHED, "limits": LIMITS})


class Scripted(Pool):
    """Workers that answer at once; one dies over a pair in `deadly`, as often as that says. sent: in order."""

    def __init__(self, deadly, place):
        super().__init__(2 if "start 1" in deadly else 1)
        self.deadly, self.place, self.sent, self.starts, self.stops = deadly, place, [], 0, 0

    def start(self, number):
        self.starts += 1
        return ScriptedWorker(self, number)

    def pack(self, message):
        return message


class ScriptedWorker(Worker):
    def __init__(self, pool, number):
        super().__init__()
        self.pool, self.number = pool, number

    def send(self, packed):
        texts, self.pool.sent = packed.get("pairs"), [*self.pool.sent, [self.number, packed.get("pairs", "job")]]
        numbers = [statement for _, statement in texts or ()]

        def reply():
            # Of two workers the second one fails once the first is ready, which goes on when it is alone.
            while self.pool.size == 2 and (numbers or (self.number and not self.pool._children[0].ready)):
                time.sleep(0.001)
            for text in numbers if texts else ["start", f"start {self.number}"]:
                if self.pool.deadly.get(text, 0):
                    self.pool.deadly[text] -= 1
                    raise WorkerLostError(f"was killed over {text}", self.pool.place)
            if not texts:
                return {"ready": True, "said": ["hello"]}
            if 66 in numbers:
                return {"error": "This is refused."}
            return {"answers": [[[float(number), "ok", 1, 0] for number in numbers] for _ in packed["wanted"]]}

        return reply

    def stop(self):
        self.pool.stops += 1
        self._waiting.shutdown()


DEATHS = {"none": {}, "thrice": {3: 3}, "always": {3: 99}, "start": {"start": 2}, "never": {"start": 3}, "refused": {}}
DEATHS |= {"machines": {3: 5}, "one of two": {"start 1": 3}}


def test_one_worker_gets_blocks_ahead_dies_is_replaced_and_its_pairs_are_halved(recorded, caplog, monkeypatch):
    texts, found = [f"{number:60}" for number in range(80)], {}
    recipe, context = WorkerRecipe(("own",), {}, (), {}), Context(texts, [f" {text}" for text in texts])
    for name, deadly in DEATHS.items():
        ahead = 1 if name in ("always", "machines") else 2  # else it would race with its death
        monkeypatch.setattr(worker_pool, "AHEAD", ahead)
        sizes, tasks = ([4, 70] if name == "refused" else [4, 3, 1, 5]), []
        pool = Scripted({**deadly}, "m" * (name == "machines"))
        for number, size in enumerate(sizes):
            own = texts[sum(sizes[:number]) :][:size]
            tasks.append(BlockTask(number, [b""] * size, [(text, f" {text}") for text in own], (0, 2)))
        done = tried(list, pool.run(recipe, context, tasks))
        again = tried(list, pool.run(recipe, context, tasks[:1]))
        empty = [*pool.run(recipe, context, [])], len(pool._children)
        pool.close()
        jobs = [pair for _, pair in pool.sent].count("job"), pool.starts, pool.stops
        sent = [[number, len(own), own[0]] for number, own in pool.sent if own != "job"]
        done = done if isinstance(done, str) else [[each.task.block, each.answers[1]] for each in done]
        found[name] = {"done": done, "again": len(again), "empty": empty, "jobs": jobs, "sent": sent}
        found[name]["said"] = caplog.messages.copy()
        caplog.clear()
    recorded.held("scoring-pool", found)


def test_a_claim_keeps_other_processes_out_until_it_is_released_and_the_last_deletes_the_file(tmp_path):
    path, name = tmp_path / "scores.sqlite", "0123456789abcdef"
    lock = tmp_path / ".scores.sqlite.claims"

    def elsewhere(*names):
        """Which names another process can claim."""
        with open(lock, "ab"):
            reading, writing = os.pipe()
            if not (child := os.fork()):
                with claims_beside(path) as claims:
                    os.write(writing, bytes(claims.take(each) for each in names))
                os._exit(0)
            os.waitpid(child, 0)
            return [*os.read(reading, len(names))]

    with claims_beside(path) as claims:
        assert claims.take(name)
        assert elsewhere(name, "0" * 16, "f" * 32) == [0, 1, 1]
        assert lock.exists(), "another process is not the last"
        claims.release(name)
        assert elsewhere(name) == [1]
    assert not lock.exists()
    with claims_beside(None) as claims, claims_beside(tmp_path / "gone" / "x") as others:
        assert claims.take(name)
        assert others.take(name)
        claims.release(name)
