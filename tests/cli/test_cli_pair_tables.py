"""Tables of pairs: scored window by window, in shards, with workers and after a kill, to the same bytes."""

import json
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

import metaeval  # noqa: E402
from metaeval.config import RunConfig  # noqa: E402
from metaeval.errors import UserError  # noqa: E402
from metaeval.report.result import load_result  # noqa: E402
from metaeval.runs.dry_run import plan  # noqa: E402
from metaeval.runs.prepared_run import pair_file  # noqa: E402
from metaeval.scoring import large_pair_tables, shards  # noqa: E402
from metaeval.scoring.engine import score_pairs  # noqa: E402
from metaeval.scoring.score_files import read_scores  # noqa: E402
from tests.scoring.executors.toys import Company  # noqa: E402

TOYS = Path(__file__).parents[1] / "scoring" / "executors" / "toys.py"
DATA = ["-d", "ratings", "--data", "pairs.parquet"]
QUICK = [f"--set={key}" for key in ("interval.resamples=0", "comparison.permutations=0", "controls=false")]
ROWS = 70
WINDOW = 30


@pytest.fixture(autouse=True)
def folder(cli, tmp_path, monkeypatch):
    """A folder with metrics of one's own; a window has 30 rows."""
    shutil.copy(TOYS, tmp_path)
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", WINDOW)
    monkeypatch.setattr(large_pair_tables, "BATCH", 7)


def made(rows=ROWS, **changed):
    """Columns of a table: sources of two to five rows, some of them again in a later window; row 60 is row 3 again."""
    source = [f"Bridge {n // 4 % 9} {'x' * (n // 4 % 5)} was opened." for n in range(rows)]
    statement = [f"It opened{'!' * (n % 7)} {n}" for n in range(rows)]
    statement[5] = "橋は\u2028開いた"  # no end of a line to a worker
    if rows > 60:
        source[60], statement[60] = source[3], statement[3]
    table = {"id": [f"r{n}" for n in range(rows)], "source": source, "statement": statement}
    table |= {"group": [f"g{n // 4}" for n in range(rows)], "gold": [float(n * 7 % 3) for n in range(rows)]}
    return table | changed


def write(columns, path="pairs.parquet", row_group_size=11):
    pq.write_table(pyarrow.table(columns), path, row_group_size=row_group_size)
    return columns


def stored(path):
    with closing(sqlite3.connect(path)) as file:
        return set(file.execute("SELECT pair, score, status, tokens, cut, checksum FROM scores"))


def score(ran, *words, metrics="overlap,toys:Company", out="out"):
    data = DATA[:2] if "--data" in words else DATA
    return ran("score", "-m", metrics, *data, "-o", out, "-q", *words)


def answers(path):
    (file,) = read_scores(path)
    return file.answers


def test_each_window_is_planned_and_scored_as_a_job(cli, monkeypatch):
    table = write(made())
    score(cli)
    found = answers(Path("out/toys.Company.jsonl"))
    assert list(found) == table["id"]
    pairs = list(zip(table["source"], table["statement"], strict=True))
    expected = []
    for first in range(0, ROWS, WINDOW):
        expected += score_pairs(Company(Company.Options()), pairs[first : first + WINDOW]).answers
    expected[60] = expected[3]  # what an earlier window has scored is not scored again
    assert list(found.values()) == expected
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", ROWS)
    score(cli, "--store", "whole.sqlite", out="whole")
    whole = score_pairs(Company(Company.Options()), pairs).answers
    assert list(answers(Path("whole/toys.Company.jsonl")).values()) == whole != expected
    assert Path("whole/overlap.jsonl").read_bytes() == Path("out/overlap.jsonl").read_bytes()
    # The manifest says in how many windows the rows were scored, where that can change a score.
    written = [json.loads(Path(f"{name}/overlap.jsonl.manifest.json").read_text()) for name in ("out", "whole")]
    assert [manifest["job"].get("windows") for manifest in written] == ["3", None]
    assert [manifest["pairs"] for manifest in written] == [ROWS, ROWS]


