"""`metaeval results rerun`: the manifest of a job is its recipe."""

import json
import shutil
from pathlib import Path

import pytest

import metaeval
from metaeval.analyses.command_words import command_of, words_of
from metaeval.analyses.run import RUN
from metaeval.core.config import load_run
from metaeval.runs.evaluate import run
from metaeval.runs.job import write_run
from tests.cli.samples import write_lines

QUICK = {"interval": {"resamples": 20}}
TYPED = ["-q", "-s", "interval.resamples=20", "-s", "comparison.permutations=20"]
TEN = "-d jsonl --data ten.jsonl"
JOBS = [
    *(
        f"run -m {words}"
        for words in (
            "overlap,rouge -p classification",
            "rouge-2 -p retrieval -u citation -s aggregate=mean",
            "rouge -p retrieval --pool bm25:2 -s protocol_options.retrieval.gains=exponential",
            "overlap -p correlation -s chunk.mode=words -s chunk.size=40 -s interval.seed=3",
            "overlap -p correlation -s metric_options.overlap.content_only=false",
            "bm25 -p classification -s evidence.threshold=0.25 -s interval.level=0.9",
            "bm25 -p classification -s evidence.rule=touched -s evidence.threshold=0.3",
            "rouge -p classification -u page -s over_limit=cut",
            "rouge -p classification -u evidence -s evidence.window=2",
            "bm25 -p classification -u citation -s aggregate=union:2 -s chunk.size=60",
        )
    ),
    f"plan overlap rouge --difference 2 {TEN}",
    f"compare overlap rouge -p classification -s margin=0.1 {TEN}",
    f"thresholds overlap -u citation -s protocol_options.decision.folds=3 {TEN}",
    f"thresholds --learn overlap -s folds=3 {TEN}",
    f"multiverse -m overlap,rouge -a pool=own -a chunk.size=60,150 {TEN}",
    "estimate FILE.jsonl -l LABELS.jsonl -m rouge-2 --estimand process",
    "gate fit FILE.jsonl -l LABELS.jsonl -m overlap --max-missed 0.2 -o GATE",
    "gate check FILE.jsonl GATE --max-unsupported 0.7",
]
SUITE = "run --suite -c two.yaml -p classification".split()


pytestmark = pytest.mark.usefixtures("quick_plan", "scored")


@pytest.fixture(autouse=True)
def suite_file(cli, ten_documents):
    """A small corpus; a suite of two data sets and of one that cannot be had, with a metric that does not exist."""
    shutil.copy(ten_documents, "ten.jsonl")
    Path("two.yaml").write_text(
        "datasets: [mini, {dataset: mini, unit: citation}, {dataset: wice, data: none}]\nmetrics: [overlap, nobody]\n"
    )


@pytest.mark.parametrize("typed", JOBS)
def test_a_job_runs_again_by_its_recipe_and_by_its_command(ran, again, held, typed):
    if ".jsonl" in typed.replace("ten.jsonl", ""):
        cited = [{"id": str(n), "statement": "a cat", "source": ("a cat", "dogs")[n % 2]} for n in range(80)]
        write_lines(Path("FILE.jsonl"), cited)
        write_lines(Path("LABELS.jsonl"), [{"id": str(n), "level": ("full", "none")[n % 2]} for n in range(80)])
        ran("gate", "fit", "FILE.jsonl", "-l", "LABELS.jsonl", "-m", "overlap", "-o", "GATE", "-q", "--results", "gate")
    ended = ran(*typed.split(), *TYPED)
    if "--learn" in typed or "margin" in typed:
        held(f"analyses-rerun-{typed.split()[0]}", ended)
    again()


def test_a_suite_and_each_of_its_runs_are_jobs_that_can_be_run_again(cli, contents):
    assert cli(*SUITE, *TYPED).code == 1
    before, parts = contents(Path("results")), sorted(path.name for path in Path("results").glob("mini-*"))
    assert len(parts) == 2
    for job in ("latest", *parts):
        ended = cli("results", "rerun", job)
        assert (ended.code, contents(Path("results"))) == (0, before), ended.err


def test_a_suite_is_run_again_without_what_was_typed_for_it(ran):
    ran("run", "--suite", "-c", "two.yaml", "-u", "chunk", "-d", "mini", *TYPED)
    recipe = json.loads(Path("results/latest/manifest.json").read_text())["recipe"]["options"]
    assert recipe["datasets"] == [{"dataset": "mini"}, {"dataset": "mini"}, {"data": "none", "dataset": "wice"}]
    assert (recipe["dataset"], recipe["unit"], recipe["suite"]) == (["mini"], "chunk", True)
    ran("results", "rerun")


