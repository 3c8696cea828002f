"""Tables of pairs are scored with their ids kept; the score files of shards together are that of the whole."""

import json
import shutil
from pathlib import Path

import pytest

from metaeval.core.files import write_table
from metaeval.report.result import load_result
from metaeval.scoring.score_files import read_scores

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

TOYS = Path(__file__).parents[1] / "scoring" / "executors" / "toys.py"
DATA = ["-d", "ratings", "--data", "pairs.parquet"]
QUICK = [f"--set={key}" for key in ("interval.resamples=0", "comparison.permutations=0", "controls=false")]
ROWS = 70


@pytest.fixture(autouse=True)
def folder(cli, tmp_path):
    """A folder with metrics of one's own; of the distance less is more support, and it reads at most 20 tokens."""
    shutil.copy(TOYS, tmp_path)
    (tmp_path / "own.py").write_text(
        "from metaeval import Metric, MetricCard, PairScore\n\n"
        "class Distance(Metric):\n"
        "    card = MetricCard(name='distance', family='f', summary='s', paper='p', licence='l', direction=-1,\n"
        "                      input_limit=20)\n"
        "    def score(self, sources, statements):\n"
        "        return [PairScore(float(len(set(b.split()) - set(a.split())))) for a, b in zip(sources, statements)]\n"
    )


def made(**changed):
    """Columns of a table: sources of two to five rows; row 60 is row 3 again."""
    source = [f"Bridge {n // 4 % 9} {'x' * (n // 4 % 5)} was opened." for n in range(ROWS)]
    statement = [f"It opened{'!' * (n % 7)} {n}" for n in range(ROWS)]
    source[60], statement[60] = source[3], statement[3]
    table = {"id": [f"r{n}" for n in range(ROWS)], "source": source, "statement": statement}
    table |= {"group": [f"g{n // 4}" for n in range(ROWS)], "gold": [float(n * 7 % 3) for n in range(ROWS)]}
    return table | changed


def write(columns, path="pairs.parquet"):
    if path.endswith(".parquet"):
        pq.write_table(pyarrow.table(columns), path, row_group_size=11)
    else:
        write_table(Path(path), list(columns), list(zip(*columns.values(), strict=True)), {})


def answers(path):
    (file,) = read_scores(Path(path))
    return file.answers


def measured(ran, file, *words, tmp_path):
    """The values of the one metric in a score file."""
    ran("evaluate", file, *words, "-p", "correlation", "-q", *QUICK)
    (row,) = load_result(tmp_path / "results/latest/correlation.json").rows
    return row.scored, {name: value.value for name, value in row.values.items()}


def last(name, value):
    """The columns with another value in the 66th row."""
    column = made()[name]
    return made(**{name: [*column[:65], value, *column[66:]]})