def test_a_plan_adds_up_the_windows(cli):
    write(made())
    config = RunConfig(dataset="ratings", data=Path("pairs.parquet"), metrics=("overlap",), results=Path("results"))
    (before,) = plan(config, tables=True)
    cli("score", "-m", "overlap", *DATA, "-o", "out", "-q")
    (after,) = plan(config, tables=True)
    assert (before.stored, before.blocks, after.blocks) == (0, 3, 0)
    assert before.pairs == after.pairs == after.stored > 60


def test_row_groups_and_formats_change_nothing(cli):
    columns = made()
    write(columns)
    score(cli, "--format", "parquet")
    write(columns, row_group_size=64)
    score(cli, "--store", "again.sqlite", out="again")
    assert answers(Path("out/toys.Company.parquet")) == answers(Path("again/toys.Company.jsonl"))


def test_windows_end_where_texts_are_many(cli, monkeypatch):
    write(made())
    monkeypatch.setattr(large_pair_tables, "WINDOW_CHARACTERS", 300)
    from metaeval.config import RunConfig

    table = pair_file(RunConfig(dataset="ratings", data=Path("pairs.parquet")))
    sizes = []
    for window in table.windows():
        sizes.append(sum(map(len, {source for source, _ in window.texts})) + sum(len(one) for _, one in window.texts))
    assert len(table.starts) == len(sizes) > 3
    assert max(sizes) <= 300 < min(map(sum, pairwise(sizes)))


@pytest.mark.parametrize("count", [1, 3])
def test_shards_give_the_same_bytes(count, cli, ran):
    write(made())
    score(cli, "--store", "plain.sqlite")
    for index in reversed(range(count)):
        score(cli, "--shard", f"{index}/{count}", out="shards")
    status = ran("shards", "status", "shards")
    assert "window 2 of 3" in status.out
    ran("shards", "merge", "shards", "--store", "merged.sqlite")
    assert stored("merged.sqlite") == stored("plain.sqlite")
    Path("log").unlink()
    score(cli, "--store", "merged.sqlite", out="again")
    assert not Path("log").exists()
    for name in ("overlap.jsonl", "toys.Company.jsonl", "toys.Company.jsonl.manifest.json"):
        assert Path("again", name).read_bytes() == Path("out", name).read_bytes()
    ran("shards", "verify", "shards", "-q", "--trust-config")


@pytest.mark.parametrize("reverse", [False, True])
def test_of_a_pair_in_two_windows_the_first_windows_score_is_merged(reverse, cli, ran, monkeypatch):
    write(made())
    score(cli, "--store", "plain.sqlite")
    score(cli, "--shard", "0/1", out="shards")
    plans = shards.plans
    monkeypatch.setattr(shards, "plans", lambda folder: sorted(plans(folder), reverse=reverse))
    ran("shards", "merge", "shards", "--store", "merged.sqlite")
    assert stored("merged.sqlite") == stored("plain.sqlite")


@pytest.mark.parametrize("executor", ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow])])
def test_workers_give_the_same_files(executor, cli):
    if executor == "ray":
        pytest.importorskip("ray", reason="needs the extra 'ray'")
    write(made())
    score(cli)
    score(cli, "--executor", executor, "-s", "executor.workers=2", "--store", "two.sqlite", out="two")
    assert Path("two/toys.Company.jsonl").read_bytes() == Path("out/toys.Company.jsonl").read_bytes()


def test_windows_that_no_task_has_begun_are_left(cli):
    write(made())
    score(cli, "--shard", "0/1", metrics="overlap", out="shards")
    note = next(
        path
        for path in Path("shards").rglob("plan.json")
        if json.loads(path.read_text())["windows"][0]["numbers"] == [1]
    )
    shutil.rmtree(note.parent)
    status = cli("shards", "status", "shards")
    assert status.code == 1
    assert status.out.count("overlap: 1 of 3 windows are not begun: --array=0-0") == 1
    found = metaeval.shards.status("shards")
    assert [(one.missing, [left.numbers for left in one.unbegun], one.complete) for one in found] == [
        ([], [[1]], False)
    ] * 2


