"""Assigns citations to facts, cuts passages into chunks, and judges the entailment of facts by answers and passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from metaeval.citation.citation_table import find_place, premise, verdicts_on
from metaeval.citation.data_model import UNKNOWN_TEXT, Entails, NliPair, Passage, Verdict, answer_cells
from metaeval.citation.scifi.data_model import (
    DEFAULTS,
    AnswerFacts,
    CoverageLine,
    Fact,
    FactLine,
    PlacedGroup,
    ScifiOptions,
    Sentence,
)
from metaeval.core.errors import UserError, install_extra
from metaeval.corpus.sentences import RULES, SentenceSplitter

Count = Callable[[str], int]  # returns the length of a text in some unit, such as words or tokens


CitedPassages = tuple[tuple[int, Passage], ...]  # (index in the answer, passage) of each

# A chunk of passages as a premise: its text, and the index of its passage (None: the text is of several passages).
PremiseChunk = tuple[str, int | None]


def count_words(text: str) -> int:
    """Return the number of white-space words."""
    return len(text.split())


@cache
def counter(unit: str) -> Count:
    """Return the function that measures texts: in words, or in tokens of a tokenizer.

    unit: "words", or the hub id or folder of a tokenizer. Raises `UserError` where the tokenizer cannot be loaded.
    """
    if unit == "words":
        return count_words
    try:
        from transformers import AutoTokenizer

        load = partial(AutoTokenizer.from_pretrained, unit, trust_remote_code=False)
        try:
            tokenizer = load(local_files_only=True)
        except OSError:  # not in a folder, and not in the cache
            if Path(unit).is_dir():
                raise
            from huggingface_hub import model_info

            # One request first: without a network, or with a wrong id, transformers would try again and again.
            model_info(unit, timeout=5.0)
            tokenizer = load()
    except ModuleNotFoundError as error:
        raise UserError(f"tokenizer={unit} needs {error.name}: type {install_extra('models')}.") from error
    except Exception as error:  # a broken or missing tokenizer ends in errors of several libraries
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        other = "give a hub id or a folder, or type -s tokenizer=words"
        raise UserError(f"tokenizer={unit} cannot be loaded ({reason}): {other}.") from error
    return lambda text: len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def windows(sizes: Sequence[int], window: int) -> list[tuple[int, int]]:
    """Return chunks of consecutive sentences, as (index of the first sentence, index after the last).

    sizes: of each sentence. window: the largest size of a chunk. A chunk takes sentences up to the window, and at least
    one, however long. The next chunk repeats half of the chunk's sentences (rounded down), or fewer where
    the sentence after the chunk would not fit: every chunk adds a sentence. The last chunk ends with the last sentence.

    WiCE's released code starts one sentence later, which leaves out a sentence after a chunk of one or two, and closes
    a chunk that just fits; this function does neither.
    """
    spans: list[tuple[int, int]] = []
    start = end = 0
    while end < len(sizes):
        total = sum(sizes[start:end])
        while end < len(sizes) and (end == start or total + sizes[end] <= window):
            total += sizes[end]
            end += 1
        spans.append((start, end))
        start = end - (end - start) // 2
        while start < end and sum(sizes[start : end + 1]) > window:
            start += 1
    return spans


def chunks_of(
    passages: Sequence[tuple[int, Passage]],
    options: ScifiOptions = DEFAULTS,
    count: Count = count_words,
    splitter: SentenceSplitter = RULES,
) -> list[PremiseChunk]:
    """Return the passages cut as one text into chunks; at least one chunk if there is a passage.

    passages: (index in the answer, passage); one without text is a chunk that is not judged. count: measures a text.
    Every chunk opens with the title of its passage, which is not counted; in a chunk of several each part does.
    """
    sentences = [(at, text) for at, (_, passage) in enumerate(passages) for text in splitter.split(passage.text)]
    sizes = [count(sentence) for _, sentence in sentences]
    chunks: list[PremiseChunk] = []
    for start, end in windows(sizes, options.window):
        texts: dict[int, list[str]] = {}
        for at, sentence in sentences[start:end]:
            texts.setdefault(at, []).append(sentence)
        parts = [Passage(" ".join(lines), passages[at][1].title) for at, lines in texts.items()]
        first, *others = dict.fromkeys(passages[at][0] for at in texts)
        chunks.append((premise(parts), None if others else first))
    blank = sorted({index for index, passage in passages if not passage.text.strip()})
    return [*chunks, *((UNKNOWN_TEXT, index) for index in blank)]


def assign(fact: Fact, sentence: Sentence) -> tuple[PlacedGroup | None, int | None]:
    """Return the citation group that is nearest to the end of the fact's segment, and its distance in characters.

    Of two at the same distance the one after the end is taken. In an uncited sentence return (None, None).
    """
    _, end, _ = fact.segment
    nearest = min(sentence.groups, key=lambda group: (abs(group.at - end), group.at < end), default=None)
    return nearest, None if nearest is None else abs(nearest.at - end)


def judge_pairs(pairs: Sequence[NliPair], entails: Entails, soft: bool) -> dict[NliPair, Verdict]:
    """Return the verdict on each distinct pair, from one call of `entails`. soft: verdicts are degrees of support.

    Raises ValueError for a soft score outside 0 to 1, and if the numbers of verdicts and pairs differ.
    """
    known = verdicts_on(pairs, entails)
    for verdict in known.values():
        if soft and verdict.score is not None and not 0 <= verdict.score <= 1:
            raise ValueError(f"a value is a score from 0 to 1, but the backend gave {verdict.score}")
    return known


def value_of(verdict: Verdict, soft: bool) -> float | None:
    """Return a verdict's score (`soft`), or its decision as 0 or 1; None if it is missing."""
    if soft:
        return verdict.score
    return None if verdict.entailed is None else float(verdict.entailed)


