"""support-mini against the values of its first reading, its parts by hand, and its bytes on any machine setting."""

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval
from metaeval.core.errors import UserError
from metaeval.corpus.languages import fold
from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metrics_zoo import cover, support_mini
from metrics_zoo.overlap import Overlap
from metrics_zoo.support_mini import (
    FILE,
    SupportMini,
    SupportMiniOptions,
    SupportModel,
    judge,
    load_model,
    uncovered_words,
)

WIDE = json.loads(Path(__file__).with_name("wide_pairs.json").read_text(encoding="utf-8"))
GOLDEN = Path(__file__).parents[1] / "golden" / "metrics"
TEXTS = {pair["id"]: (pair["source"], pair["statement"]) for pair in json.loads((GOLDEN / "pairs.json").read_text())}
EXPECTED = {pair["id"]: pair for pair in json.loads((GOLDEN / "support_mini.json").read_text())["pairs"]}
# The parameters that the expected values were made with: of vectors and idf, what these texts need.
FIRST = SupportModel((GOLDEN / "support_mini.npz").read_bytes())
NEAR = 5e-3  # the shipped parameters were fitted to more digits than the first ones


@pytest.mark.parametrize("name", TEXTS)
def test_both_probabilities_and_uncovered_words_are_those_of_the_first_reading(name):
    source, statement = TEXTS[name]
    first, expected = FIRST.judge(FIRST.read_source(source), FIRST.read_statement(statement)), EXPECTED[name]
    for found, apart in ((first, 1e-6), (judge(source, statement), NEAR)):
        assert found.some == pytest.approx(expected["p_some"], abs=apart)
        assert found.full_given_some == pytest.approx(expected["p_full_given_some"], abs=apart)
        assert found.expected == pytest.approx(expected["score"], abs=apart)
        assert found.uncovered() == expected["uncovered"]
    assert uncovered_words(source, statement) == expected["uncovered"]


@pytest.mark.parametrize("score", ["expected", "some", "full", "full_given_some"])
def test_the_metric_gives_the_value_that_its_option_names_and_none_without_a_word(score):
    answers = score_pairs(SupportMini(SupportMiniOptions(score=score)), list(TEXTS.values())).answers
    for name, answer in zip(TEXTS, answers, strict=True):
        if TEXTS[name][1].strip():
            assert answer.score == getattr(judge(*TEXTS[name]), score)
        else:
            assert (answer.score, answer.status) == (None, Status.EMPTY)


def test_wide_pairs_are_read_covered_and_judged_as_recorded(recorded):
    model = load_model()
    told = {"pieces": [model._split(word) for word in ("", "naïve", "x_y", "zzyzx", "東", "1873")]}
    for number, (source, statement) in enumerate(WIDE):
        read, claim = (fold(text) for text in (source, statement))
        words, claimed = model.read_source(read), model.read_statement(claim)
        told[f"{number}"] = {
            "judged": model.judge(words, claimed),
            "features": list(model.features(words, claimed).values()),
            "spans": [[*span] for span in model.explain(source, statement)[:: 1 if number < 3 else 4]],
            "uncovered": [uncovered_words(source, statement, below) for below in (0.25, 0.5, 1.0)],
            "sentences": [words.sentences, words.places, words.starts, words.filled],
            "looks": [claimed.words, claimed.weights, claimed.named, claimed.number, claimed.clauses],
        }
    assert cover.cover_of(np.diag([1.0, 3e-6]), np.array([0.5, 0.5])).picked == [0, 1]
    answers = SupportMini().score(*zip(*WIDE, strict=True))
    recorded.held("zoo-support", told | {"answers": [[*answer] for answer in answers]})


def test_the_expected_level_by_hand():
    # 0.8 (1 + 0.25) / 2; three of four words are covered at least half
    found = support_mini.Support(0.8, 0.25, {"a": 1.0, "b": 0.5, "c": 0.49, "d": 0.0})
    assert found.expected == pytest.approx(0.5)
    assert found.full == pytest.approx(0.2)
    assert found.uncovered() == ["c", "d"]
    assert found.uncovered(below=0.4) == ["d"]