FAULTS = {
    'row 66, column "source" is blank': (last("source", None), DATA),
    'row 66: id "r62" is also that of pairs.parquet row 63': (last("id", "r62"), DATA),
    'row 1, column "statement" is 3; it must be a text': (made(statement=[3] * ROWS), DATA),
    "has no column for the statement": ({name: cells for name, cells in made().items() if name != "statement"}, DATA),
    "none is given": (made(), ["-d", "ratings"]),
    "Unknown split of ratings 'dev'": (made(), [*DATA, "--split", "dev"]),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_wrong_table_is_refused_before_anything_is_scored(message, refused):
    columns, words = FAULTS[message]
    write(columns)
    assert message in refused("score", "-m", "toys:Company", *words, "-q")
    assert not Path("log").exists()


def test_a_dry_run_counts_the_pairs_of_a_table(cli, ran, tmp_path):
    rows = "".join(f"{number},Bridge {number} was opened.,It opened.,{number % 3}\n" for number in range(8))
    (tmp_path / "p.csv").write_text(f"id,source,statement,gold\n{rows}")
    job = ("score", "-m", "overlap", "-d", "ratings", "--data", "p.csv")
    for command in ("score", "run"):
        assert "overlap: 8 pairs, 0 stored, 8 to score (ready)\n" in cli(command, *job[1:], "--dry-run").out
    assert not list(tmp_path.rglob("*.sqlite"))
    ran(*job, "-q")
    assert "overlap: 8 pairs, 8 stored, 0 to score (ready)\n" in cli(*job, "--dry-run").out


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_pairs_keep_their_ids_until_their_scores_are_evaluated(cli, ending, tmp_path):
    """They are those of the data set, and of the file of pairs as a table of ratings."""
    cli("pairs", f"p.{ending}")
    cli("score", "-d", "ratings", "--data", f"p.{ending}", "-m", "overlap")
    found = []
    for data in ((), ("-d", "ratings", "--data", f"p.{ending}")):
        cli("evaluate", "results/overlap.jsonl", *data, "-p", "correlation", *QUICK)
        (row,) = load_result(tmp_path / "results/latest/correlation.json").rows
        found.append((row.metric, row.scored, row.values["spearman"].value))
    assert found == [("overlap", 1054, pytest.approx(found[0][2], abs=1e-12))] * 2


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("own:Distance", DATA),
        ("own:Distance", ("--unit", "page")),
        ("overlap", ("--unit", "citation", "-s", "aggregate=union:2")),
    ],
)
def test_joined_files_of_shards_give_the_numbers_of_the_whole(metric, words, ran, small, tmp_path):
    """A direction, whole pages that are read in chunks and joined chunks make no difference."""
    write(made())
    words = words if words == DATA else (*small, *words)
    name = metric.replace(":", ".")
    job = ("score", "-m", metric, *words, "-q")
    ran(*job, "-o", "whole")
    for index in range(2):
        ran(*job, "--shard", f"{index}/2", "-o", "shards", "--store", f"{index}.sqlite")
    parts = [Path(f"shards/{name}.{index}-of-2.jsonl").read_text() for index in range(2)]
    Path("joined.jsonl").write_text("".join(parts))
    assert len(answers("joined.jsonl")) == len(answers(f"whole/{name}.jsonl")) > parts[0].count("\n") > 0
    whole = measured(ran, f"whole/{name}.jsonl", *words, tmp_path=tmp_path)
    assert measured(ran, "joined.jsonl", *words, tmp_path=tmp_path) == (whole[0], pytest.approx(whole[1], abs=1e-12))
    manifest = json.loads(Path(f"shards/{name}.1-of-2.jsonl.manifest.json").read_text())
    assert (manifest["direction"], manifest["job"]["shard"]) == (1, "1/2")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["-m", "overlap", "--shard", "2/2"], "--shard is '2/2'; allowed: I/N"),
        (["-m", "overlap", "--shard", "70/71"], "--shard is 70/71, and the data have fewer rows"),
        (["-m", "overlap,bm25", "--shard", "0/2"], "'bm25' depends on all sources of a job"),
        (["-m", "llm-discrete", "--shard", "0/2"], "'llm-discrete' would spend its budget in each shard"),
        (["-m", "overlap", "--shard", "0/2", "--dry-run"], "leave --shard out"),
        (["-m", "overlap", "--shard", "0/2", "--requests", "r.jsonl"], "leave --shard out"),
    ],
)
def test_a_shard_that_would_not_be_a_part_of_the_whole_is_refused(words, why, refused):
    write(made())
    assert why in refused("score", *words, *DATA, "-q")


def rows_of(path):
    """What a result file says of its metrics: values, intervals, counts and marks, without signatures."""
    kept = {"scored", "unscored", "total", "statuses", "values"}
    return [row.model_dump(include=kept) for row in load_result(Path(path)).rows if row.kind == "metric"]


def job():
    return Path("results/latest").resolve()


PROTOCOLS = ["correlation", "classification", "retrieval", "decision", "preference", "systems", "verdicts"]


LABELS = ("none", "partial", "full")


def labelled(**changed):
    columns = made(level=[LABELS[n * 7 % 3] for n in range(ROWS)], **changed)
    del columns["gold"]
    return columns


@pytest.mark.parametrize("metric", ["own:Distance", "bm25"])
def test_a_run_on_a_table_gives_the_numbers_of_its_score_file_under_every_protocol(metric, ran):
    """A direction, and scores that depend on all texts, make no difference; a rerun scores nothing."""
    write(labelled(system=[f"s{n % 5}" for n in range(ROWS)]))
    words = (*DATA, "-p", ",".join(PROTOCOLS), *QUICK[1:])
    ran("score", "-m", metric, *DATA, "-o", "out", "-q")
    (file,) = Path("out").glob("*.jsonl")
    ran("evaluate", file, *words)
    read = {path.name: rows_of(path) for path in job().glob("*.json") if path.name != "manifest.json"}
    assert {path.removesuffix(".json") for path in read} >= {*PROTOCOLS} - {"preference"}
    told = ran("run", "-m", metric, *words, "--store", "new.sqlite").err
    assert {name: rows_of(job() / name) for name in read} == read
    assert "from the store" not in told
    kept = {name: (job() / name).read_bytes() for name in read}
    assert "69 of 69 pairs from the store" in ran("run", "-m", metric, *words, "--store", "new.sqlite").err
    assert {name: (job() / name).read_bytes() for name in read} == kept
    assert read["correlation.json"][0]["scored"] >= ROWS - 1


def ran_on(ran, path, *words):
    """The bytes of the correlations of two metrics on a table."""
    ran("run", "-m", "overlap,rouge", "-d", "ratings", "--data", path, "-p", "correlation", "-q", *QUICK, *words)
    return (job() / "correlation.json").read_bytes()


