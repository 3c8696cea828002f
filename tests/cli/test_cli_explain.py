"""explain and diff as typed: the command that explain gives makes the same signature, and diff ends as diff does."""

import json
import shlex
from pathlib import Path

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
    """The words of the command under 'The number again:', without the program's name, its folder and its store."""
    line = out.partition("The number again:\n")[2].splitlines()[0]
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
        ("bm25", "classification", ("--set", "evidence_threshold=0.25", "--set", "interval.level=0.9")),
        ("bm25", "classification", ("--set", "evidence.rule=touched", "--set", "evidence.threshold=0.3")),
        ("rouge", "classification", ("-u", "page", "--set", "over_limit=cut")),
        ("rouge", "classification", ("-u", "evidence", "--set", "evidence.window=2")),
        ("bm25", "classification", ("-u", "citation", "--set", "aggregate=union:2", "--set", "chunk.size=60")),
        ("random", "classification", ()),  # a control
    ],
)
def test_the_command_that_explain_gives_makes_the_number_again(ran, rows, metric, protocol, settings):
    asked = "overlap" if metric == "random" else metric
    controls = ("--set", f"controls={metric == 'random'}")
    first = rows("first", "run", "-m", asked, "-p", protocol, *settings, *FEW, *controls)[protocol][metric]

    ended = ran("results", "explain", first["signature"], "--results", "first")
    again = rows("again", *command_of(ended.out))[protocol][metric]
    assert again["signature"] == first["signature"]
    assert again["values"] == first["values"]


@pytest.mark.parametrize(
    ("typed", "sheet"),
    [
        ("estimate FILE -l LABELS -m rouge-2 --estimand process", "estimate"),
        ("gate fit FILE -l LABELS -m overlap --max-missed 0.2 -o GATE", "gate-fit"),
        ("gate check FILE GATE --max-unsupported 0.7", "gate-check"),
        ("multiverse SCORES --claim '0.5 AUC on mini'", "claim"),
    ],
)
def test_the_command_of_an_estimate_a_gate_and_a_claim_makes_the_sheet_again(cli, tmp_path, typed, sheet):
    cited = [{"id": str(n), "statement": "a cat", "source": ("a cat", "dogs")[n % 2]} for n in range(80)]
    labels = [{"id": str(n), "level": ("full", "none")[n % 2]} for n in range(80)]
    cli("pairs", "pairs.jsonl", "-d", "mini")
    pairs = map(json.loads, (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines())
    scores = [{"id": one["pair_id"], "score": n} for n, one in enumerate(pairs) if "pair_id" in one]
    for name, records in (("FILE", cited), ("LABELS", labels), ("SCORES", scores)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records), encoding="utf-8")

    def made(folder, words):
        named = [f"{word}.jsonl" if word in ("FILE", "LABELS", "SCORES") else word for word in words]
        cli(*named, "-q", "--results", folder)
        (file,) = (tmp_path / folder).glob(f"*/*-*/{sheet}.json")
        return file

    gate = cli("gate", "fit", "FILE.jsonl", "-l", "LABELS.jsonl", "-m", "overlap", "-o", "GATE", "-q")
    first = made("first", shlex.split(typed))
    again = made("again", command_of(cli("results", "explain", str(first)).out))

    assert gate.code == 0
    assert json.loads(again.read_text(encoding="utf-8")) == json.loads(first.read_text(encoding="utf-8"))


def test_the_command_of_a_decision_sheet_makes_the_sheet_again(cli, tmp_path):
    decide = ("thresholds", "rouge", "-u", "citation", "-s", "protocol_options.decision.folds=3")
    cli(*decide, *QUICK, "--results", "first")
    (folder,) = (tmp_path / "first").glob("thresholds/mini-*")
    sheets = ("decision-levels", "decision-thresholds", "calibration", "reliability")
    typed = {" ".join(command_of(cli("results", "explain", str(folder / f"{name}.json")).out)) for name in sheets}
    (words,) = map(shlex.split, typed)
    cli(*words, "-q", "--results", "again")

    assert words[:2] == ["thresholds", "rouge"]
    for name in sheets:
        assert (tmp_path / "again/thresholds" / folder.name / f"{name}.json").read_bytes() == (
            folder / f"{name}.json"
        ).read_bytes()


def test_a_result_file_says_what_its_rows_share_and_what_is_a_rows_own(cli, tmp_path):
    cli("run", "-m", "overlap,rouge", "-p", "retrieval", *QUICK)
    file = "results/latest/retrieval.json"

    whole, one = cli("results", "explain", file), cli("results", "explain", file, "rouge")

    assert (whole.code, one.code) == (0, 0)
    shared, _, own = whole.out.partition("Each row's own:")
    assert "most words in a chunk" in shared
    assert "most words in a chunk" not in own
    assert own.count("rouge@v1") == 1
    assert "metaeval run --metrics overlap,rouge --protocol retrieval --set" in one.out


