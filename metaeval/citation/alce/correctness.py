"""What ALCE measures of an answer beside its citations: short answers (in the text, and by a reader of ASQA's
sub-questions), lists, claims, ROUGE-Lsum, length, and MAUVE of all answers together.

Functions that take a text take the answer's text without its marks (`clean_answer`). Values are in [0, 1]; None where
the reference does not hold what the measure needs.
"""

from __future__ import annotations

import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.alce.citations import PAPER, AlceOptions, clean
from metaeval.citation.measures import AnswerShare, f1
from metaeval.citation.model import Answer, Entails
from metaeval.citation.sentences import prepare
from metaeval.citation.table import verdicts_on
from metaeval.corpus.sentences import RULES, SentenceSplitter
from metaeval.errors import UserError
from metaeval.stats.arrays import Bools

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_TOP = 5

_LISTS = ("num_preds", "qampari_prec", "qampari_rec", "qampari_rec_top5", "qampari_f1", "qampari_f1_top5")

MEASURES = ("str_em", "str_hit", "rougeLsum", "claims_nli", *_LISTS, "length")
"""The measures under the released code's names, in the order of tables."""


def clean_answer(answer: Answer, options: AlceOptions = PAPER) -> str:
    """The part of the answer that the profile reads, without its marks."""
    reading = prepare(answer.text, options.lines)
    return clean(reading, answer, options).text


def normalise(text: str) -> str:
    """SQuAD's normal form: small letters, no ASCII punctuation, no article, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def short_answers(text: str, wanted: Sequence[Sequence[str]]) -> AnswerShare | None:
    """ASQA: for how many questions one of the short answers occurs in the text, both in normal form.

    `str_em` is the mean of `value` over answers, `str_hit` the share of answers whose value is 1. None without
    questions. An alias that is empty in normal form occurs in every text, as in the released code.
    """
    if not wanted:
        return None
    own = normalise(text)
    return AnswerShare(sum(any(normalise(alias) in own for alias in aliases) for aliases in wanted), len(wanted))


def short_answers_of(answer: Answer) -> list[list[str]]:
    """The short answers of an ASQA answer's questions; empty where there are none."""
    return [list(pair["short_answers"]) for pair in answer.reference.get("qa_pairs") or ()]


def list_scores(text: str, wanted: Sequence[Sequence[str]]) -> dict[str, float | None]:
    """QAMPARI: the comma-separated items of the text against the gold answers, each a list of aliases.

    The number of items, precision, recall, recall at a gold list of at most five, and F1 with either recall. Items and
    aliases count as equal in normal form; items that are empty in it are left out. A gold answer is found once,
    however many items name it. Empty without gold answers.
    """
    if not wanted:
        return {}
    items = [normalise(item) for item in text.rstrip().rstrip(".").rstrip(",").split(",")]
    items = [item for item in items if item]
    gold = [{normalise(alias) for alias in aliases} for aliases in wanted]
    known = set().union(*gold)
    precision = sum(item in known for item in items) / len(items) if items else 0.0
    found = sum(not aliases.isdisjoint(items) for aliases in gold)
    recall, top = found / len(gold), min(_TOP, found) / min(_TOP, len(gold))
    values = float(len(items)), precision, recall, top, f1(precision, recall), f1(precision, top)
    return dict(zip(_LISTS, values, strict=True))


def claim_recalls(answers: Sequence[Answer], entails: Entails, options: AlceOptions = PAPER) -> list[float | None]:
    """ELI5: the share of the reference's claims that each answer's text entails, all asked in one call.

    None without claims; claims without a verdict are left out.
    """
    asked: list[list[tuple[str, str]]] = []
    for answer in answers:
        text = clean_answer(answer, options)
        asked.append([(text, claim) for claim in answer.reference.get("claims") or ()])
    verdicts = verdicts_on((pair for own in asked for pair in own), entails)
    judged = [[verdicts[pair].entailed for pair in own if verdicts[pair].entailed is not None] for own in asked]
    return [sum(map(bool, own)) / len(own) if own else None for own in judged]


