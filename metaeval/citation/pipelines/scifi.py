"""The analysis `cite scifi`: facts from a parser or a chat model, and their entailment by the nearest citation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.chat_models import Chat, ChatOptions, estimate_for
from metaeval.citation.data_model import Answer
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import AnswerShare, Statistic, macro, micro
from metaeval.citation.parsers.dependency_parsers import Parser, find_parser
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import TEXT, CitedTable, Definition, Lacking, Measure, Missing
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import counts_text
from metaeval.citation.scifi import answer_measures, facts
from metaeval.citation.scifi.data_model import (
    DEFAULTS,
    PAPER,
    AnswerFacts,
    CoverageLine,
    FactLine,
    ScifiOptions,
    read_sentences,
)
from metaeval.citation.scifi.fact_entailment import counter, coverage_lines, fact_lines
from metaeval.core.declared import Flag, one_of
from metaeval.core.errors import UserError, count
from metaeval.corpus.sentences import SentenceSplitter
from metaeval.report.table import Note, Scalar, plain
from metaeval.runs.metrics import Cutoff, find_cutoff
from metaeval.scoring.contract import Metric
from metaeval.stats.arrays import Ints
from metaeval.stats.influence import COUNTS, SHARES

DEFINITIONS = (
    Definition(
        "scifi-scores",
        "Citation entailment of facts, and coverage of references (%)",
        (
            Measure("entailment_facts", "entailment", "mean entailment of facts by their nearest citation", ranks=True),
            Measure("entailment_answers", "by answer", "mean over answers of their entailment"),
            Measure("coverage_facts", "coverage", "mean entailment of a reference's facts by the answer", ranks=True),
            Measure("coverage_answers", "by answer", "mean over answers of their coverage"),
            Measure("count_valued", "facts", "facts that have a value", 1, 0),
            Measure("count_reference", "reference facts", "facts of references that have a value", 1, 0),
        ),
    ),
    Definition(
        "scifi-answers",
        "The answers",
        (
            Measure("density", "density", "citations per sentence", 1, 2),
            Measure("density_sub", "density (sub)", "those that are followed by a word of their sentence", 1, 2),
            Measure("facts_per_sentence", "facts per sentence", "", 1, 2),
            Measure("uncited", "uncited %", "share of facts of sentences without a citation"),
            Measure("citations_without_facts", "unused %", "share of citations that no fact is compared with"),
            Measure("not_found", "not found %", "share of facts whose segment is not in their sentence"),
        ),
        "density: citations per sentence; sub: those that are followed by a word of their sentence; uncited: facts of "
        "sentences without a citation; unused: citations that no fact is compared with; not found: facts whose segment "
        "is not in their sentence",
    ),
)


class FactOptions(shared.ReadsAnswers, shared.AsksChat, shared.JudgedByMetrics):
    """Options of an analysis of facts."""

    untyped = frozenset({"format", "sources", "parser", "tokenizer", "prompts"})

    profile: Annotated[Literal["paper"] | None, Flag("NAME")] = None
    """Definition: paper (a metric's threshold decides, uncited=fails, group=nearest, tokens of TRUE's T5). Default: as
    the options say."""
    threshold: shared.Threshold = None
    """Least score of a supported fact: X, or NAME=X,NAME=X (default: a fact's value is its score)."""
    model: Annotated[str | None, Flag("NAME")] = None
    """Chat model that makes the facts (default: none)."""
    parser: Annotated[str, Flag("NAME")] = "small"
    """Parser that makes the facts, where no model is named."""
    tokenizer: Annotated[str, Flag("NAME")] = "words"
    """Unit of chunks of 256, and of Table 1: words, or tokens of a tokenizer (its hub id or folder)."""
    prompts: Annotated[Path | None, Flag("FOLDER")] = None
    """Folder of prompts of your own: decomposition.txt (facts), mapping.txt (segments)."""

    @property
    def rules(self) -> ScifiOptions:
        """The options of making and scoring facts."""
        names = ScifiOptions.__dataclass_fields__.keys() & type(self).model_fields.keys()
        kind, typed = (PAPER, names & self.model_fields_set) if self.profile else (DEFAULTS, names)
        return replace(kind, facts="model" if self.names_model else "parser", **self.model_dump(include={*typed}))

    @property
    def find(self) -> Callable[..., Cutoff]:
        """What finds a metric's cut-off: in the profile paper, a fact is entailed or not."""
        return find_cutoff if self.profile else fact_cutoff


class ScifiCommand(FactOptions):
    """Options of `cite scifi`."""

    untyped = frozenset({"group", "uncited"})

    group: Annotated[str, one_of("group", ("max", "joint", "nearest")), Flag("HOW")] = "max"
    """Marks that stand together: each passage by itself (max), all as one (joint), or only the mark nearest to the fact
    (nearest)."""
    uncited: Annotated[str, one_of("uncited", ("left out", "fails")), Flag("HOW")] = "left out"
    """Facts of sentences without a citation: left out, or fails (0)."""


def fact_cutoff(
    name: str, metric: Metric, thresholds: Mapping[str, float | None], calibrations: Sequence[Path]
) -> Cutoff:
    """Return the cut-off of a metric: None where its scores are the values of facts, else a threshold.

    Raises `UserError` for soft scores that are not from 0 to 1.
    """
    card = metric.card
    graded = (card.low, card.high, card.direction) == (0.0, 1.0, 1)
    if name not in thresholds and not calibrations and graded:
        return Cutoff(None, "as it is")
    cutoff = find_cutoff(name, metric, thresholds, calibrations)
    if cutoff.value is None and not graded:
        raise UserError(f"A fact's value is from 0 to 1, and {name!r} has another range: give --threshold {name}=X.")
    return cutoff


def fact_maker(options: FactOptions) -> Parser | ChatOptions:
    """Return the chat model that makes the facts, or the parser where no model is named.

    Raises `UserError` for a prompt, tokenizer or parser that cannot be loaded, and for idle options of a model.
    """
    counter(options.rules.tokenizer)
    if not options.names_model:
        if idle := options.idle:
            raise UserError(f"{idle[0]} is for chat models; a parser makes the facts: give --model or leave it out.")
        return find_parser(options.parser)
    chat = shared.chat_options(ChatOptions, options, "makes the facts")
    facts.fact_prompts(options.rules, chat)
    return chat


def estimate(
    answers: Sequence[Answer],
    rules: ScifiOptions,
    maker: Parser | ChatOptions,
    splitter: SentenceSplitter,
    replay: Path | None = None,
) -> str:
    """Return a line on what making the facts would still cost; nothing is sent, and no key is needed."""
    if isinstance(maker, Parser):
        return "A parser makes the facts: no chat model is asked, and nothing is paid for them."
    if replay is not None:
        return f"The replies are in {replay}: no chat model is asked, and nothing is paid for them."
    requests = facts.requests_for(answers, rules, maker, splitter)
    read = [read_sentences(answer, splitter) for answer in answers]
    # The citation of their facts depends on where the model says that they are stated.
    several = sum(len(sentence.groups) > 1 for sentences in read for sentence in sentences)
    first = f"{count(len(requests), 'sentence')} to decompose: {estimate_for(requests, maker)}."
    then = f" Then one more request for each fact of {count(several, 'sentence')} with several citations; the first "
    return f"{first}{then}replies determine how many." if several else first


def make_facts(
    answers: Sequence[Answer],
    rules: ScifiOptions,
    maker: Parser | ChatOptions,
    splitter: SentenceSplitter,
    chat: Chat | None = None,
) -> tuple[list[AnswerFacts], dict[str, Scalar]]:
    """Return the facts of every answer, and the fields that they add to a signature. chat: where a model is asked."""
    if isinstance(maker, Parser):
        return facts.read_with_parser(answers, maker, splitter), {"facts": facts.facts_signature(rules, maker)}
    if chat is None:
        raise ValueError("facts need a parser or a chat model")
    read = facts.read_with_model(answers, rules, chat.ask, maker, splitter)
    answered = {"answered_as": ", ".join(chat.models)} if chat.models else {}
    return read, {"facts": facts.facts_signature(rules, chat.settled(maker)), **answered}


def judge_facts(
    options: FactOptions, maker: Parser | ChatOptions, answers: Sequence[Answer], judges: Judges, progress: Progress
) -> tuple[CitedTable, Sequence[Note], Sequence[tuple[int, str]]]:
    """Return the table of facts that each metric judges, its notes, and numbers of sentences, facts and marks."""
    rules, splitter = options.rules, find_sentence_splitter(options.splitter)
    profile = f"profile {options.profile}, " if options.profile else ""
    with nullcontext() if isinstance(maker, Parser) else options.opened(maker, progress) as chat:
        read, fields = make_facts(answers, rules, maker, splitter, chat)
    cited = CitedTable(
        "scifi",
        "SCiFi",
        shared.name_of_data(options.files),
        answers,
        judges.config,
        {"pipeline": "scifi", "options": rules.signature, "splitter": splitter.name, **fields},
        DEFINITIONS,
        ("a fact's value is the score itself, from 0 to 1", "a fact's value is 1 from {} on ({}), else 0"),
        profile=f"{profile}facts by a {'chat model' if options.names_model else 'parser'}",
    )
    lines: Sequence[FactLine] = ()
    for backend in judges:
        lines = fact_lines(read, backend.entails, rules, backend.soft, splitter)
        references = coverage_lines(read, backend.entails, backend.soft)
        entailment = answer_measures.entailments(read, lines, rules)
        coverage = answer_measures.coverages(read, references)
        facts_judged = [
            # The numbers of a fact's citations are joined by spaces, with ? if unparsable.
            {"found" if name == "match" else name: value for name, value in asdict(line).items()}
            | {"citations": " ".join("?" if number is None else str(number) for number in line.citations)}
            for line in lines
        ]
        rows = {
            "answers": answer_measures.answer_rows(read, entailment, coverage, rules),
            "facts": facts_judged,
            "reference-facts": [asdict(line) for line in references],
        }
        stated: list[FactLine | CoverageLine] = [*lines, *references]
        lacking: list[Lacking] = [
            (line.answer, f"fact {line.fact_number}", line.fact, line.reason)
            for line in stated
            if line.reason and line.value is None
        ]
        for each in read:  # sentences that count for a measure and whose facts are unknown
            for number in answer_measures.lost_citing(each, rules):
                place, text = f"sentence {number}", each.sentences[number - 1].text
                lacking.append((each.answer.id, place, text, each.lost[number]))
            lacking += [(each.answer.id, "reference", "", "no facts")] * each.reference_lost
        cited.add(
            backend,
            partial(_measured, entailment, coverage),
            lacking=lacking,
            rows={kind: records for kind, records in rows.items() if records},
            whole={
                "count_valued": partial(_total, entailment, None),
                "count_reference": partial(_total, coverage, [answer.reference is not None for answer in read]),
            },
        )
    texts = answer_measures.text_shares(read, lines)
    # What is not a share is a number, and can be above 1.
    numbers = {measure.key for measure in DEFINITIONS[1].measures if measure.scale == 1}
    measured = {key: micro(of, COUNTS if key in numbers else SHARES) for key, of in texts.items()}
    cited.add(TEXT, lambda missing: measured)
    notes = (
        Note("without facts", _lost_sentences(read)),
        Note("problems", counts_text(sum((answer.problems for answer in read), Counter()))),
        Note("counts", counts_text(answer_measures.counts(read, lines))),
    )
    sentences = [sentence for answer in read for sentence in answer.sentences]
    marks = sum(len(group.marks) for sentence in sentences for group in sentence.groups)
    return cited, notes, ((len(sentences), "sentence"), (len(lines), "fact"), (marks, "citation mark"))


def _total(shares: Sequence[AnswerShare], counted: Sequence[bool] | None, rows: Ints) -> float | None:
    """Return the number of facts of the answers at `rows`; None where none of these is `counted`."""
    if counted is not None and not any(counted[row] for row in rows):
        return None
    return float(sum(shares[row].total for row in rows.tolist()))


def _measured(
    entailment: Sequence[AnswerShare], coverage: Sequence[AnswerShare], missing: Missing
) -> dict[str, Statistic]:
    """Return the measures over facts and over answers; a sentence whose facts are unknown counts as one fact."""
    statistics: dict[str, Statistic] = {}
    for name, shares in (("entailment", entailment), ("coverage", coverage)):
        filled = shares if missing is None else [share.filled(bool(missing)) for share in shares]
        statistics |= {f"{name}_facts": micro(filled), f"{name}_answers": macro(filled)}
    return statistics


def _lost_sentences(read: Sequence[AnswerFacts]) -> str:
    """Return, as text, the number of sentences whose facts are missing, in answers and references."""
    causes = Counter(reason for answer in read for reason in answer.lost.values())
    of_references = sum(answer.reference_lost for answer in read)
    parts = []
    if causes:
        first = next((answer.answer.id, min(answer.lost)) for answer in read if answer.lost)
        sentences = count(sum(len(answer.sentences) for answer in read), "sentence")
        where = f"{plain(first[0])}, sentence {first[1]}"
        parts.append(f"{counts_text(causes)} (of {sentences}): their facts are unknown; first: {where}")
    if of_references:
        parts.append(f"{count(of_references, 'sentence')} of references, which coverage leaves out")
    unknown = sum(len(answer.lost) for answer in read) + of_references
    each = "the" if unknown == 1 else "each of"
    parts.append(f"the bounds hold if {each} {count(unknown, 'sentence')} without facts states one")
    return "; ".join(parts) if unknown else ""


def _run(options: ScifiCommand, progress: Progress) -> Done:
    judges, maker = Judges(options, progress, find=options.find), fact_maker(options)
    answers = shared.answers_in(options)
    if options.dry_run:
        how = options.rules, maker, find_sentence_splitter(options.splitter), options.replay
        return shared.estimated(judges.config, estimate(answers, *how))
    cited, notes, counted = judge_facts(options, maker, answers, judges, progress)
    return cited.done(options.files, *notes, counted=counted)


SCIFI = Analysis(
    name="cite scifi",
    summary="Measure how far citations entail single facts (SCiFi).",
    about="""Sentences are decomposed into facts, by a parser or, as in the paper, by a chat model. The citation of a
fact is the one nearest to where its sentence states it. Source: Cao and Wang 2024 (arXiv 2406.06125).""",
    examples=[
        "cite scifi answers.json --nli overlap",
        "cite scifi answers.json --model NAME --record facts.jsonl",
        "cite scifi answers.json --replay facts.jsonl -s group=joint",
    ],
    options=ScifiCommand,
    run=_run,
    folder="cite/scifi",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