def test_a_word_without_end_is_read():
    assert judge("a" * 200_000, "b" * 200_000).coverage


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abcd")))
def test_the_common_subsequence_is_that_of_the_table_of_all_prefixes(one, other):
    row = [0] * (len(other) + 1)
    for word in one:
        last, row = row, [0]
        for number, met in enumerate(other):
            row.append(last[number] + 1 if word == met else max(last[number + 1], row[-1]))
    assert cover.common_subsequence(one, other) == row[-1]


@given(st.lists(st.floats(0, 1), min_size=1), st.sampled_from([0, 0.1, 0.25, 0.5]))
def test_quantiles_are_numpys(values, share):
    assert cover._quantile(np.array(values), share) == pytest.approx(np.quantile(values, share), abs=1e-12)


def test_products_of_vectors_are_exact_in_any_order():
    model = load_model()
    words = [word for source, statement in TEXTS.values() for word in f"{source} {statement}".lower().split()]
    rows = model.read_source(" ".join(dict.fromkeys(words))).vectors
    assert len(rows) > 200
    products = rows @ rows.T
    order = np.random.default_rng(0).permutation(rows.shape[1])
    assert np.array_equal(products, rows[:, order] @ rows[:, order].T)
    assert np.array_equal(products[7], np.cumsum(rows[7] * rows, axis=1)[:, -1])
    assert np.diag(products) == pytest.approx(1, abs=1e-6)


DIGITS = """
import sys


class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Missing)
import metaeval
from metrics_zoo.support_mini import SupportMini

pairs = [(pair.source, pair.statement) for pair in metaeval.pairs(dataset="mini")][::29]
print([answer.score.hex() for answer in SupportMini().score(*zip(*pairs))])
"""


def digits(*missing, **environment):
    """What a fresh process computes without some packages."""
    done = subprocess.run(
        [sys.executable, "-c", DIGITS, *missing],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_threads_hash_seed_and_missing_packages_move_no_bit():
    one = digits(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="0")
    other = digits(*("torch", "tokenizers"), OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", PYTHONHASHSEED="12345")
    assert one == other


def changed(**arrays):
    """The shipped parameters with some arrays replaced, as the bytes of a file."""
    with np.load(FILE, allow_pickle=False) as file:
        kept = {name: file[name] for name in file.files}
    target = io.BytesIO()
    np.savez(target, **{**kept, **arrays})
    return target.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: b"no zip", "support-mini's parameters cannot be read"),
        (lambda: changed(q=np.zeros((5, 96), np.int8)), "fit together"),
        (lambda: changed(q=np.zeros((30522, 96), np.float32)), "fit together"),
        (lambda: changed(idf=np.zeros(3)), "fit together"),
        (lambda: changed(idf=np.full(23716, np.nan)), "fit together"),
        (lambda: changed(heads=np.zeros((2, 4, 36))), "fit together"),
        (lambda: changed(heads=np.array([{}])), "allow_pickle"),  # an object would have to be unpickled
    ],
)
def test_other_parameters_are_refused(content, said):
    with pytest.raises(UserError, match=said):
        SupportModel(content())


def test_a_file_of_other_bytes_or_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(support_mini, "FILE", tmp_path / "support_mini.npz")
    with pytest.raises(UserError, match=r"cannot be read .* install metaeval again"):
        load_model.__wrapped__()
    (tmp_path / "support_mini.npz").write_bytes(changed())
    with pytest.raises(UserError, match="is not the file that is shipped"):
        load_model.__wrapped__()


def test_a_run_on_what_a_metric_was_fitted_on_warns_of_it_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(Overlap, "card", replace(Overlap.card, fitted_on=("wice/dev", "mini/all")))
    settings = {"interval": {"resamples": 5}, "controls": False, "results": str(tmp_path)}
    found = metaeval.run(metrics=["overlap", "support-mini"], dataset="mini", **settings)
    for result in found:
        rows = {row.metric: row.warnings for row in result.rows}
        assert [text for text in rows["overlap"] if text.startswith("fitted on the labels of mini all")]
        assert not [text for text in rows["support-mini"] if "fitted" in text]


@given(st.text("ab.!? \n\u2009", max_size=300))
def test_sentences_are_those_between_marks_in_pieces_of_60_words(text):
    found = [text[start:end].split() for start, end in cover.sentence_places(text)]
    parts = [part.split() for part in re.split(r"(?<=[.!?])\s+|\n+", text)]
    assert found == [part[at : at + 60] for part in parts for at in range(0, len(part), 60)]