def test_a_tables_other_file_and_a_folder_stand_for_its_numbers_and_a_changed_file_is_told(cli, ran, tmp_path):
    cli("run", "-m", "overlap", "-p", "classification", "--store", "results/scores.sqlite", *QUICK)
    ran("results", "export")
    folder = (tmp_path / "results/latest").resolve()
    wanted = cli("results", "explain", folder / "classification.json", "overlap").out.partition("\n")[2]
    assert "overlap@v1" in wanted
    for of in (folder, folder / "report.html", folder / "classification.csv"):
        assert cli("results", "explain", of, "overlap").out.endswith(wanted)
        ran("results", "diff", of, folder / ("classification.txt" if of.suffix == ".csv" else ""))
    table = folder / "classification.csv"
    table.write_text(table.read_text().replace("0.7", "0.9"))
    said = cli("results", "explain", table, "overlap").out
    assert "classification.json: the file is as it was written" in said
    assert "classification.csv: the file has changed" in said


def test_unknown_fields_are_shown_and_stop_nothing(ran):
    ended = ran("results", "explain", "phase:full moon|unit:chunk|tide:low")
    lines = {line.split()[0]: line for line in ended.out.splitlines() if line.strip()}
    assert "full moon" in lines["phase"]
    assert "one row for each statement and chunk" in lines["unit"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("results", "explain", "hello"), "Not a signature"),
        (("results", "explain", ""), "Not a signature"),
        (("results", "explain", "nowhere.json"), "Cannot read nowhere.json"),
        (("results", "explain", "unit:chunk", "overlap"), "METRIC selects a row of a result file"),
        (("results", "diff", "unit:chunk", "hello"), "Not a signature"),
        (("results", "diff", "unit:chunk", "nowhere.json"), "Cannot read nowhere.json"),
    ],
)
def test_what_is_neither_signature_nor_result_is_refused(refused, args, said):
    assert said in refused(*args)


def test_diff_ends_with_0_where_nothing_differs(cli):
    cli("run", "-m", "overlap", *QUICK, "--results", "one")
    cli("run", "-m", "overlap", *QUICK, "--results", "two")

    ended = cli("results", "diff", "one/latest/retrieval.json", "two/latest/retrieval.json")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("The same in every choice, and every number of ")
    assert cli("results", "diff", "unit:chunk|B:5", "unit:chunk|B:5").out == "The same in every choice.\n"


def test_diff_of_two_jobs_compares_their_files_of_one_name(cli, ran):
    ran("run", "-m", "overlap", "-p", "correlation", *QUICK)
    ran("run", "-m", "overlap", "-p", "correlation", "--set", "chunk.size=60", *QUICK)
    folders = {path.parent.name for path in Path("results").glob("mini-*/correlation.json")}
    one, other = (name.rpartition("-")[2] for name in folders)

    same, differ = cli("results", "diff", one, one), cli("results", "diff", one, other)

    assert (same.code, same.out.partition(":")[0]) == (0, "correlation")
    assert differ.code == 1
    assert "chunks" in differ.out
    assert cli("results", "diff", one, "ffffffff").code == 2


def test_diff_ends_with_1_and_names_each_choice_and_number(cli):
    cli("run", "-m", "overlap", *QUICK, "--results", "one")
    cli("run", "-m", "overlap", *QUICK, "--results", "two", "--set", "chunk.size=60")
    files = [f"{folder}/latest/classification.json" for folder in ("one", "two")]
    values = [
        next(row for row in json.loads(Path(file).read_text(encoding="utf-8"))["rows"] if row["metric"] == "overlap")
        for file in files
    ]
    before, after = (row["values"]["overall"]["value"] for row in values)

    ended = cli("results", "diff", *files, "--metric", "overlap")

    assert ended.code == 1
    assert "sentences-150 -> sentences-60" in ended.out
    (line,) = [line for line in ended.out.splitlines() if line.startswith("  overall  ")]
    assert f"{before:.6g} -> {after:.6g}" in line
    assert f"by {after - before:+.6g}" in line
    assert cli("results", "diff", "unit:chunk|B:5", "unit:citation|B:5").code == 1


def test_a_changed_file_beside_and_a_file_of_scores_are_told(cli, ran, refused, tmp_path):
    ran("run", "-m", "overlap", "-p", "classification", *QUICK)
    folder = (tmp_path / "results/latest").resolve()
    (folder / "pairs.jsonl").open("a").write("\n")
    said = "pairs.jsonl: the file has changed since it was written"
    assert said in cli("results", "explain", "latest").out
    for command in (("show", "latest"), ("diff", "latest", "latest")):
        assert said in cli("results", *command).err
    (tmp_path / "mine.jsonl").write_text('{"pair_id": "a", "score": 1}\n')
    for command in (("explain", "mine.jsonl"), ("diff", "mine.jsonl", "mine.jsonl")):
        assert "metaeval evaluate mine.jsonl gives the tables" in refused("results", *command)