def test_figures_are_drawn_again_of_the_same_jobs(cli, ran, contents, recorded):
    ran("run", "-m", "overlap,rouge", "-p", "classification", *TYPED)
    ran("results", "figures")
    (drawn,) = Path("results/figures").glob("mini-*")
    before = contents(drawn)
    ran("run", "-m", "bm25", *TYPED)
    Path("results/latest/retrieval.json").unlink()
    keys = ("command", "metrics", "files")
    jobs = sorted([{key: row[key] for key in keys} for row in metaeval.results.list().records], key=str)
    recorded.held("analyses-jobs", {"jobs": jobs, "none": metaeval.results.list(results="nowhere").records})

    ended = cli("results", "rerun", drawn.name[-8:])

    assert (ended.code, contents(drawn)) == (0, before), ended.err
    assert len(list(Path("results/figures").iterdir())) == 1


def test_the_recipe_holds_what_was_given_and_no_default(ran):
    ran("plan", "overlap", "rouge", "--difference", "2,5", *TYPED)

    recipe = json.loads(Path("results/latest/manifest.json").read_text())["recipe"]

    assert recipe == {
        "analysis": "plan",
        "options": {
            "metrics": ["overlap", "rouge"],
            "difference": [2.0, 5.0],
            "interval": {"resamples": 20, "seed": 0, "level": 0.95, "fewest": 6, "cluster": "group"},
            "comparison": {"permutations": 20, "alpha": 0.05, "family": "column"},
        },
        "files": {},
    }


def test_options_are_typed_as_their_record_says(recorded):
    values = [True, False, None, 3, 0.5, "a", "a b", "1", " x", "yes", "null", "a: b", "", "[1]", "#", "[a", ["a", "b"]]
    values += [
        ["a,b", "c"],
        [],
        {"size": 3, "mode": "x"},
        {"overlap": {"stem": True, "no": None}},
        {"a.b": 1, "c=d": 2},
    ]
    names = {
        "run": ("metrics", "columns", "chunk", "suite", "unknown"),
        "compare": ("metrics", "by", "pool"),
        "results.export": ("job", "labels"),
    }
    typed = {
        f"{analysis} {name}": [command_of({"analysis": analysis, "options": {name: value}})[1:] for value in values]
        for analysis, options in names.items()
        for name in options
    }
    again = {"chunk": {"size": 150, "mode": "words"}, "interval": {"resamples": 1000, "seed": 3}, "metrics": ["a", "b"]}
    options = RUN.options_of(
        {**again, "dataset": "mini", "unit": "page", "columns": {"full": "yes"}, "controls": False}
    )
    kept = ("metrics", "dataset", "chunk", "interval", "unit", "columns", "controls", "pool")
    words = {f"{short}": words_of(options, kept, RUN.options, short) for short in (True, False)}
    recorded.held("analyses-words", typed | words | {"nothing": command_of({"analysis": "run"})})


def test_a_job_without_a_recipe_says_so(cli, ran):
    ran("plan", "overlap", "rouge", *TYPED)
    path = Path("results/latest/manifest.json")
    made = json.loads(path.read_text())
    for changed, names in (({"nothing": 1}, "'nothing'"), ({"difference": [5.0]}, "results/plan/mini-all-")):
        options = {**made["recipe"]["options"], **changed}
        path.write_text(json.dumps({**made, "recipe": {**made["recipe"], "options": options}}))
        ended = cli("results", "rerun", f"plan/{path.parent.resolve().name}")
        assert (ended.code, ended.err.count(names), ended.err.splitlines()[-1].count(names)) == (2, 1, 1)
    del made["recipe"]
    path.write_text(json.dumps(made))

    assert "cannot be rerun, because its command line was not recorded" in cli("results", "rerun", path.parent).err


def test_a_changed_file_is_named(cli, ran):
    ran("plan", "overlap", "rouge", *TYPED)
    Path("results/latest/power-overall.json").write_text("no table\n")

    ended = cli("results", "rerun")

    assert ended.code == 1
    assert "different: power-overall.json" in ended.out


def test_a_job_of_a_python_function_says_what_to_save_and_type(cli):
    def half(source, statement):
        return 0.5 * (statement[:1] in source)

    config = load_run(None, {"metrics": [half], "protocols": ["classification"], "controls": False, **QUICK})
    write_run(config, run(config))
    again, shown = cli("results", "rerun"), cli("results", "show")

    assert (again.code, again.err.count("\n"), "-m FILE:half" in again.err) == (2, 1, True)
    assert (shown.code, "-m FILE:half" in " ".join(shown.out.split())) == (0, True)
    assert "Command: " not in shown.out
