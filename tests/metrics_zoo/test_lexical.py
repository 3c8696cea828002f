"""The lexical metrics against hand-worked values and the packages that define them."""

import random

import bm25s
import pytest
from rouge_score.rouge_scorer import RougeScorer

from metaeval.scoring.contract import Status
from metaeval.scoring.engine import score_pairs
from metrics_zoo.bm25 import BM25, BM25Options
from metrics_zoo.overlap import Overlap, OverlapOptions
from metrics_zoo.rouge import Rouge, RougeOptions

WORDS = "river stone bridge council built flood repair the of and 1873 engineer winter cost money open not".split()


def texts(seed, count=40):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(3, 30))) for _ in range(count)]


@pytest.mark.parametrize(
    ("source", "statement", "score"),
    [
        # content words of the statement: bridge, built, 1873; bridge and built stand in the source
        ("The old bridge was built of stone", "The bridge was built in 1873", 2 / 3),
        # without content words all words count: it, was; one of two
        ("was", "It was", 1 / 2),
        ("", "A bridge", 0.0),
        ("BRIDGE, bridge!", "bridge bridge Bridge", 1.0),
    ],
)
def test_overlap_is_the_share_of_distinct_content_words(source, statement, score):
    assert Overlap().score([source], [statement])[0].score == score


def test_overlap_can_count_function_words_too():
    # the, bridge, was, built, in, 1873: the, bridge, was, built are there
    answer = Overlap(OverlapOptions(content_only=False)).score(
        ["The old bridge was built of stone"], ["The bridge was built in 1873"]
    )[0]
    assert answer.score == 4 / 6


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("side", ["precision", "recall", "fmeasure"])
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_is_the_packages_value_with_the_source_as_reference(variant, side, stem):
    sources, statements = texts(1), texts(2)
    ours = Rouge(RougeOptions(variant=variant, side=side, stem=stem)).score(sources, statements)
    scorer = RougeScorer([variant], use_stemmer=stem)
    theirs = [
        getattr(scorer.score(target=source, prediction=statement)[variant], side)
        for source, statement in zip(sources, statements, strict=True)
    ]
    assert [answer.score for answer in ours] == theirs


def test_rouge_l_precision_by_hand():
    # longest common subsequence: the cat sat (3 of the statement's 4 tokens)
    assert Rouge().score(["the black cat sat down"], ["the cat sat there"])[0].score == 3 / 4


def test_rouge_without_a_latin_token_has_nothing_to_judge():
    assert Rouge().score(["東京は日本の首都"], ["東京"])[0].status is Status.EMPTY


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (2.0, 0.0)])
def test_bm25_is_bm25s_in_its_default_variant(k1, b):
    sources, statements = sorted(set(texts(3))), texts(4)
    pairs = [(source, statement) for statement in statements for source in sources]
    ours = score_pairs(BM25(BM25Options(k1=k1, b=b)), pairs)
    index = bm25s.BM25(k1=k1, b=b, dtype="float64")
    index.index([source.split() for source in sources], show_progress=False)
    theirs = [score for statement in statements for score in index.get_scores(statement.split())]
    assert [answer.score for answer in ours.answers] == pytest.approx(theirs, abs=1e-9)


def test_bm25_by_hand():
    # N = 2, df(stone) = 1: ln(1 + 1.5 / 1.5) = ln 2; lengths 2 and 4, mean 3;
    # norm = 1.5 * (0.25 + 0.75 * 2 / 3) = 1.125; score = ln 2 * 1 / (1 + 1.125)
    scored = score_pairs(BM25(), [("stone bridge", "stone"), ("a river in flood", "stone")])
    assert [answer.score for answer in scored.answers] == [pytest.approx(0.6931471805599453 / 2.125), 0.0]