def most(verdicts: Sequence[Verdict], soft: bool) -> tuple[int | None, float | None, str]:
    """Return the index of the highest value (of equal ones the first), the value, and "".

    If a verdict is missing and no known value is 1, the highest possible, return None, None and the status of the first
    missing verdict.
    """
    values = [value_of(verdict, soft) for verdict in verdicts]
    known = [(value, -place) for place, value in enumerate(values) if value is not None]
    best = max(known, default=None)
    if best is not None and (len(known) == len(values) or best[0] >= 1):
        return -best[1], best[0], ""
    return None, None, next(verdict.status for verdict, value in zip(verdicts, values, strict=True) if value is None)


def fact_lines(
    read: Sequence[AnswerFacts],
    entails: Entails,
    options: ScifiOptions = DEFAULTS,
    soft: bool = False,
    splitter: SentenceSplitter = RULES,
) -> list[FactLine]:
    """Return one line for each fact, answer by answer in the order of the text, from one call of `entails`.

    soft: a value is the backend's score, else its decision as 0 or 1. splitter: splits the passages into sentences.

    Raises ValueError for a soft score outside 0 to 1.
    """
    count = counter(options.tokenizer)

    @cache
    def cut(passages: CitedPassages) -> list[PremiseChunk]:
        """Return the cited passages cut into chunks, once for all facts that cite them."""
        return chunks_of(passages, options, count, splitter)

    drafts = [_draft(each, fact, options, cut) for each in read for fact in each.facts]
    pairs = [[(text, line.fact) for text, _, _ in premises] for line, premises in drafts]
    known = judge_pairs([pair for fact_pairs in pairs for pair in fact_pairs], entails, soft)
    lines: list[FactLine] = []
    for (line, premises), fact_pairs in zip(drafts, pairs, strict=True):
        if premises:
            verdicts = [known[pair] for pair in fact_pairs]
            best, value, reason = most(verdicts, soft)
            _, passage, chunk = ("", None, None) if best is None else premises[best]
            line = replace(
                line,
                passage=None if passage is None else passage + 1,
                chunk=chunk,
                value=value,
                state="judged" if value is not None else "unjudged",
                reason=reason,
                cut=any(verdict.cut for verdict in verdicts),
            )
        lines.append(line)
    return lines


def _draft(
    each: AnswerFacts, fact: Fact, options: ScifiOptions, cut: Callable[[CitedPassages], list[PremiseChunk]]
) -> tuple[FactLine, list[tuple[str, int | None, int]]]:
    """Return a fact's line with its citation, and the chunks that may entail it; without any the line is complete.

    Each chunk has its text, the index of its passage, and its number from 1.
    """
    sentence, passages, (start, end, match) = each.sentences[fact.sentence - 1], each.answer.passages, fact.segment
    # Where no reply named its segment, the fact may belong to any of several groups.
    group, distance = (None, None) if fact.trouble else assign(fact, sentence)
    marks = group.marks if group else ()
    if group and options.group == "nearest":  # the first behind the fact, or the last where words of it follow
        marks = marks[-1:] if any(map(str.isalnum, sentence.text[group.at : end])) else marks[:1]
    line = FactLine(
        **answer_cells(each.answer),
        sentence=sentence.number,
        sentence_start=sentence.start,
        sentence_end=sentence.end,
        fact_number=fact.number,
        fact=fact.text,
        made_by=fact.made_by,
        segment=sentence.text[start:end],
        segment_start=start,
        segment_end=end,
        match=match,
        citations=tuple(mark.number for mark in marks),
        cited_at=group.at if group else None,
        distance=distance,
    )
    if fact.trouble:
        return replace(line, state="unjudged", reason=fact.trouble), []
    if group is None:
        return replace(line, state="uncited", value=0.0 if options.uncited == "fails" else None), []
    places = [find_place(mark.number, len(passages))[0] for mark in marks]
    cited = tuple(dict.fromkeys((place, passages[place]) for place in places if place is not None))
    # The premises are chunks of each passage alone, or of all passages as one text.
    texts = [cited] if options.group == "joint" else [(passage,) for passage in cited]
    premises = [(*chunk, number) for text in texts for number, chunk in enumerate(cut(text), start=1)]
    return line if premises else replace(line, state="fails", value=0.0), premises


def coverage_lines(read: Sequence[AnswerFacts], entails: Entails, soft: bool = False) -> list[CoverageLine]:
    """Return one line for each fact of each reference, in order, from one call of `entails`.

    soft: verdicts are degrees of support. The whole answer without its marks is the premise. An answer without a
    sentence covers nothing: its values are 0 without a verdict. Answers without a reference have no line.
    """
    pairs: list[tuple[AnswerFacts, int, str, NliPair | None]] = []
    for each in read:
        text = " ".join(sentence.text for sentence in each.sentences)
        for number, fact in enumerate(each.reference or (), start=1):
            pairs.append((each, number, fact, (text, fact) if text else None))
    known = judge_pairs([pair for *_, pair in pairs if pair is not None], entails, soft)
    lines: list[CoverageLine] = []
    for each, number, fact, pair in pairs:
        verdict = None if pair is None else known[pair]
        value = 0.0 if verdict is None else value_of(verdict, soft)
        lines.append(
            CoverageLine(
                **answer_cells(each.answer),
                fact_number=number,
                fact=fact,
                value=value,
                reason="" if verdict is None or value is not None else verdict.status,
                cut=verdict is not None and verdict.cut,
            )
        )
    return lines
