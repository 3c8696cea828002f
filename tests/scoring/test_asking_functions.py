"""Functions that ask somebody: calls in flight, lists, failures, and what the key of their scores holds."""

import asyncio
import sqlite3
import threading
import time
from collections import Counter

import pytest

import metaeval
from metaeval.core import registry
from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError
from metaeval.runs.metrics import load_metrics
from metaeval.runs.score import score_metrics
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_store import ScoreStore

LONG = "w" * 60_000  # two of them are a block


class Asked:
    """The calls of a function: all, those now, and the most at a time. It waits until that are `wanted` calls."""

    def __init__(self, wanted):
        self.wanted, self.lock, self.deadline = wanted, threading.Lock(), time.monotonic() + 30
        self.all, self.now, self.most = Counter(), 0, 0

    def begin(self, pair):
        with self.lock:
            self.all[pair] += 1
            self.now += 1
            self.most = max(self.most, self.now)

    def end(self):
        with self.lock:
            self.now -= 1

    @property
    def waits(self):
        return self.most < self.wanted and time.monotonic() < self.deadline


def scored(function, pairs, store=None):
    """The results of a function, and its note."""
    name = registry.name_of("metric", function)
    ((_, metric, found),) = score_metrics(pairs, [name], RunConfig(), store)
    return found.answers, metric.note()


def asynchronous(asked, wanted):
    @metaeval.metric(concurrency=None if wanted == 16 else wanted)
    async def judge(source, statement):
        for _ in range(3):
            asked.begin((source, statement))
            while asked.waits:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.001)
            asked.end()
        return float(statement[1:])

    return judge


def threaded(asked, wanted):
    @metaeval.metric(concurrency=wanted)
    def judge(source, statement):
        return asyncio.run(asynchronous(asked, wanted)(source, statement))

    return judge


@pytest.mark.parametrize("wanted", [1, 5, 16])
@pytest.mark.parametrize("made", [asynchronous, threaded])
def test_as_many_calls_as_declared_are_in_flight_over_several_blocks(made, wanted):
    asked = Asked(wanted)
    pairs = [(f"{number // 2} {LONG if number % 4 else ''}", f"s{number}") for number in range(64)]
    answers, note = scored(made(asked, wanted), [*pairs, *pairs])
    assert answers == [PairScore(float(number)) for number in range(64)] * 2
    assert (asked.most, asked.now, note) == (wanted, 0, "")
    assert asked.all == dict.fromkeys(pairs, 3), "equal pairs are asked once"


def test_an_asynchronous_function_is_scored_where_a_loop_runs_and_in_the_same_loop_each_time():
    loops = []

    async def judge(source, statement):
        loops.append(asyncio.get_running_loop())
        return 1.0

    async def cell():
        return metaeval.score(judge, ["a"], ["b"])[0].score, asyncio.get_running_loop()

    for _ in range(2):
        score, own = asyncio.run(cell())
        assert (score, own in loops) == (1.0, False)
    assert len(loops) == 2
    assert loops[0] is loops[1], "a client that a module keeps works in both"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_list_that_fails_takes_no_score_of_another_and_only_what_is_missing_is_asked_again(tmp_path, asynchronous):
    lists, broken = [], True

    def values(sources, statements):
        lists.append(list(zip(sources, statements, strict=True)))
        if broken and "s3" in statements:
            raise TimeoutError("too slow")
        wrong = PairScore(None, Status.FAILED), ValueError("no number"), None
        return [wrong[int(text[1:])] if broken and text in ("s0", "s1", "s2") else 0.5 for text in statements]

    @metaeval.metric(identity="lists 1", batched=True)
    async def later(sources, statements):
        return values(sources, statements)

    function = later if asynchronous else metaeval.metric(identity="lists 1", batched=True)(values)
    pairs = [(f"{number // 2} {LONG}", f"s{number}") for number in range(12)] + [("a", " . ")]
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        answers, note = scored(function, pairs, store)
        failed = [number for number, answer in enumerate(answers) if answer.status is Status.FAILED]
        together = next(each for each in lists if any(text == "s3" for _, text in each))
        assert failed == sorted({0, 1, *(pairs.index(pair) for pair in together)})
        assert (answers[2].status, answers[12].status) == (Status.FAILED, Status.EMPTY)
        assert "TimeoutError: too slow (test_asking_functions.py, line" in note
        assert ("1 ValueError: no number" in note, note.count("; ")) == (True, 2)
        broken = False
        lists.clear()
        answers, note = scored(function, pairs, store)
    assert sorted(pair for each in lists for pair in each) == sorted(pairs[number] for number in failed)
    assert {answer.score for answer in answers[:12]} == {0.5}
    assert note == ""