def references_of(answer: Answer) -> list[str]:
    """The long answers of an ASQA answer's first two annotations, else its reference answer; empty without either."""
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
    """F1 of each text against the best of its references, in [0, 1]; None without a reference.

    Small letters, one sentence a line, Porter stems. The splitter decides where the lines end, which moves the value;
    of text in small letters the project's rules end no line, since no sentence of theirs opens with one. split_on:
    sentences are split before, or as in the released code after capitals are gone.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeLsum"], use_stemmer=True)

    def lines(text: str) -> str:
        return "\n".join(splitter.split(text if split_on == "text as written" else text.lower())).lower()

    def best(text: str, own: Sequence[str]) -> float | None:
        values = [float(scorer.score(lines(one), lines(text))["rougeLsum"].fmeasure) for one in own]
        return max(values, default=None)

    return [best(text, own) for text, own in zip(texts, references, strict=True)]


Values = Mapping[str, Sequence[float | None]]
"""Measure to its value for each answer, in order; None where an answer has none."""


def answer_values(
    answers: Sequence[Answer], options: AlceOptions = PAPER, splitter: SentenceSplitter = RULES
) -> Values:
    """The measures of correctness and length, under the released code's names, as shares in [0, 1] and counts.

    A measure that no answer has is left out, and so is the recall of claims, which needs verdicts (`claim_recalls`).
    """
    texts = [clean_answer(answer, options) for answer in answers]
    short = [short_answers(text, short_answers_of(answer)) for answer, text in zip(answers, texts, strict=True)]
    lists = [
        list_scores(text, answer.reference.get("answers") or ()) for answer, text in zip(answers, texts, strict=True)
    ]
    values: dict[str, Sequence[float | None]] = {
        "length": [float(len(text.split())) for text in texts],
        "str_em": [own.value if own else None for own in short],
        "str_hit": [float(own.hits == own.total) if own else None for own in short],
        "rougeLsum": rouge_lsum(texts, [references_of(answer) for answer in answers], splitter, options.split_on),
        **{name: [own.get(name) for own in lists] for name in _LISTS},
    }
    return {name: column for name, column in values.items() if any(value is not None for value in column)}


READER = "gaotianyu1350/roberta-large-squad"
"""The reader of the published scores."""

Reader = Callable[[Sequence[tuple[str, str]]], Sequence[str]]
"""Pairs of question and context to short answers, in order; an empty answer says that the context holds none."""


READER_MEASURES = ("qa_em", "qa_f1", "qa_hit")
"""Exact match and token F1 with the best short answer, means over an answer's sub-questions; 1 where all match."""


def exact_match(wanted: str, given: str) -> bool:
    """Whether the two are the same in SQuAD's normal form."""
    return normalise(wanted) == normalise(given)


def token_f1(wanted: str, given: str) -> float:
    """F1 of the words of the two in normal form, repeats counted; without words on a side, 1 if neither has any."""
    gold, own = normalise(wanted).split(), normalise(given).split()
    if not gold or not own:
        return float(gold == own)
    common = sum((Counter(gold) & Counter(own)).values())
    return 2 * common / (len(gold) + len(own))


def reader_scores(wanted: Sequence[Sequence[str]], given: Sequence[str]) -> dict[str, float]:
    """Scores of one answer from the reader's answer to each sub-question; empty without sub-questions.

    Raises ValueError if the lengths differ, or a sub-question has no short answer.
    """
    if not wanted:
        return {}
    pairs = list(zip(wanted, given, strict=True))
    if any(not aliases for aliases in wanted):
        raise ValueError("every sub-question needs at least one short answer")
    exact = [max(exact_match(alias, answer) for alias in aliases) for aliases, answer in pairs]
    f1 = [max(token_f1(alias, answer) for alias in aliases) for aliases, answer in pairs]
    return {"qa_em": sum(exact) / len(exact), "qa_f1": sum(f1) / len(f1), "qa_hit": float(all(exact))}


def reader_values(
    answers: Sequence[Answer], reader: Reader, options: AlceOptions = PAPER
) -> dict[str, list[float | None]]:
    """`READER_MEASURES` of each answer, from its text without marks; None without sub-questions.

    The sub-questions of all answers are read in one call; an empty text is read as a space, as released.
    """
    asked: list[list[tuple[str, str]]] = []
    for answer in answers:
        text = clean_answer(answer, options) or " "
        asked.append([(str(pair["question"]), text) for pair in answer.reference.get("qa_pairs") or ()])
    given = iter(reader([pair for own in asked for pair in own]))
    found = [
        reader_scores(short_answers_of(answer), [next(given) for _ in own])
        for answer, own in zip(answers, asked, strict=True)
    ]
    return {name: [own.get(name) for own in found] for name in READER_MEASURES}


Floats = NDArray[np.float32]

_TOKENS = 384
_STRIDE = 128
_LONGEST_ANSWER = 15
_BATCH = 16  # windows of one pass
_CLOSED = np.float32(-10000.0)


