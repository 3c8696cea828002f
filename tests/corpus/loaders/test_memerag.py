import json

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.memerag import CHALLENGING, DATASET, VOTES
from metaeval.corpus.loading import load_dataset

YES, NO, OPEN = "Supported", "Not Supported", "Challenging to determine"


def question(number, *labels):
    answer = [
        {"sentence": f"Sentence {place}. ", "sentence_id": place, "factuality": label}
        for place, label in enumerate(labels)
    ]
    context = [{"text": "First passage."}, {"text": f"Passage of {number}."}]
    return {"query_id": number, "query": "Why?", "context": context, "answer": answer}


def test_lists_written_as_python_literals_are_read_and_no_code_is_run(made, tmp_path):
    row = question(1, [YES] * 5, [NO] * 5)
    written = {**row, "context": repr(row["context"]), "answer": repr(row["answer"])}
    assert made(DATASET, [written], "en-votes").fingerprint == made(DATASET, [row], "en-votes").fingerprint
    trap = tmp_path / "trap"
    for text in (f"open({str(trap)!r}, 'w')", "[" * 10_000, "nothing"):
        with pytest.raises(UserError, match=r"field 'answer' is .*; allowed: a list of objects, or a Python literal"):
            made(DATASET, [{**written, "answer": text}], "en-votes")
    assert not trap.exists()


@pytest.mark.parametrize(
    ("language", "supported", "not_supported", "challenging", "sentences_with_votes"),
    # The list of development data, row memerag; sentences with votes counted in the files.
    [
        *(("en", 261, 126, 13, 226), ("de", 333, 125, 10, 272), ("es", 370, 185, 8, 276)),
        *(("fr", 335, 204, 1, 370), ("hi", 259, 90, 2, 208)),
    ],
)
def test_real_counts(real_folder, language, supported, not_supported, challenging, sentences_with_votes):
    corpus = load_dataset(DATASET, language, real_folder)
    assert corpus.level_counts() == {"full": supported, "partial": 0, "none": not_supported}
    assert corpus.dropped == {CHALLENGING: challenging}
    ratings = load_dataset(VOTES, language, real_folder)
    assert [len(row.votes) for row in ratings.rows] == [5] * sentences_with_votes
    majority = real_folder / "memerag" / f"memerag_ext_w_majority_vote.{language}.jsonl"
    published = [
        (f"{language}:{row['query_id']}:{sentence['sentence_id']}", float(sentence["factuality"] == YES))
        for row in map(json.loads, majority.read_text(encoding="utf-8").splitlines())
        for sentence in row["answer"]
    ]
    assert [(row.id, row.gold) for row in ratings.rows] == published


def test_all_languages_are_read(real_folder):
    corpus = load_dataset(DATASET, "all", real_folder)
    assert len({statement.group for statement in corpus.statements.values()}) <= 250 * 5
    assert len(corpus.citations) == 387 + 458 + 555 + 539 + 349
