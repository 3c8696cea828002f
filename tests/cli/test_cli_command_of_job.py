"""The command that `results show` prints for a job makes the same signature, values and tables again."""

import json
import shlex

import pytest

pytestmark = pytest.mark.usefixtures("scored")
FEW = ("--set", "interval.resamples=5", "--set", "comparison.permutations=5")
QUICK = (*FEW, "--set", "controls=false", "-q")


@pytest.fixture
def rows(cli, tmp_path):
    """Run with ARGS into FOLDER: the rows of each result file, {protocol: {metric: row}}."""

    def of(folder, *args):
        ended = cli(*args, "-q", "--results", folder, "--store", "results/scores.sqlite")
        assert (ended.code, ended.out.count("Written")) == (0, 1)
        files = [path for path in (tmp_path / folder).glob("*/*.json") if path.name != "manifest.json"]
        read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
        return {name: {row["metric"]: row for row in result["rows"]} for name, result in read.items()}

    return of


def command_of(out):
    """The words of the command behind 'Command:', without the program's name, its folder and its store."""
    line = out.partition("\nCommand: ")[2].splitlines()[0]
    program, *words = shlex.split(line)
    assert program == "metaeval"
    for option in {"--results", "--store"} & set(words):
        at = words.index(option)
        del words[at : at + 2]
    return words


@pytest.mark.parametrize(
    ("metric", "protocol", "settings"),
    [
        ("overlap", "classification", ()),
        ("rouge-2", "retrieval", ("-u", "citation", "--set", "aggregate=mean")),
        ("rouge", "retrieval", ("--pool", "bm25:2", "--set", "protocol_options.retrieval.gains=exponential")),
        ("overlap", "correlation", ("--set", "chunk.mode=words", "--set", "chunk.size=40", "--set", "interval.seed=3")),
        ("overlap", "correlation", ("--set", "metric_options.overlap.content_only=false")),
        ("bm25", "classification", ("--set", "evidence.threshold=0.25", "--set", "interval.level=0.9")),
        ("bm25", "classification", ("--set", "evidence.rule=touched", "--set", "evidence.threshold=0.3")),
        ("rouge", "classification", ("-u", "page", "--set", "over_limit=cut")),
        ("rouge", "classification", ("-u", "evidence", "--set", "evidence.window=2")),
        ("bm25", "classification", ("-u", "citation", "--set", "aggregate=union:2", "--set", "chunk.size=60")),
        ("random", "classification", ()),  # a control
    ],
)
def test_the_command_makes_the_number_again(ran, rows, metric, protocol, settings):
    asked = "overlap" if metric == "random" else metric
    controls = ("--set", f"controls={metric == 'random'}")
    first = rows("first", "run", "-m", asked, "-p", protocol, *settings, *FEW, *controls)[protocol][metric]

    ended = ran("results", "show", "--results", "first")
    again = rows("again", *command_of(ended.out))[protocol][metric]
    assert again["signature"] == first["signature"]
    assert again["values"] == first["values"]


@pytest.mark.parametrize(
    ("typed", "sheet"),
    [
        ("estimate FILE -l LABELS -m rouge-2 --estimand process", "estimate"),
        ("gate fit FILE -l LABELS -m overlap --max-missed 0.2 -o GATE", "gate-fit"),
        ("gate check FILE GATE --max-unsupported 0.7", "gate-check"),
    ],
)
def test_the_command_of_an_estimate_and_a_gate_makes_the_sheet_again(cli, tmp_path, typed, sheet):
    cited = [{"id": str(n), "statement": "a cat", "source": ("a cat", "dogs")[n % 2]} for n in range(80)]
    labels = [{"id": str(n), "level": ("full", "none")[n % 2]} for n in range(80)]
    for name, records in (("FILE", cited), ("LABELS", labels)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")

    def made(folder, words):
        named = [f"{word}.jsonl" if word in ("FILE", "LABELS") else word for word in words]
        cli(*named, "-q", "--results", folder)
        (file,) = (tmp_path / folder).glob(f"*/*-*/{sheet}.json")
        return file

    gate = cli("gate", "fit", "FILE.jsonl", "-l", "LABELS.jsonl", "-m", "overlap", "-o", "GATE", "-q")
    first = made("first", shlex.split(typed))
    again = made("again", command_of(cli("results", "show", first.parent.name[-8:], "--results", "first").out))

    assert gate.code == 0
    assert json.loads(again.read_text(encoding="utf-8")) == json.loads(first.read_text(encoding="utf-8"))


def test_the_command_of_a_decision_sheet_makes_the_sheet_again(cli, tmp_path):
    decide = ("thresholds", "rouge", "-u", "citation", "-s", "protocol_options.decision.folds=3")
    cli(*decide, *QUICK, "--results", "first")
    (folder,) = (tmp_path / "first").glob("thresholds/mini-*")
    sheets = ("decision-levels", "decision-thresholds", "calibration", "reliability")
    words = command_of(cli("results", "show", "--results", "first").out)
    cli(*words, "-q", "--results", "again")

    assert words[:2] == ["thresholds", "rouge"]
    for name in sheets:
        assert (tmp_path / "again/thresholds" / folder.name / f"{name}.json").read_bytes() == (
            folder / f"{name}.json"
        ).read_bytes()


def test_a_changed_file_beside_and_a_file_of_scores_are_told(cli, ran, refused, tmp_path):
    ran("run", "-m", "overlap", "-p", "classification", *QUICK)
    folder = (tmp_path / "results/latest").resolve()
    (folder / "classification.json").open("a").write("\n")
    assert "classification.json: the file has changed since it was written" in cli("results", "show").err
    (tmp_path / "mine.jsonl").write_text('{"pair_id": "a", "score": 1}\n')
    assert refused("results", "show", "mine.jsonl")
