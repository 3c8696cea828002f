"""A corpus file of one's own that cannot be judged, or only in part."""

import pytest

RUN = ("run", "--metrics", "overlap", "--dataset", "jsonl", "--set", "interval.resamples=50")
QUICK = (*RUN, "--set", "controls=false")
HEADER = {"type": "corpus", "format": "metaeval-corpus/1", "name": "mine"}
DOCUMENT = {"type": "document", "id": "d", "text": "Rain fell."}
STATEMENT = {"type": "statement", "id": "s", "text": "It rained."}
CITATION = {"type": "citation", "statement": "s", "document": "d", "level": "full"}


def test_validate_lists_every_problem_and_says_that_the_file_cannot_be_used(cli, write_corpus):
    path = write_corpus([HEADER, DOCUMENT | {"sentences": []}, STATEMENT, CITATION | {"level": "ful"}, "{"])

    ended = cli("data", "validate", path)

    assert ended.code == 2
    assert [line.split(":")[0] for line in ended.out.splitlines()] == ["line 2", "line 4", "line 5"]
    assert "cannot be used until these problems are fixed" in ended.err


def test_validate_advises_the_unit_that_drops_no_label(cli, write_corpus, small_rows):
    """Two citations of a page of several chunks carry no evidence: by chunk, nobody knows which one was meant."""
    long = {"type": "document", "id": "long", "sentences": ["Rain fell on the hills all day. " * 10] * 4}
    cited = [{"type": "citation", "statement": f"s{n}", "document": "long", "level": "full"} for n in (0, 1)]
    path = write_corpus([*small_rows, long, *cited])

    advised = cli("data", "validate", path)
    ended = cli(*QUICK, "--data", path, "-u", "citation", "-p", "correlation", "--full")

    assert advised.code == 0
    assert advised.out.splitlines()[0].endswith(" -u citation")
    assert "2 of 11 citations have no evidence" in advised.out
    assert "11 scored + 0 unscored + 0 excluded = 11" in ended.out


@pytest.mark.parametrize("level", ["full", "partial", "none"])
def test_a_corpus_of_one_level_has_no_table_and_nothing_is_scored(refused, write_corpus, small_rows, tmp_path, level):
    rows = [row | {"level": level} if row["type"] == "citation" else row for row in small_rows]

    said = refused(*RUN, "--data", write_corpus(rows), "-u", "citation")

    assert "No protocol can evaluate metrics on small. Classification: no row is " in said
    assert "Correlation: one gold level only, so every metric has the same value there, or none." in said
    assert not (tmp_path / "results").exists()


def test_a_protocol_that_tells_nothing_is_left_out_and_said(ran, write_corpus, tmp_path):
    """Every document is one chunk, and every statement has one: NDCG is 1 for any metric."""
    ended = ran(*QUICK, "--data", write_corpus(), "-p", "all")
    assert "Left out: retrieval on small: the candidates of each statement are of one level, so" in ended.out
    assert "NDCG" not in ended.out
    assert {path.stem for path in (tmp_path / "results/latest").glob("*.json")} - {"manifest"} == {
        "correlation",
        "classification",
    }

    ran(*QUICK, "--data", "small.jsonl", "-p", "retrieval", "--pool", "bm25:2")
