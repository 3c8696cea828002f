"""The fit of support-mini: each step against a library or by hand, and the whole against the shipped file."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import metaeval
from benchmarks.support_mini import fit
from metaeval.corpus.chunks import Chunking, chunk_corpus
from metrics_zoo.support_mini import FILE, SupportModel, load_model

DATA = Path(__file__).parents[3] / "shared" / "data"
TEXTS = [DATA / "train" / f"{name}.jsonl.gz" for name in ("faithdial_audit", "citint")]
RNG = np.random.default_rng(0)


@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_a_refit_from_the_data_is_the_shipped_file():
    corpus = metaeval.load_corpus("wice", split="dev", data=DATA)
    chunks = chunk_corpus(corpus, Chunking()).chunks.values()
    words, idf = fit.count_words([*(chunk.text for cut in chunks for chunk in cut), *fit.cited_texts(TEXTS)])
    content = fit.as_file(fit.fit(corpus, words, idf))
    if fit.as_file(fit.shipped()) == FILE.read_bytes():
        assert content == FILE.read_bytes()
        return
    # Where the compression is that of another library, the arrays are the same, and the file may not be.
    again, shipped = SupportModel(content), load_model()
    for cited in corpus.citations:
        page = corpus.documents[cited.document_id].text
        statement = corpus.statements[cited.statement_id].text
        one, other = (
            model.judge(model.read_source(page), model.read_statement(statement)) for model in (again, shipped)
        )
        assert one.some == pytest.approx(other.some, abs=1e-6)
        assert one.full_given_some == pytest.approx(other.full_given_some, abs=1e-6)
        assert one.uncovered() == other.uncovered()


def test_a_head_is_scikit_learns_logistic_regression():
    features = RNG.normal(size=(200, 5)) * [1, 10, 0.1, 3, 1] + [0, 5, 2, -1, 0]
    features[:, 4] = 2.0  # a constant feature weighs nothing
    goal = features[:, 0] + features[:, 1] / 10 + RNG.normal(size=200) > 0.7
    missing = RNG.random(features.shape) < 0.1
    missing[:, 4] = False
    fill, mean, scale, weights = fit.fit_logistic(np.where(missing, np.nan, features), goal, 0.03)
    assert fill[:-1] == pytest.approx(np.nanmedian(np.where(missing, np.nan, features), axis=0))
    filled = (np.where(missing, fill[:-1], features) - mean[:-1]) / scale[:-1]
    expected = LogisticRegression(C=0.03, tol=1e-12, max_iter=10_000).fit(filled, goal)
    assert weights[:-1] == pytest.approx(expected.coef_[0], abs=1e-7)
    assert weights[-1] == pytest.approx(expected.intercept_[0], abs=1e-7)
    assert (fill[-1], mean[-1], scale[-1], weights[4]) == (0, 0, 1, 0)


def test_rows_of_bytes_have_the_cosines_of_principal_components():
    table = RNG.normal(size=(fit.FIRST_PIECE + 1200, 128)) * np.linspace(3, 0.1, 128)
    table[: fit.FIRST_PIECE] -= table[: fit.FIRST_PIECE].mean(axis=0)
    table[fit.FIRST_PIECE :] -= table[fit.FIRST_PIECE :].mean(axis=0)
    axes = PCA(fit.DIMENSIONS, svd_solver="full").fit(table[fit.FIRST_PIECE :])
    rows, found = axes.transform(table), fit.reduce_table(table).astype(float)
    assert np.abs(found).max(axis=1) == pytest.approx(127)
    for unit in (rows, found):
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert found[::50] @ found[::50].T == pytest.approx(rows[::50] @ rows[::50].T, abs=0.01)
