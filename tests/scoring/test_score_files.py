"""Score files: exact round trips in both formats, and one clear sentence for every fault."""

import gzip
import json
import tempfile
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.core.errors import UserError
from metaeval.core.headings import reading_tables
from metaeval.scoring.contract import PairScore, Status
from metaeval.scoring.score_files import align, manifest_path, read_scores, write_scores

FORMATS = (".parquet", ".jsonl")
ODD = ['say "x"', "back\\slash", "line\nbreak", "u\u2028v\u2029w\x85", "née—日本🌧", " s ", "a,b\tc", "\x00", "\r\n"]


def lines(path, *rows):
    """A JSONL score file of these rows (text is written as it stands)."""
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return path


def table(path, **columns):
    """A Parquet score file of these columns."""
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "made.jsonl"


def read(path):
    """The one metric's scores in a file."""
    (file,) = read_scores(path)
    return file


def refuses(path, says):
    with pytest.raises(UserError) as raised:
        read(path)
    assert says in str(raised.value)


ANSWERS = st.builds(
    PairScore,
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(Status.OK),
    st.integers(0, 2**40),
    st.integers(0, 2**40),
) | st.builds(
    PairScore,
    st.none(),
    st.sampled_from([status for status in Status if status is not Status.OK]),
    st.integers(0, 99),
    st.integers(0, 99),
)
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip) | st.sampled_from(
    [text for text in ODD if text.strip()]
)


@pytest.mark.parametrize("suffix", FORMATS)
@given(answers=st.dictionaries(IDS, ANSWERS, min_size=1, max_size=8))
def test_what_is_written_is_read_to_the_last_bit(suffix, answers):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"scores{suffix}"
        manifest = {"metric": "näme", "options": {"k": [1, None]}, "direction": -1}
        write_scores(path, list(answers), list(answers.values()), manifest)
        file = read(path)
        written = manifest_path(path).read_text(encoding="utf-8")
    assert written == json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert list(file.answers.items()) == list(answers.items())
    # -0.0 == 0.0 hides a lost sign; repr does not.
    assert [repr(answer.score) for answer in file.answers.values()] == [repr(a.score) for a in answers.values()]
    assert all(isinstance(answer.status, Status) for answer in file.answers.values())
    assert file.manifest == manifest
    assert file.metric == "näme"


@pytest.mark.parametrize("manifest", [None, {}, {"metric": None}, {"metric": ""}])
def test_without_a_name_in_a_manifest_the_file_names_the_metric(file, manifest):
    lines(file, {"pair_id": "a", "score": 1})
    if manifest is not None:
        manifest_path(file).write_text(json.dumps(manifest), encoding="utf-8")
    assert read(file).metric == "made"
    assert read(file).manifest == (manifest or {})


GOOD = {"pair_id": "good", "score": 0.5}
CASES = json.loads(Path(__file__).with_name("score_files.json").read_text(encoding="utf-8"))


def test_every_table_is_read_or_refused_as_it_was(recorded, tmp_path, caplog):
    """Rows with faults, columns with other names, mapped ones, several metrics; blanks, statuses, tokens and cuts."""
    found = {}
    for number, (name, content, columns) in enumerate(CASES):
        path = tmp_path / f"{number}{name}"
        rows = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
        path.write_text(rows, encoding="utf-8")
        try:
            read = read_scores(path, columns)
            told = [[one.metric, one.column, one.direction, one.signed("c"), one.answers] for one in read]
        except UserError as error:
            told = ["refused", str(error).replace(str(path), ""), path.name in str(error), "\n" in str(error)]
        found[path.name] = [*told, len(caplog.messages)]
        caplog.clear()
    recorded.held("scoring-score-files", found)


@pytest.mark.parametrize(
    ("score", "says"), [([1.0, 2.0], "row 2: pair_id 'a' "), ([True], "row 1: score"), ([], "no ")]
)
def test_a_faulty_parquet_table_is_told_likewise(tmp_path, score, says):
    ids = pyarrow.array(["a"] * len(score), pyarrow.string())
    refuses(table(tmp_path / "made.parquet", pair_id=ids, score=score), says)


@pytest.mark.parametrize("content", [b"", b"PAR1" + b"\x00" * 40 + b"PAR1"])
def test_what_is_no_parquet_file_is_told(tmp_path, content):
    path = tmp_path / "made.parquet"
    path.write_bytes(content)
    refuses(path, "is not a Parquet file (")