class Window(NamedTuple):
    """A window of one pair's context, with the question before it.

    encoding: its tokens, an `Encoding` of the tokenizers library. open: (tokens,) where an answer may begin and end,
    the classification token among them: it stands for "no answer".
    """

    pair: int
    encoding: Any
    open: Bools


class Found(NamedTuple):
    """A window's best answer as first and last token, its probability, and the probability of none."""

    first: int
    last: int
    score: float
    none: float


def extractive_reader(model: Any, tokenizer: Any) -> Reader:
    """A reader from a transformers model with a question-answering head, in eval mode, and its fast tokenizer.

    A long context is read in windows of 384 tokens with the question, 128 shared by neighbours (fewer where the
    tokenizer's limit is lower); an answer has at most 15 tokens and ends at word borders.

    Raises `UserError` for a tokenizer that is slow or pads on the left; the reader, for a question that leaves its
    context no room.
    """
    if not tokenizer.is_fast or tokenizer.padding_side != "right":
        raise UserError(
            f"{type(tokenizer).__name__} cannot be used to read answers: allowed are fast tokenizers that pad on the "
            "right."
        )

    def read(pairs: Sequence[tuple[str, str]]) -> list[str]:
        windows = [window for number, pair in enumerate(pairs) for window in _windows(tokenizer, number, *pair)]
        found: list[list[tuple[Window, Found]]] = [[] for _ in pairs]
        for window, one in _read_windows(model, tokenizer, windows):
            found[window.pair].append((window, one))
        return [_answer(context, own) for (_, context), own in zip(pairs, found, strict=True)]

    return read


def best_span(start: Floats, end: Floats, open: Bools) -> Found:
    """The best answer of one window from its logits, each (tokens,); the first of equal ones.

    Probabilities are over the open tokens. None's is that of the first token as beginning and end; it stands for
    nothing else, so the answer is sought without it.
    """
    begins, ends = _softmax(start, open), _softmax(end, open)
    none = float(begins[0] * ends[0])
    begins[0] = ends[0] = 0
    product = np.tril(np.triu(np.outer(begins, ends)), _LONGEST_ANSWER - 1)
    first, last = np.unravel_index(np.argmax(product), product.shape)
    return Found(int(first), int(last), float(product[first, last]), none)


def _softmax(logits: Floats, open: Bools) -> Floats:
    # In float32, as published: equal probabilities, which the order decides, are those of float32.
    kept = np.where(open, logits, _CLOSED)
    powers = np.exp(kept - kept.max())
    shares: Floats = powers / powers.sum()
    return shares


def _answer(context: str, found: Sequence[tuple[Window, Found]]) -> str:
    """The best window's answer; empty where none is likelier, by the window that finds it least likely."""
    window, best = max(found, key=lambda one: one[1].score)
    if min(one.none for _, one in found) > best.score:
        return ""
    first, last = _characters(window.encoding, best)
    return context[first:last]


def _characters(encoding: Any, found: Found) -> tuple[int, int]:
    """First and last character of an answer, of the whole words that hold its ends."""
    words = encoding.token_to_word(found.first), encoding.token_to_word(found.last)
    first, last = (None if word is None else encoding.word_to_chars(word, 1) for word in words)
    if first is None or last is None:  # a token of no word of the context: its own place is all there is
        return encoding.offsets[found.first][0], encoding.offsets[found.last][1]
    return first[0], last[1]


