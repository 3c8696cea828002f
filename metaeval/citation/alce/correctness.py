"""ALCE's measures of correctness: short answers (by string match, and by a question-answering model), lists, claims,
ROUGE-Lsum, length, and MAUVE of all answers together.

Functions that take a text expect the answer's text without its marks (`clean_answer`). Values are counts, or shares in
[0, 1]; None where the reference lacks what the measure needs.
"""

from __future__ import annotations

import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metaeval.citation.alce.citations import MAUVE_MODEL, PAPER, READER, AlceProfile, clean
from metaeval.citation.alce.qa_model import QaReader, extractive_reader
from metaeval.citation.citation_table import verdicts_on
from metaeval.citation.data_model import Answer, Entails
from metaeval.citation.marks_and_sentences import prepare
from metaeval.citation.measures import AnswerShare, f1
from metaeval.core.errors import UserError, unknown
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.scoring.backends.checkpoint import Checkpoint, ModelFolder, find_model

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TOP = 5

_LISTS = ("num_preds", "qampari_prec", "qampari_rec", "qampari_rec_top5", "qampari_f1", "qampari_f1_top5")

# The measures of a single answer but `READER_MEASURES`, as the released code names them, in the order of tables.
MEASURES = ("str_em", "str_hit", "rougeLsum", "claims_nli", *_LISTS, "length")


def clean_answer(answer: Answer, profile: AlceProfile = PAPER) -> str:
    """Return the answer's text without its marks; only the first line if profile.lines is "first"."""
    return clean(prepare(answer, profile.lines), answer, profile).text