def test_every_form_of_a_table_gives_the_same_scores_and_the_same_result_file(ran):
    pytest.importorskip("openpyxl", reason="needs the extra 'xlsx'")
    columns = labelled()
    columns["statement"][5] = "橋は開いた"
    columns["source"] = [" ".join(text.split()) for text in columns["source"]]  # a line of TSV holds no two blanks
    for ending in ("csv", "tsv", "xlsx", "jsonl", "parquet"):
        write(columns, f"pairs.{ending}")
        ran("score", "-m", "overlap", "-d", "ratings", "--data", f"pairs.{ending}", "-o", ending, "-q")
        assert list(answers(f"{ending}/overlap.jsonl")) == columns["id"]
        assert answers(f"{ending}/overlap.jsonl") == answers("csv/overlap.jsonl")
    manifest = json.loads(Path("csv/overlap.jsonl.manifest.json").read_text())
    assert (manifest["metric"], manifest["pairs"], manifest["job"]["unit"]) == ("overlap", ROWS, "rating")
    found = {ending: ran_on(ran, f"pairs.{ending}") for ending in ("csv", "tsv", "xlsx", "jsonl", "parquet")}
    assert [ending for ending in found if found[ending] != found["csv"]] == []
    other = columns | {"source": [*columns["source"][:-1], "Another text."]}
    write(other, "pairs.csv")
    assert ran_on(ran, "pairs.csv") != found["csv"]  # the scores may differ, and the job's folder does


@pytest.mark.parametrize(
    ("columns", "words", "why"),
    [
        ({"source": None}, [], "no column for the source"),
        ({}, ["--map", "source=sauce"], "no column \"sauce\". Did you mean 'source'?"),
        ({"source": ["", *["x"] * 69]}, [], 'pairs rating r0, column "source" is blank'),
        ({}, ["-s", "chunk.size=50"], "chunk.size=50 is for data with cited documents"),
        ({}, ["-u", "page"], "unit=page is for data with cited documents"),
        ({"judge": [0.5] * ROWS}, ["-m", "juge"], "Did you mean 'judge'"),
    ],
)
def test_what_a_run_on_a_table_lacks_is_said_before_anything_is_scored(columns, words, why, refused):
    write({name: cells for name, cells in (labelled() | columns).items() if cells}, "pairs.csv")
    metric = () if "-m" in words else ("-m", "toys:Company")
    assert why in refused("run", *metric, "-d", "ratings", "--data", "pairs.csv", "-q", *words)
    assert not Path("log").exists()


def test_a_column_and_a_metric_of_one_name_are_told_apart(ran, caplog):
    write(labelled(overlap=[n % 5 / 4 for n in range(ROWS)], judge=[n % 3 / 2 for n in range(ROWS)]))
    ran("run", "-m", "overlap,judge", *DATA, "-p", "correlation", "-q", *QUICK)
    assert ": overlap is the column of this name" in caplog.text
    found = rows_of(job() / "correlation.json")
    ran("evaluate", *DATA, "-p", "correlation", "-q", *QUICK)
    assert rows_of(job() / "correlation.json") == found


def test_the_job_of_a_table_is_shown_viewed_exported_and_run_again(ran):
    from metaeval.explorer.page_data import View, show_job

    columns = labelled(statement=[f"It opened {n} times." for n in range(ROWS)])
    write(columns)
    ran("run", "-m", "overlap,rouge", *DATA, "-q", *QUICK)
    shown = show_job(job(), View())
    about = shown["job"]
    sources = (about["texts"][numbers[0]] for numbers in about["rows"]["texts"])
    statements = (about["statementTexts"][number] for number in about["rows"]["statement"])
    rows = zip(about["rows"]["id"], sources, statements, strict=True)
    assert sorted(rows) == sorted(zip(columns["id"], columns["source"], columns["statement"], strict=True))
    assert [metric["spans"] for metric in about["metrics"][:2]] == [True, True]
    assert shown["spans-0"][0][0]
    assert "overlap@v1" in ran("results", "show").out
    assert "5 of 5 files are the same bytes" in ran("results", "rerun").out
    ran("results", "export", "-o", "out")
    assert list(Path("out").glob("*.csv"))
    ran("view", "-o", "v.html")
    assert Path("v.html").stat().st_size > 10_000


@pytest.mark.parametrize("command", ["run", "evaluate"])
def test_a_data_frame_is_the_data_and_its_job_can_be_run_again(command, ran):
    import pandas

    import metaeval

    table = pandas.DataFrame(labelled(judge=[n % 2 for n in range(ROWS)]))
    settings = {"protocols": ["correlation"], "interval": {"resamples": 0}, "comparison": {"permutations": 0}}
    named = {"metrics": ["overlap"]} if command == "run" else {}
    (found,) = (results := getattr(metaeval, command)(data=table, **named, **settings))
    write(labelled(judge=[n % 2 for n in range(ROWS)]))
    (of_file,) = getattr(metaeval, command)(data="pairs.parquet", dataset="ratings", **named, **settings)
    assert [row.values for row in found.rows] == [row.values for row in of_file.rows]
    results.write()
    assert "files are the same bytes" in ran("results", "rerun").out