def _windows(tokenizer: Any, pair: int, question: str, context: str) -> Iterator[Window]:
    limit = min(tokenizer.model_max_length, _TOKENS)
    stride = min(limit // 2, _STRIDE)
    # The tokenizers library ends the whole run where a window would hold nothing but what its neighbours share.
    asked = len(tokenizer(question, "")["input_ids"])
    if asked + stride >= limit and len(tokenizer(question, context)["input_ids"]) > limit:
        raise UserError(
            f"The question {question[:60]!r} ... is too long for the reader: it has {asked} tokens, and fewer than "
            f"{limit - stride} leave room for its context."
        )
    encoded = tokenizer(
        question,
        context,
        truncation="only_second",
        max_length=limit,
        stride=stride,
        return_token_type_ids=True,
        return_overflowing_tokens=True,
    )
    for encoding in encoded.encodings:
        of_context = np.array([number == 1 for number in encoding.sequence_ids])
        none = np.array(encoding.ids) == tokenizer.cls_token_id
        yield Window(pair, encoding, of_context | none)


def _read_windows(model: Any, tokenizer: Any, windows: Sequence[Window]) -> Iterator[tuple[Window, Found]]:
    """Each window with its best answer, in order, whatever the batches."""
    import torch

    order = sorted(range(len(windows)), key=lambda number: -len(windows[number].encoding.ids))
    found: dict[int, Found] = {}
    for begin in range(0, len(order), _BATCH):
        numbers = order[begin : begin + _BATCH]
        encodings = [windows[number].encoding for number in numbers]
        with torch.inference_mode():
            output = model(**_tensors(encodings, tokenizer, model.device))
        starts, ends = output.start_logits.float().cpu().numpy(), output.end_logits.float().cpu().numpy()
        for row, number in enumerate(numbers):
            length = len(windows[number].encoding.ids)
            found[number] = best_span(starts[row, :length], ends[row, :length], windows[number].open)
    yield from ((window, found[number]) for number, window in enumerate(windows))


def _tensors(encodings: Sequence[Any], tokenizer: Any, device: Any) -> dict[str, Any]:
    """What the model reads of the encodings, padded on the right: (encodings, longest) each."""
    import torch

    longest = max(len(encoding.ids) for encoding in encodings)
    rows = {
        "input_ids": ([encoding.ids for encoding in encodings], tokenizer.pad_token_id),
        "attention_mask": ([encoding.attention_mask for encoding in encodings], 0),
        "token_type_ids": ([encoding.type_ids for encoding in encodings], tokenizer.pad_token_type_id),
    }
    return {
        name: torch.tensor([[*row, *[value] * (longest - len(row))] for row in own], device=device)
        for name, (own, value) in rows.items()
        if name in tokenizer.model_input_names
    }


MAUVE_MODEL = "gpt2-large"
"""The model whose last state stands for a text in the published scores."""

SEED = 25
"""The package's own, which the released code leaves as it is."""

_KINDS = ("gpt2", "bert")


def answers_mauve(answers: Sequence[Answer], model: str = MAUVE_MODEL, options: AlceOptions = PAPER) -> float | None:
    """MAUVE of the answers' texts without marks against their reference answers; those without one are left out."""
    own = [answer for answer in answers if answer.reference.get("answer")]
    return mauve(
        [answer.question for answer in own],
        [clean_answer(answer, options) for answer in own],
        [str(answer.reference["answer"]) for answer in own],
        model=model,
    )


def mauve(
    questions: Sequence[str],
    texts: Sequence[str],
    references: Sequence[str],
    seed: int = SEED,
    model: str = MAUVE_MODEL,
) -> float | None:
    """MAUVE (Pillutla et al. 2021) of all texts against all references, in [0, 1], as ALCE calls it.

    None if all of them are one text, or there is none. ALCE's maintainers call it unstable: it moves with the number of
    answers, their length and the seed of its clustering. No single answer has one.

    model: a hub id, or a folder with 'gpt2' or 'bert' in its path: the package tells models by their names.

    Raises `UserError` where the package is not here, and for a model that it does not take.
    """
    if find_spec("mauve") is None:
        raise UserError("MAUVE needs the package mauve-text: type 'pip install mauve-text faiss-cpu'.")
    if not any(kind in model for kind in _KINDS):
        raise UserError(
            f"MAUVE cannot use the model {model!r}: the package mauve-text takes those with {' or '.join(_KINDS)} in "
            "their name; a folder can be renamed."
        )
    rows = list(zip(questions, texts, references, strict=True))
    wanted = [mauve_text(question, reference) for question, _, reference in rows]
    given = [mauve_text(question, text) for question, text, _ in rows]
    # The package leaves empty texts out, and fails where a side has no other.
    if not any(wanted) or not any(given) or len({*wanted, *given} - {""}) < 2:
        return None
    package = import_module("mauve")
    # Texts that hardly differ have no variance to divide by: the package goes on with what comes out.
    with _no_bars(), np.errstate(all="ignore"):
        found = package.compute_mauve(
            p_text=wanted,
            q_text=given,
            device_id=-1,  # the CPU
            max_text_length=512,
            batch_size=8,
            featurize_model_name=model,
            seed=seed,
            verbose=False,
        )
    return float(found.mauve)


def mauve_text(question: str, text: str) -> str:
    """What MAUVE compares: question and text, its first 100 words, without punctuation at the end."""
    words = f"{question} {text.strip()}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Keep the package's progress bars off the terminal: it asks the environment."""
    before = os.environ.get("DISABLE_TQDM")
    os.environ["DISABLE_TQDM"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["DISABLE_TQDM"]
        else:
            os.environ["DISABLE_TQDM"] = before
