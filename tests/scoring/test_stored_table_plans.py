"""Stored plans of tables: made once, found by content, read block by block; never of another table or version."""

import shutil
from multiprocessing import get_context
from pathlib import Path

import pytest

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet'")

from metaeval.errors import UserError  # noqa: E402
from metaeval.scoring import large_pair_tables, stored_table_plans  # noqa: E402
from metaeval.scoring.block_plan import PairsInMemory  # noqa: E402
from metaeval.scoring.score_store import pair_key  # noqa: E402
from metaeval.scoring.stored_table_plans import PairsInFile, PlannedTable, write_window  # noqa: E402

PAIRS = [(f"Bridge {row // 4} {'x' * (row // 4 % 5)} was opened.", f"It opened {row}") for row in range(70)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a table of three windows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", 30)
    write(PAIRS)


@pytest.fixture
def readings(monkeypatch):
    """The paths of tables that are read as a whole."""
    paths = []

    def read(path, headings):
        paths.append(path)
        return large_pair_tables.read_pair_file(path, headings)

    monkeypatch.setattr(stored_table_plans, "read_pair_file", read)
    return paths


def write(pairs, path="pairs.parquet"):
    sources, statements = zip(*pairs, strict=True)
    pq.write_table(pyarrow.table({"source": sources, "statement": statements}), path)


def planned(path="pairs.parquet", headings=(), number=0):
    return PlannedTable(Path("shards"), Path(path), dict(headings)).window(number, 40, [40])


def pairs_of(plan):
    return [pair for _, pairs in plan.read(range(len(plan.sizes))) for pair in pairs]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_stored_plan_is_the_plan_in_memory(number, readings):
    part = PAIRS[30 * number : 30 * number + 30]
    memory = PairsInMemory({pair_key(*pair): pair for pair in part}, 40)
    for _ in range(2):
        stored = planned(number=number)
        assert (stored.plan, stored.sizes) == (memory.plan, memory.sizes)
        wanted = range(len(stored.sizes))[1::3]
        assert [*stored.read(wanted)] == [*memory.read(wanted)]
        assert stored.pairs == memory.pairs
    assert len(readings) == 1


def test_texts_come_back_as_they_were(tmp_path):
    pairs = [("", "a"), ("a\ud800b", "\u2028"), ("橋", "")]
    memory = PairsInMemory({pair_key(*pair): pair for pair in pairs}, 40)
    write_window(tmp_path / "40-000000.parquet", "key", 0, memory)
    assert PairsInFile(tmp_path / "40-000000.parquet", "key", 0, 40).pairs == memory.pairs


def test_a_copy_of_the_table_is_found_by_its_content_and_another_is_planned(readings, monkeypatch):
    planned()
    shutil.copy("pairs.parquet", "copy.parquet")
    planned("copy.parquet")
    assert len(readings) == 1
    other = [*PAIRS[:-1], (PAIRS[-1][0], "It opened 7x")]
    write(other)
    assert pairs_of(planned(number=2)) != pairs_of(planned("copy.parquet", number=2))
    assert len(readings) == 2
    planned(headings={"source": "source"})
    monkeypatch.setattr(large_pair_tables, "WINDOW_ROWS", 31)
    assert len(pairs_of(planned())) == 31
    monkeypatch.setattr(stored_table_plans, "version", lambda _: "another")
    planned()
    assert len(readings) == 5
    assert len([*Path("shards/tables").iterdir()]) == 5


def test_a_plan_that_was_cut_short_goes_on(readings, monkeypatch):
    whole = stored_table_plans.write_window

    def stop(path, table, number, plan):
        if number:
            raise KeyboardInterrupt
        whole(path, table, number, plan)

    monkeypatch.setattr(stored_table_plans, "write_window", stop)
    with pytest.raises(KeyboardInterrupt):
        planned(number=2)
    first = next(Path("shards").rglob("40-000000.parquet"))
    before = first.stat().st_mtime_ns
    monkeypatch.setattr(stored_table_plans, "write_window", whole)
    assert len(pairs_of(planned(number=2))) == 10
    assert (first.stat().st_mtime_ns, len(readings)) == (before, 1)


def _plan_beside(number):
    plan = planned(number=number % 3)
    return plan.plan, len([*Path("shards/tables").iterdir()])


def test_processes_that_start_at_once_share_a_plan():
    with get_context("fork").Pool(6) as pool:
        plans = pool.map(_plan_beside, range(6), chunksize=1)
    assert plans[:3] == plans[3:] == [(planned(number=number).plan, 1) for number in range(3)]
    assert sorted(path.name for path in Path("shards").rglob("*.parquet")) == [f"40-00000{n}.parquet" for n in range(3)]
    assert [path for path in Path("shards").rglob(".*") if path.name.endswith((".unfinished", ".claims"))] == []


def test_damaged_and_foreign_plans_are_refused():
    planned()
    path = next(Path("shards").rglob("40-000000.parquet"))
    content = path.read_bytes()
    at = content.index(b"PAR1", 1) if content.count(b"PAR1") > 2 else len(content) // 4
    for broken in (b"", content[:-9], content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]):
        path.write_bytes(broken)
        with pytest.raises(UserError, match=r"000000.parquet is (damaged|not a Parquet file)"):
            pairs_of(planned())
    shutil.copy(path.with_name("40-000001.parquet"), path)
    with pytest.raises(UserError, match="is damaged, or not the plan of this table: delete this file"):
        planned()
    path.unlink()
    assert len(pairs_of(planned())) == 30


def test_a_note_of_a_later_format_is_passed_over(readings):
    planned()
    note = next(Path("shards").rglob("table.json"))
    note.write_text(note.read_text().replace("metaeval-table/1", "metaeval-table/2"))
    planned()
    assert len(readings) == 2
