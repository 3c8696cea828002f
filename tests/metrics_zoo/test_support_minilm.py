"""support-minilm: its windows and features against their definitions and other metrics, its heads, its refit."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import metaeval
from benchmarks.support_mini import fit_minilm
from metaeval.scoring.backends import minilm
from metaeval.scoring.contract import Status
from metrics_zoo import support_mini
from metrics_zoo.overlap import FUNCTION_WORDS
from metrics_zoo.support_minilm import FEATURES, HEADS, SupportMiniLM, SupportMiniLMOptions, support_of, windows_of

DATA = Path(__file__).parents[3] / "shared" / "data"
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metrics" / "pairs.json").read_text())
PAIRS = [(pair["source"], pair["statement"]) for pair in GOLDEN if pair["source"].strip() and pair["statement"].strip()]


@pytest.fixture(scope="module")
def metric():
    made = SupportMiniLM()
    made.prepare([source for source, _ in PAIRS], [statement for _, statement in PAIRS])
    return made


@pytest.fixture(scope="module")
def observed(metric):
    return metric.observe(*zip(*PAIRS, strict=True))


def test_windows_hold_whole_sentences_and_at_most_150_words():
    source = " ".join(f"{'word ' * 59}end." for _ in range(5)) + " Short one."
    windows = windows_of(source)
    assert [len(window.text.split()) for window in windows] == [120, 120, 62]
    assert [len(window.sentences) for window in windows] == [2, 2, 2]
    assert windows[2].text[slice(*windows[2].sentences[1])] == "Short one."
    assert windows_of(" \n ") == []


@pytest.mark.parametrize(("words", "windows"), [((50, 50, 50), [150]), ((50, 50, 51), [100, 51])])
def test_a_window_is_full_at_150_words(words, windows):
    source = " ".join(f"{'word ' * (count - 1)}end." for count in words)
    assert [len(window.text.split()) for window in windows_of(source)] == windows


def test_features_are_those_of_their_definition(observed):
    encoder = minilm.load_encoder(None, 512, 2048, "cpu")
    mini = support_mini.load_model()

    def vectors(text):
        (item,) = encoder.encode([text])
        states = item.states.double().numpy()
        return states.mean(0) / np.linalg.norm(states.mean(0)), (
            states / np.linalg.norm(states, axis=1, keepdims=True)
        )[1:-1]

    for (source, statement), found in zip(PAIRS, observed, strict=True):
        mean, tokens = vectors(statement)
        offsets = encoder.places(statement)[1:-1]
        words = list(support_mini.WORD.finditer(statement))
        content = [m for m in words if m.group().lower() not in FUNCTION_WORDS] or words
        weights = np.zeros(len(offsets))
        for word in content:
            own = [number for number, (start, _) in enumerate(offsets) if word.start() <= start < word.end()]
            if own:  # else an accent in a combining character of its own, or a word behind the cut
                weights[own] += min(mini._idf.get(word.group().lower(), 8.0), 8.0) / len(own)
        windows, sentences, cosines = [], [], []
        for window in windows_of(source):
            other, states = vectors(window.text)
            cosines.append(mean @ other)
            windows.append((tokens @ states.T).max(1).mean())
            places = encoder.places(window.text)[1:-1]
            for start, end in window.sentences:
                own = [number for number, (at, _) in enumerate(places) if start <= at < end]
                sentences.append((tokens @ states[own].T).max(1) @ weights / weights.sum())
        cover = mini.features(mini.read_source(source), mini.read_statement(statement))
        expected = [max(windows), max(sentences), max(cosines), *(cover[name] for name in FEATURES[3:])]
        assert found.features == pytest.approx(expected, abs=1e-5)


def test_the_cosine_of_one_window_is_that_of_minilm_cosine(observed):
    short = [number for number, (source, _) in enumerate(PAIRS) if len(windows_of(source)) == 1 and "\n" not in source]
    assert len(short) > 4
    sources, statements = zip(*(PAIRS[number] for number in short), strict=True)
    expected = metaeval.score("minilm-cosine", [source.strip() for source in sources], statements)
    for number, answer in zip(short, expected, strict=True):
        assert observed[number].features[2] == pytest.approx(answer.score, abs=1e-5)


def test_the_heads_by_hand():
    some, full = HEADS
    at_mean = support_of(some[1, :-1])
    assert at_mean.some == pytest.approx(1 / (1 + math.exp(-some[3, -1])))
    features = full[1, :-1] + full[2, :-1] * [1, 0, 0, 0, 0, 0]
    assert support_of(features).full_given_some == pytest.approx(1 / (1 + math.exp(-full[3, -1] - full[3, 0])))


@pytest.mark.parametrize("score", ["expected", "some", "full", "full_given_some"])
def test_the_metric_gives_the_value_that_its_option_names(score, observed):
    answers = SupportMiniLM(SupportMiniLMOptions(score=score)).judge(observed)
    assert [answer.score for answer in answers] == [getattr(support_of(found.features), score) for found in observed]


def test_a_statement_without_words_is_empty_and_a_source_without_words_supports_little(metric):
    answers = metric.score(["A bridge.", " ", "..."], ["?!", "A bridge stood.", "A bridge stood."])
    assert (answers[0].score, answers[0].status) == (None, Status.EMPTY)
    assert answers[1].score == pytest.approx(support_of((0, 0, 0, 0, 0, 0)).expected)
    assert max(answers[1].score, answers[2].score) < 0.2


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the published files are not in ../shared/data")
def test_a_refit_from_the_data_gives_the_shipped_heads():
    parts = [
        fit_minilm.features_of(SupportMiniLM(), metaeval.load_corpus(name, split=split, data=DATA))
        for name, split in fit_minilm.DEV
    ]
    features, level = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    assert len(level) == 1184
    assert fit_minilm.fit_heads(features, level) == pytest.approx(HEADS, abs=1.1e-3)