def normalise(text: str) -> str:
    """Return a text in SQuAD's normal form: small letters, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def short_answers(text: str, wanted: Sequence[Sequence[str]]) -> AnswerShare | None:
    """Return the number of sub-questions (ASQA) of which a short answer occurs in the text, out of all of them.

    wanted: the short answers (aliases) of each sub-question. Text and aliases are compared in normal form; an alias
    that is empty in normal form occurs in every text, as in the released code. None without sub-questions. `str_em` is
    the mean of the share over answers, `str_hit` the part of the answers whose share is 1.
    """
    if not wanted:
        return None
    normal_text = normalise(text)
    hits = sum(any(normalise(alias) in normal_text for alias in aliases) for aliases in wanted)
    return AnswerShare(hits, len(wanted))


def short_answers_of(answer: Answer) -> list[list[str]]:
    """Return the short answers of each sub-question of an ASQA answer; empty without sub-questions."""
    return [list(pair["short_answers"]) for pair in answer.reference.get("qa_pairs") or ()]


def list_scores(text: str, wanted: Sequence[Sequence[str]]) -> dict[str, float | None]:
    """Return the scores of a comma-separated list of answers (QAMPARI), compared with the gold answers.

    wanted: the aliases of each gold answer. Keys: `num_preds` (number of items), `qampari_prec`, `qampari_rec`,
    `qampari_rec_top5` (recall of which five hits are the most that counts), and F1 with either recall (`qampari_f1`,
    `qampari_f1_top5`); empty without gold answers. Items and aliases are compared in normal form; items that are empty
    in it are left out. For recall a gold answer counts once, however many items name it.
    """
    if not wanted:
        return {}
    items = [normalise(item) for item in text.rstrip().rstrip(".").rstrip(",").split(",")]
    items = [item for item in items if item]
    gold = [{normalise(alias) for alias in aliases} for aliases in wanted]
    known = set().union(*gold)
    precision = sum(item in known for item in items) / len(items) if items else 0.0
    hits = sum(not aliases.isdisjoint(items) for aliases in gold)
    recall, top = hits / len(gold), min(_TOP, hits) / min(_TOP, len(gold))
    values = float(len(items)), precision, recall, top, f1(precision, recall), f1(precision, top)
    return dict(zip(_LISTS, values, strict=True))


def claim_recalls(answers: Sequence[Answer], entails: Entails, profile: AlceProfile = PAPER) -> list[float | None]:
    """Return the share of the reference's claims (ELI5) that each answer's text entails, from one call of `entails`.

    Claims without a verdict are left out; None for an answer without any other claim.
    """
    texts = [clean_answer(answer, profile) for answer in answers]
    claims = [answer.reference.get("claims") or () for answer in answers]
    pairs = [[(text, claim) for claim in own_claims] for text, own_claims in zip(texts, claims, strict=True)]
    verdicts = verdicts_on(chain(*pairs), entails)
    shares: list[float | None] = []
    for answer_pairs in pairs:
        labels = [label for pair in answer_pairs if (label := verdicts[pair].entailed) is not None]
        shares.append(sum(labels) / len(labels) if labels else None)
    return shares


def references_of(answer: Answer) -> list[str]:
    """Return the long answers of the first two annotations (ASQA), else the reference answer; empty without either."""
    annotations = answer.reference.get("annotations")
    if annotations:
        return [str(annotation["long_answer"]) for annotation in annotations[:2]]
    return [str(answer.reference["answer"])] if answer.reference.get("answer") else []


def rouge_lsum(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    splitter: SentenceSplitter = RULES,
    split_on: Literal["text as written", "small letters"] = "text as written",
) -> list[float | None]:
    """Return the ROUGE-Lsum F1 of each text with the best of its references, in [0, 1]; None without a reference.

    Texts are lower-cased and stemmed (Porter), one sentence a line. The value depends on the splitter; the project's
    rules split no text in small letters, since none of their sentences opens with one.

    split_on: split into sentences before lower-casing ("text as written"), or after it, as the released code does
    ("small letters").
    """
    if not any(references):  # rouge_score takes two seconds to import
        return [None] * len(texts)
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)

    def lines(text: str) -> str:
        return "\n".join(splitter.split(text if split_on == "text as written" else text.lower())).lower()

    def score(text: str, reference: str) -> float:
        return float(scorer.score(lines(reference), lines(text))["rougeLsum"].fmeasure)

    return [
        max((score(text, reference) for reference in text_references), default=None)
        for text, text_references in zip(texts, references, strict=True)
    ]


def answer_values(
    answers: Sequence[Answer], profile: AlceProfile = PAPER, splitter: SentenceSplitter = RULES
) -> dict[str, Sequence[float | None]]:
    """Return the values of `MEASURES` but `claims_nli`, by name: shares in [0, 1] and counts, one per answer.

    A measure that has no value for any answer is left out; `claim_recalls` computes `claims_nli`.
    """
    texts = [clean_answer(answer, profile) for answer in answers]
    short = [short_answers(text, short_answers_of(answer)) for answer, text in zip(answers, texts, strict=True)]
    gold = [answer.reference.get("answers") or () for answer in answers]
    lists = list(map(list_scores, texts, gold))
    references = [references_of(answer) for answer in answers]
    values: dict[str, Sequence[float | None]] = {
        "length": [float(len(text.split())) for text in texts],
        "str_em": [share.value if share else None for share in short],
        "str_hit": [float(share.hits == share.total) if share else None for share in short],
        "rougeLsum": rouge_lsum(texts, references, splitter, profile.split_on),
        **{name: [list_values.get(name) for list_values in lists] for name in _LISTS},
    }
    return {name: column for name, column in values.items() if any(value is not None for value in column)}


# Exact match and token F1 with the best short answer, each the mean over an answer's sub-questions, and whether all of
# them match exactly (1 or 0).
READER_MEASURES = ("qa_em", "qa_f1", "qa_hit")


def token_f1(gold: str, prediction: str) -> float:
    """Return the F1 of the words of two texts in normal form, repeats counted.

    Where a text has no words, it is 1 if neither has any, else 0.
    """
    gold_words, words = normalise(gold).split(), normalise(prediction).split()
    common = (Counter(gold_words) & Counter(words)).total()
    total = len(gold_words) + len(words)
    return 2 * common / total if total else 1.0


def reader_scores(gold: Sequence[Sequence[str]], predictions: Sequence[str]) -> dict[str, float]:
    """Return the `READER_MEASURES` of one answer, by name; empty without sub-questions.

    gold: the short answers of each sub-question. predictions: the question-answering model's short answer to each.
    Raises ValueError if the lengths differ, or a sub-question has no short answer.
    """
    if not gold:
        return {}
    pairs = list(zip(gold, predictions, strict=True))
    exact = [any(normalise(alias) == normalise(answer) for alias in aliases) for aliases, answer in pairs]
    f1 = [max(token_f1(alias, answer) for alias in aliases) for aliases, answer in pairs]
    return {"qa_em": sum(exact) / len(exact), "qa_f1": sum(f1) / len(f1), "qa_hit": float(all(exact))}


def reader_values(
    answers: Sequence[Answer], reader: QaReader, profile: AlceProfile = PAPER
) -> dict[str, list[float | None]]:
    """Return the values of each of `READER_MEASURES`, one per answer; None for an answer without sub-questions.

    reader: finds short answers to sub-questions in the answers' texts without marks, in one call for all answers. As in
    the released code, an empty text is replaced by a space.
    """
    pairs: list[tuple[str, str]] = []
    for answer in answers:
        text = clean_answer(answer, profile) or " "
        pairs += [(str(pair["question"]), text) for pair in answer.reference.get("qa_pairs") or ()]
    predictions = iter(reader(pairs))
    gold = [short_answers_of(answer) for answer in answers]
    scores = [reader_scores(answer_gold, list(islice(predictions, len(answer_gold)))) for answer_gold in gold]
    return {name: [answer_scores.get(name) for answer_scores in scores] for name in READER_MEASURES}


SEED = 25  # the default of the package mauve-text, which the released code keeps

_KINDS = ("gpt2", "bert")


def answers_mauve(answers: Sequence[Answer], model: str = MAUVE_MODEL, profile: AlceProfile = PAPER) -> float | None:
    """Return `mauve` of the answers, without marks, and their reference answers; answers without one are left out."""
    referenced = [answer for answer in answers if answer.reference.get("answer")]
    return mauve(
        [answer.question for answer in referenced],
        [clean_answer(answer, profile) for answer in referenced],
        [str(answer.reference["answer"]) for answer in referenced],
        model=model,
    )


def mauve(
    questions: Sequence[str],
    texts: Sequence[str],
    references: Sequence[str],
    model: str = MAUVE_MODEL,
) -> float | None:
    """Return MAUVE (Pillutla et al. 2021) of all texts and all references, in [0, 1], as ALCE computes it.

    None if the texts or the references are all empty, or all texts and references are the same. ALCE's maintainers call
    MAUVE unstable: it depends on the number of answers, their length and the seed of its clustering.

    questions: each is put before its text and its reference. model: a hub id, or a folder, with 'gpt2' or 'bert' in it,
    from which the package recognises the kind of model.

    Raises `UserError` if the package mauve-text is not installed, or cannot use the model.
    """
    if find_spec("mauve") is None:
        raise UserError("MAUVE needs the package mauve-text: type 'pip install mauve-text faiss-cpu'.")
    if not any(kind in model for kind in _KINDS):
        raise UserError(f"mauve-text needs {' or '.join(_KINDS)} in a model's name, not {model!r}: rename the folder.")
    rows = list(zip(questions, texts, references, strict=True))
    reference_texts = [mauve_text(question, reference) for question, _, reference in rows]
    answer_texts = [mauve_text(question, text) for question, text, _ in rows]
    # The package leaves empty texts out, and fails if a side has no others.
    if not any(reference_texts) or not any(answer_texts) or len({*reference_texts, *answer_texts} - {""}) < 2:
        return None
    package = import_module("mauve")
    # Texts that hardly differ have no variance to divide by; the package continues with the NaN.
    with _no_bars(), np.errstate(all="ignore"):
        scores = package.compute_mauve(
            p_text=reference_texts,
            q_text=answer_texts,
            device_id=-1,  # the CPU
            max_text_length=512,
            batch_size=8,
            featurize_model_name=model,
            seed=SEED,
            verbose=False,
        )
    return float(scores.mauve)


def mauve_text(question: str, text: str) -> str:
    """Return what MAUVE compares: the first 100 words of question and text together, without final punctuation."""
    words = f"{question} {text.strip()}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Switch off progress bars inside the block, through the environment variable that the package reads."""
    before = os.environ.get("DISABLE_TQDM")
    os.environ["DISABLE_TQDM"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["DISABLE_TQDM"]
        else:
            os.environ["DISABLE_TQDM"] = before


# Name of a measure of all answers of a system together, without values of single answers and without an interval.
MAUVE = "mauve"

CLAIM_RECALL = "claims_nli"

# Measures of an answer's text, named as in the released code; `READER_MEASURES` are computed on request only.
TEXT_MEASURES = (*MEASURES, *READER_MEASURES)


def text_measures(
    answers: Sequence[Answer],
    profile: AlceProfile = PAPER,
    splitter: SentenceSplitter = RULES,
    wanted: Sequence[str] = (),
    reader: str = READER,
    mauve_model: str = MAUVE_MODEL,
) -> tuple[dict[str, Sequence[float | None]], Callable[[Sequence[Answer]], float | None] | None, dict[str, str]]:
    """Return the values of each answer by measure, MAUVE of some answers (None: not wanted), and signature fields.

    wanted: names of measures; by default all that need no model and have a value. reader, mauve_model: hub ids or
    folders of models. Raises `UserError` for an unknown measure, and for a model that is not at hand or cannot be used.
    """
    known = (*TEXT_MEASURES, MAUVE)
    for name in wanted:
        if name not in known:
            raise unknown("measure", name, known, "Recall, precision and F1 are always computed.")
    values, fields, of_system = answer_values(answers, profile, splitter), {}, None
    if {*wanted} & {*READER_MEASURES}:
        from transformers import AutoModelForQuestionAnswering

        from metaeval.scoring.backends.model_loading import load_model, load_tokenizer

        folder = _model(reader)
        model: Any = load_model(AutoModelForQuestionAnswering, folder, "float32", "cpu")
        values |= reader_values(answers, extractive_reader(model, load_tokenizer(folder)), profile)
        fields["reader"] = f"{Path(reader).name}@{folder.fingerprint}"
    if MAUVE in wanted:
        folder = _model(mauve_model)
        of_system = partial(answers_mauve, model=str(folder.folder), profile=profile)
        fields[MAUVE] = f"{Path(mauve_model).name}@{folder.fingerprint}"
    # In the order of the tables.
    kept = {key: values[key] for key in TEXT_MEASURES if key in values and (not wanted or key in wanted)}
    return kept, of_system, fields


def _model(name: str) -> ModelFolder:
    checkpoint = Checkpoint(name, "size and licence: see its page on the hub")
    return find_model(checkpoint, folder if (folder := Path(name)).is_dir() else None)