@pytest.mark.parametrize("in_loop", [True, False])
@pytest.mark.parametrize("error", [UserError("no key"), ImportError("no package"), SystemExit("no key")], ids=repr)
def test_what_every_call_would_raise_ends_the_run_at_once_and_keeps_the_others(tmp_path, in_loop, error):
    @metaeval.metric(identity="ends 1", concurrency=16)
    def judge(source, statement):
        time.sleep({"s0": 0.3, "s1": 0.6}.get(statement, 0))  # one call is in flight at the end
        if statement == "s0":
            raise error
        return 1.0

    @metaeval.metric(identity="ends 1")
    async def later(source, statement):
        return await asyncio.to_thread(judge, source, statement)

    pairs = [("a", f"s{number}") for number in range(16)]
    with ScoreStore(tmp_path / "scores.sqlite") as store, pytest.raises(UserError, match=str(error)):
        scored(later if in_loop else judge, pairs, store)
    with sqlite3.connect(tmp_path / "scores.sqlite") as file:
        assert file.execute("SELECT COUNT(*) FROM scores").fetchone() == (15,)


@pytest.mark.parametrize(("count", "said"), [(5, "5 ZeroDivisionError"), (20, " 20 times in a row"), (21, "")])
def test_pairs_that_all_fail_end_a_small_run_unless_others_have_scores(tmp_path, count, said):
    @metaeval.metric(identity="fails 1")
    def judge(source, statement):
        return 1 / (not said and statement == "w" * 20)

    pairs = [("a", "w" * number) for number in range(1, count + 1)]
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        if not said:
            found = [scored(judge, some, store)[0] for some in (pairs[-2:], pairs[-2:], pairs)]
            assert Counter(answer.status for answer in found[-1]) == {Status.OK: 1, Status.FAILED: 20}
        else:
            with pytest.raises(UserError, match=said):
                scored(judge, pairs, store)


def package(folder, version):
    """Install a package of this version, of which there are only the metadata."""
    place = folder / "judging_kit.dist-info"
    place.mkdir(exist_ok=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: judging-kit\nVersion: {version}\n")


IDENTITIES = [{"model": "one", "temperature": 0}, {"model": "one", "temperature": 0.5}, {"model": "two"}, "one"]


def test_the_key_of_a_score_holds_versions_and_every_option_of_the_identity(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    calls = []
    with ScoreStore(tmp_path / "scores.sqlite") as store:
        for version in ("1.0", "1.1"):
            package(tmp_path, version)
            for identity in IDENTITIES:

                @metaeval.metric(identity=identity, packages=["judging-kit"])
                async def judge(source, statement):
                    calls.append(statement)
                    return 0.5

                for _ in range(2):
                    scored(judge, [("a", "b")], store)
    assert len(calls) == 2 * len(IDENTITIES)
    with sqlite3.connect(tmp_path / "scores.sqlite") as file:
        origins = {row for (row,) in file.execute("SELECT json_extract(identity, '$.origin') FROM metrics")}
    assert 'identity:{"model":"one","temperature":0} judging-kit 1.0' in origins
    assert "identity:one judging-kit 1.1" in origins


def test_a_package_that_is_not_installed_is_named_when_the_metric_is_used():
    @metaeval.metric(packages=["no-such-judging-kit"])
    async def judge(source, statement):
        return 1.0

    with pytest.raises(UserError, match='type "pip install no-such-judging-kit"'):
        load_metrics([registry.name_of("metric", judge)], RunConfig())


NO_VALUES = {"direction": 0, "identity": 2, "concurrency": 0, "packages": "deepeval"}
REFUSED = [*({name: value} for name, value in NO_VALUES.items()), {"low": 1, "high": 1}, {"identity": " "}]
REFUSED += [{"identity": {}}, {"identity": {"model": object()}}, {"identity": {"temperature": float("nan")}}]
REFUSED += [{"concurrency": 2.5}, {"packages": [1]}, {"packages": [" "]}]


@pytest.mark.parametrize("fields", REFUSED, ids=range(len(REFUSED)))
def test_a_declaration_that_cannot_be_is_refused(fields):
    with pytest.raises(UserError, match=f"^{next(iter(fields))} is "):
        metaeval.metric(**fields)
    metaeval.metric(direction=-1, low=0, high=1, identity="a", concurrency=1, packages=("a",))


def test_a_class_declares_identity_and_packages_alone():
    marked = metaeval.metric(identity={"model": "one"}, packages=["numpy"])(type("Own", (metaeval.Metric,), {}))
    assert marked.function_card.packages == ["numpy"]
    with pytest.raises(UserError, match="Own is a class"):
        metaeval.metric(concurrency=2)(marked)