def test_windows_of_the_same_pairs_are_one_plan(cli, ran):
    half = made(WINDOW)
    write({name: [*half[name], *half[name]] for name in ("source", "statement")})
    score(cli, "--shard", "0/1", metrics="overlap", out="shards")
    status = ran("shards", "status", "shards")
    assert "window 0 and 1 of 2" in status.out
    assert f"overlap: {WINDOW} scores" in cli("shards", "merge", "shards").out
    verified = cli("shards", "verify", "shards", "-q")
    assert (verified.code, verified.out.count("all equal")) == (0, 1)


def test_tables_that_share_a_window_are_both_complete(cli, ran):
    write(made())
    score(cli, "--shard", "0/1", metrics="overlap", out="shards")
    longer = made(ROWS + 5)
    write(longer, "longer.parquet")
    score(cli, "--shard", "0/1", "--data", "longer.parquet", metrics="overlap", out="shards")
    status = ran("shards", "status", "shards")
    assert status.out.count("window 0 of 3, window 0 of 3") == 1
    verified = cli("shards", "verify", "shards", "-q")
    assert (verified.code, verified.out.count("all equal")) == (0, 4)


def test_shards_of_another_table_are_not_verified(cli, refused):
    write(made())
    score(cli, "--shard", "0/1", metrics="overlap", out="shards")
    write(made(WINDOW + 1))
    assert "does not match what this machine computes for 'overlap'" in refused("shards", "verify", "shards", "-q")


def test_a_table_that_changes_while_it_is_scored_is_refused(cli):
    from metaeval.config import RunConfig

    write(made())
    Path("swap.py").write_text(
        "import shutil\nfrom pathlib import Path\nfrom toys import Company\n\n"
        "class Swap(Company):\n"
        "    def score(self, sources, statements):\n"
        "        if Path('other.parquet').exists():\n"
        "            shutil.move('other.parquet', 'pairs.parquet')\n"
        "        return super().score(sources, statements)\n"
    )
    write(made(), "other.parquet")
    ended = cli("score", "-m", "swap:Swap", *DATA, "-o", "out", "-q")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "pairs.parquet was changed while it was read: run the same command again" in ended.err
    assert not Path("out/swap.Swap.jsonl").exists()
    assert stored("results/scores.sqlite")
    score(cli, metrics="swap:Swap")
    table = pair_file(RunConfig(dataset="ratings", data=Path("pairs.parquet")))
    Path("pairs.parquet").unlink()
    with pytest.raises(UserError, match="was changed"):
        list(table.windows())


def without(columns, *names):
    return {name: values for name, values in columns.items() if name not in names}


def last(columns, name, value):
    """The columns with another value in the 66th row."""
    return columns | {name: [*columns[name][:65], value, *columns[name][66:]]}


FAULTS = {
    "row 66: source is blank": last(made(), "source", None),
    'row 66: id "r62" is also that of row 63': last(made(), "id", "r62"),
    'row 66: id "r2" is also that of row 3': last(made(), "id", "r2"),
    "row 1: statement is 3; it must be a text": made(statement=[3] * ROWS),
    "has no column for the statement": without(made(), "statement"),
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_wrong_table_is_refused_before_anything_is_scored(message, refused):
    write(FAULTS[message])
    assert message in refused("score", "-m", "toys:Company", *DATA, "-q")
    assert not Path("log").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "none is given"),
        (["--data", "no.csv"], "no.csv does not exist"),
        (["--data", "pairs.parquet", "--split", "dev"], "Unknown split of ratings 'dev'"),
    ],
)
def test_a_table_is_asked_for(words, why, refused):
    write(made())
    assert why in refused("score", "-m", "overlap", "-d", "ratings", *words, "-q")


