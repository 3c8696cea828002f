import json
from collections import Counter

import pytest

from metaeval.core.errors import UserError
from metaeval.corpus.loaders.frank import DATASET, HUMAN, METRICS, SCORES
from metaeval.corpus.loading import check_options, load_dataset

HUMANS = [
    {"hash": "a", "model_name": "bart", "dataset": "cnndm", "Factuality": 1.0, "split": "test"},
    {"hash": "a", "model_name": "pgn", "dataset": "cnndm", "Factuality": 0.5, "split": "test"},
    {"hash": "7", "model_name": "PtGen", "dataset": "bbc", "Factuality": 0.0, "split": "valid"},
    {"hash": "8", "model_name": "PtGen", "dataset": "bbc", "Factuality": 1.0, "split": "valid"},
]
OUTPUTS = [{**row, **dict.fromkeys(METRICS.values(), 0.25), "Dep Entail": None} for row in HUMANS]


@pytest.fixture
def frank(tmp_path):
    """Load made rows as if they were the two published files."""

    def load(humans=HUMANS, outputs=OUTPUTS, split="all", **options):
        paths = {HUMAN: tmp_path / HUMAN, SCORES: tmp_path / SCORES}
        paths[HUMAN].write_text(json.dumps(humans))
        paths[SCORES].write_text(json.dumps(outputs))
        return DATASET.load(split, paths, check_options(DATASET, options))

    return load


def test_rows_of_splits_and_subsets_become_ratings_with_fifteen_scores(frank):
    ratings = frank()
    first = ratings.rows[0]
    assert (first.id, first.group, first.system, first.subset, first.gold) == ("a:bart", "a", "bart", "cnndm", 1.0)
    assert len(ratings.scores) == 15
    assert ratings.scores["ROUGE-L"] == dict.fromkeys((row.id for row in ratings.rows), 0.25)
    assert set(ratings.scores["DAE"].values()) == {None}
    assert [row.id for row in frank(split="validation").rows] == ["7:PtGen", "8:PtGen"]
    ratings = frank(subset="cnndm")
    assert [row.id for row in ratings.rows] == list(ratings.scores["BLEU"]) == ["a:bart", "a:pgn"]
    assert ratings.dropped == {"ratings of the other subset (subset=cnndm)": 2}


def test_faulty_scores_are_told(frank):
    with pytest.raises(UserError, match=r"record 4: field 'FactCC' is NaN; allowed: a finite number"):
        frank(outputs=[*OUTPUTS[:-1], {**OUTPUTS[-1], "FactCC": float("nan")}])
    with pytest.raises(UserError, match=r"record 5: the file has two rows of scores for '8:PtGen'"):
        frank(outputs=[*OUTPUTS, OUTPUTS[-1]])


@pytest.mark.parametrize(
    ("split", "ratings", "articles"),
    # Summaries and articles of FRANK's validation and test set: the README of its repository, "Validation-Test Split".
    [("validation", 671, 149), ("test", 1575, 350), ("all", 2246, 499)],
)
def test_real_counts(real_folder, split, ratings, articles):
    rows = load_dataset(DATASET, split, real_folder).rows
    assert (len(rows), len({row.group for row in rows})) == (ratings, articles)
    assert len({row.system for row in rows}) == 9


def test_real_scores_are_missing_where_the_files_have_null(real_folder):
    # Counted in the published file with `grep -c '"Dep Entail": null'` and the like.
    scores = load_dataset(DATASET, None, real_folder).scores
    missing = Counter({name: list(values.values()).count(None) for name, values in scores.items()})
    assert +missing == {"DAE": 83, "FEQA": 4}