def test_a_gzipped_table_is_read_under_its_own_name(tmp_path):
    path = tmp_path / "mine.csv.gz"
    path.write_bytes(gzip.compress(b"pair,score,status\na,0.5,ok\nb,,failed\n"))
    assert (read(path).metric, read(path).answers["a"].score) == ("mine", 0.5)
    assert str(read(path).answers["b"].status) == "failed"
    with pytest.raises(UserError, match="The name of a score file ends in"):
        write_scores(path, ["a"], [PairScore(1.0)], {})


@pytest.mark.parametrize("name", ["scores.txt", "scores", "scores.jsonl.gz", "scores.JSONL"])
def test_other_suffixes_are_refused_both_ways(tmp_path, name):
    path = tmp_path / name
    for use in (lambda: read(path), lambda: write_scores(path, ["a"], [PairScore(1.0)], {})):
        with pytest.raises(UserError, match=rf"\.jsonl.*'{name}'"):
            use()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "says"), [("{", "is not JSON ("), ("[1]", " is [1]; allowed: a JSON object"), ("", "is not JSON (")]
)
def test_a_broken_manifest_is_told_with_the_two_ways_out(file, content, says):
    lines(file, GOOD)
    manifest_path(file).write_text(content, encoding="utf-8")
    refuses(file, f".manifest.json {says.strip()}")
    refuses(file, "delete it to read the scores without a manifest")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("answers", [[], [PairScore(1.0)], [PairScore(1.0)] * 3])
def test_ids_and_answers_of_different_lengths_are_never_paired_off(tmp_path, suffix, answers):
    path = tmp_path / f"s{suffix}"
    with pytest.raises(ValueError, match=r"."):
        write_scores(path, ["a", "b"], answers, {})
    assert not path.exists()


def test_a_partial_file_leaves_the_other_pairs_absent_in_the_order_of_the_job(file):
    lines(file, {"pair_id": "c", "score": 3}, {"pair_id": "a", "score": 1})
    assert align(read(file), ["a", "b", "c"]) == [PairScore(1.0), PairScore(None, Status.ABSENT), PairScore(3.0)]


def test_a_file_made_for_other_pairs_is_refused(file):
    lines(file, *({"pair_id": pair_id, "score": 1} for pair_id in ("zebra", "a", "moose")))
    with pytest.raises(UserError) as raised:
        align(read(file), ["a", "b"])
    assert "2 of the 3 ids in" in str(raised.value)
    assert "for example 'moose' (one is 'a')" in str(raised.value)


def saved(path, **columns):
    """A table of these columns, as programs save it."""
    frame = pandas.DataFrame(columns)
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def scores_by_metric(files):
    return {file.metric: [one.score for one in file.answers.values()] for file in files}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx", ".jsonl", ".parquet"])
def test_a_table_of_any_program_is_read_by_its_columns(tmp_path, caplog, suffix):
    caplog.set_level("INFO", logger="metaeval")
    statuses = {"status": [None, "failed", None], "tokens": [7, 3, None]}
    path = saved(tmp_path / f"made{suffix}", pair_id=["a", "b", "c"], score=[0.25, None, None], **statuses)
    absent = PairScore(None, Status.ABSENT)
    assert read(path).answers == {"a": PairScore(0.25, tokens=7), "b": PairScore(None, Status.FAILED, 3), "c": absent}
    assert read(path).metric == "made"
    # Two metrics' scores, beside what is no score.
    columns = {"overlap": [0.5, 1.0], "rouge": [0.25, None], "level": [2, 1], "note": ["x", "y"]}
    saved(path, ID=["a", "b"], **columns)
    assert scores_by_metric(read_scores(path)) == {"overlap": [0.5, 1.0], "rouge": [0.25, None]}
    assert "'overlap', 'rouge'" in caplog.text
    assert scores_by_metric(read_scores(path, {"score": "rouge", "pair_id": "ID"})) == {"rouge": [0.25, None]}
    with pytest.raises(UserError, match="Did you mean 'rouge'"):
        read_scores(path, {"score": "Rouge"})


def test_a_column_with_a_text_among_its_numbers_is_not_left_out_without_a_word(tmp_path, caplog):
    path = tmp_path / "made.csv"
    path.write_text("pair_id,ours,theirs\na,1,1\nb,2,ERROR\nc,3,3\n")
    with pytest.raises(UserError, match='line 3, column "theirs" is "ERROR"'):
        read_scores(path)
    with reading_tables(skip_bad_cells=True):
        assert scores_by_metric(read_scores(path)) == {"ours": [1, 2, 3], "theirs": [1, None, 3]}
    assert 'count as blank: 1 in "theirs"' in caplog.text