def test_text_that_is_no_text_is_refused(refused):
    columns = made()
    raw = pyarrow.array([one.encode() for one in columns["source"][:-1]] + [b"\xff"], pyarrow.binary())
    write(columns | {"source": raw.view(pyarrow.string())})
    assert "a text is not UTF-8" in refused("score", "-m", "overlap", *DATA, "-q")


@pytest.mark.parametrize("more", [[], ["--shard", "0/2"]])
def test_a_metric_that_needs_all_pairs_is_refused(more, cli, refused):
    write(made())
    error = refused("score", "-m", "overlap,bm25", *DATA, "-q", *more)
    assert "'bm25' depends on all sources of a job" in error
    assert "3 windows" in error
    write(made(WINDOW))
    score(cli, *more, metrics="bm25")


def test_other_headings_and_other_tables_are_read(cli, ran):
    columns = made(WINDOW)
    write(columns)
    score(cli, metrics="overlap")
    named = {"Nr": columns["id"], "Satz": columns["statement"], "passage": columns["source"]}
    lines = [",".join(named), *(",".join(f'"{cell}"' for cell in row) for row in zip(*named.values(), strict=True))]
    Path("pairs.csv").write_text("\n".join(lines), encoding="utf-8")
    words = ["-d", "ratings", "--data", "pairs.csv", "--map", "statement=Satz", "--map", "id=Nr"]
    ran("score", "-m", "overlap", *words, "-q", "-o", "csv")
    assert answers(Path("csv/overlap.jsonl")) == answers(Path("out/overlap.jsonl"))


def test_scores_of_a_table_are_evaluated_on_it(cli, ran):
    write(made(level=[("none", "partial", "full")[n * 7 % 3] for n in range(ROWS)]))
    score(cli, "--format", "parquet", metrics="overlap")
    ran("evaluate", "out/overlap.parquet", *DATA, "--map", "gold=level", "-p", "correlation", "-q")
    rows = json.loads(Path("results/latest/correlation.json").read_text())["rows"]
    assert "overlap" in [row["metric"] for row in rows if row["kind"] == "metric"]  # beside other columns of numbers


def test_a_dry_run_counts_all_windows_of_a_table(cli, refused, ran, tmp_path, monkeypatch):
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", 3)
    rows = "".join(f"{number},Bridge {number} was opened.,It opened.\n" for number in range(8))
    (tmp_path / "p.csv").write_text(f"id,source,statement\n{rows}")
    job = ("score", "-m", "overlap", "-d", "ratings", "--data", "p.csv")
    assert "overlap: 8 pairs, 0 stored, 8 to score (ready)\n" in cli(*job, "--dry-run").out
    assert "  3 blocks (" in cli(*job, "--dry-run", "-s", "executor.workers=2").out
    assert not list(tmp_path.rglob("*.sqlite"))
    ran(*job, "-q")
    assert "overlap: 8 pairs, 8 stored, 0 to score (ready)\n" in cli(*job, "--dry-run").out
    assert "--dry-run estimates the whole job" in refused(*job, "--dry-run", "--shard", "0/2")


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


def test_pairs_in_json_lines_are_scored_and_those_without_a_label_left_out(cli, tmp_path):
    statements = {"full": "The dam opened.", None: "It opened.", "none": "Shops closed.", "partial": "A dam opened."}
    texts = ({"source": "The dam opened.", "level": level, "statement": text} for level, text in statements.items())
    rows = [{"pair_id": f"p{n}", **text} for n, text in enumerate(texts)]
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    cli("score", "-d", "ratings", "--data", "p.jsonl", "-m", "overlap", "-o", "scores")
    assert [*read_scores(tmp_path / "scores/overlap.jsonl")[0].answers] == ["p0", "p1", "p2", "p3"]
    cli("evaluate", "scores/overlap.jsonl", "-d", "ratings", "--data", "p.jsonl", "-p", "correlation", *QUICK)
    (row,) = load_result(tmp_path / "results/latest/correlation.json").rows
    assert (row.metric, row.scored) == ("overlap", 3)
