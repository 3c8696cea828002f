"""The pipeline `improve`: apply the edits of CiteEval's judge to the answers, and judge them again.

The judge that proposes the edits also rates their result; the other pipelines can judge the file of answers
independently.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat_models import Spent, estimate_for, spent_on
from metaeval.citation.citeeval.edited_answers import Round, counts_of, further_rounds, judged_round
from metaeval.citation.citeeval.evaluate_responses import SCENARIOS, bounds
from metaeval.citation.citeeval.judge import asked_fields, questions_of
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.measures import means
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.citeeval import MEASURES, OWNERS, check_edited, rated_provenance, read_judge
from metaeval.citation.pipelines.citeeval_baselines import CiteEvalJudge
from metaeval.citation.pipelines.generate import amount, tokens_and_cost
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Layout, Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance, settings_text
from metaeval.citation.readers.answers_jsonl import own_lines
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.report.table import Note, Scalar, Table, plain
from metaeval.setting_types import one_of
from metaeval.stats.influence import SHARES, SIGNED


class ImproveCommand(pipeline.ReadsAnswers, pipeline.AsksChat):
    """Options of `improve`."""

    untyped = frozenset({"format", "profile", "sources"})

    files: pipeline.FilesToRead = Field(description="File of answers to improve.")
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = Field(
        default=None, description="File for the improved answers (JSONL)."
    )
    rounds: Annotated[int, Flag("N")] = Field(default=1, description="Most rounds of edits.")
    profile: Annotated[str, Flag("NAME")] = Field(
        default="paper", description="Definition: paper or released, as for 'cite citeeval'."
    )
    scenario: Annotated[pipeline.ScenarioName, one_of("scenario", SCENARIOS)] = "full"


@dataclass(frozen=True, eq=False)
class ImprovedRounds:
    """Answers split into statements, and the rounds of edits (none before judging); the last has the final answers.

    circling: indices of answers that are not edited further, because an edit would restore an earlier text. spent,
    models: of all replies, each counted once.
    """

    run: Run
    judge: CiteEvalJudge
    splits: Sequence[Split]
    rounds: Sequence[Round] = ()
    circling: frozenset[int] = frozenset()
    spent: Spent = field(default_factory=Spent)
    models: Sequence[str] = ()


def read_improve(run: Run) -> ImprovedRounds:
    """Return the run's answers cut into statements; raises `UserError` for a wrong option."""
    if run.options.rounds < 1:
        raise UserError(f"rounds is {run.options.rounds}; allowed: a whole number from 1.")
    if len(run.options.files) > 1:
        raise UserError(f"One file can be improved at a time, and {len(run.options.files)} are given: give one.")
    judge = read_judge(run)
    return ImprovedRounds(run, judge, [split_response(answer, judge.options, run.splitter) for answer in run.answers])


def estimate_improve(read: ImprovedRounds) -> str:
    """Return two lines: the cost of the first judging (without stored replies), and what each round adds at most."""
    questions = list(questions_of(read.run.answers, read.splits, read.judge.asking))
    requests = [question.request for question in questions]
    editing = sum(question.module == "editing" for question in questions)
    return (
        f"{count(len(read.run.answers), 'answer')}, to judge before any edit: "
        f"{estimate_for(requests, read.judge.chat)}\n"
        f"then, in each of {read.run.options.rounds:,} rounds, at most {editing:,} requests of about the same size: "
        "for every answer that was changed, about its citations alone (their contexts too, where an edit moved a "
        "sentence's end)"
    )


def improve(read: ImprovedRounds, chat: Any) -> ImprovedRounds:
    """Judge the answers, edit them and judge again; return the rounds.

    Raises `UserError` where no reply about citations can be parsed.
    """
    run, judge = read.run, read.judge
    heard: dict[bytes, Any] = {}

    def ask(requests: Sequence[Any]) -> Sequence[Any]:
        """Send requests and return the replies; each request counts once, since later rounds repeat some."""
        answers: Sequence[Any] = chat.ask(requests)
        heard.update((request.key(""), answer) for request, answer in zip(requests, answers, strict=True))
        return answers

    first = judged_round(run.answers, read.splits, ask, judge.asking, judge.options)
    refusal = f"None of {len(run.answers):,} answers was judged, and nothing is written"
    check_edited(run.answers, read.splits, judge, chat, first.results, refusal)
    rounds, circling = further_rounds(first, run.options.rounds, ask, judge.asking, judge.options, run.splitter)
    spent = spent_on(heard.values())
    return replace(read, rounds=rounds, circling=circling, spent=spent, models=chat.models)


def _provenance(improved: ImprovedRounds) -> Provenance:
    """Return the provenance that all tables share: the answers before any edit, settings, judge, missing judgements."""
    run, judge = improved.run, improved.judge
    fields: dict[str, Scalar] = {
        "scenario": run.options.scenario,
        "rounds": run.options.rounds,
        "splitter": run.splitter.name,
        **asked_fields(judge.asking, improved.models, unset=True),
    }
    settings = {"profile": judge.profile, "options": judge.changed.replace(",", ", ")}
    settings |= {"scenario": run.options.scenario, "splitter": run.splitter.name}
    notes = (
        Note("settings", settings_text(settings)),
        Note("judge", f"{plain(judge.asking.model)}, answered as {plain(str(fields['answered_as']))}"),
        Note(
            "reading",
            "the judge that proposes the edits also rates their result: use another metric on the written answers for "
            f"their worth; at most {count(run.options.rounds, 'round')}, until no edit changes an answer",
        ),
        Note("could be", _could_be(improved)),
    )
    return rated_provenance(run, judge, improved.splits, fields, notes, "; changes are of answers with both values")


def _could_be(improved: ImprovedRounds) -> str:
    """Return, as text, the bounds of the last round's CiteEval-Auto over all answers; empty if nothing is missing."""
    results, scenario = improved.rounds[-1].results, improved.run.options.scenario
    missing = sum(result.values["auto", scenario].missing for result in results)
    least, most = bounds(results, "auto", scenario)
    if not missing or least is None or most is None:
        return ""
    lacking = f"{count(missing, 'statement')} of the last round without a judgement"
    ends = f"from {least:.3f} to {most:.3f}"
    return f"{lacking}; with them, CiteEval-Auto over all answers is {ends} (the means above are of what was judged)"


def _values(improved: ImprovedRounds, provenance: Provenance) -> Table:
    """Return the table of CiteEval's mean values after each round of edits, with the change from the first round."""
    table = TableLines()
    panel, scenario = improved.run.panel, improved.run.options.scenario
    first = improved.rounds[0]
    for place, system in enumerate(panel.systems):
        rows = panel.rows(place)
        numbers = rows.tolist()
        for turn, current in enumerate(improved.rounds):
            title = f"round {turn}" if turn else "before"
            cited, cited_first = (
                sum(len(statement.citations) for n in numbers for statement in each.splits[n].statements)
                for each in (current, first)
            )
            cells, changed = [], []
            known = pairs = 0
            for key, measure in MEASURES.items():
                values, old = (
                    [result.values[key, scenario].value for result in each.results] for each in (current, first)
                )
                moved = [None if a is None or b is None else b - a for a, b in zip(old, values, strict=True)]
                mean, change = (
                    panel.interval_over(means(each, ends), rows) for each, ends in ((values, SHARES), (moved, SIGNED))
                )
                known, pairs = (sum(each[n] is not None for n in numbers) for each in (values, moved))
                least, most = bounds([current.results[n] for n in numbers], key, scenario)
                cells.append(interval_cell(mean.ends, measure.column))
                changed.append(interval_cell(change.ends, measure.column))
                ends = {f"change_{name}": end for name, end in asdict(change).items()}
                table.records.append(
                    {"system": system, "round": turn, "measure": key, **asdict(mean), "answers": known}
                    | {"least": least, "most": most, **ends, "pairs": pairs, "citations": cited}
                )
            table.add(plain(system), title, [*cells, f"{cited:,}", f"{known:,} of {len(numbers):,}"])
            if turn:
                counted = f"{cited - cited_first:+,}", f"{pairs:,}"
                table.add(f"{plain(system)}: change", title, [*changed, *counted])
    headings = ["round", *(measure.label for measure in MEASURES.values()), "citations", "answers"]
    return provenance.lines("improving", "Citations before and after their judge's edits", headings, table)


def _edits(improved: ImprovedRounds, provenance: Provenance) -> Table:
    """Return the table of edits in each round and system, and of those that could not be made."""
    panel, rounds, table = improved.run.panel, improved.rounds, TableLines()
    turns = [f"round {turn}" for turn in range(1, len(rounds))] + ["not done"]
    for place, system in enumerate(panel.systems):
        numbers = panel.rows(place).tolist()
        counts_by_turn = [counts_of(*pair, numbers) for pair in zip(rounds, [*rounds[1:], None], strict=True)]
        names = [
            name for name in dict.fromkeys(chain(*counts_by_turn)) if any(counts.get(name) for counts in counts_by_turn)
        ]
        for name in names:
            table.add(plain(system), name, [f"{counts.get(name, 0):,}" for counts in counts_by_turn])
        table.records.extend(
            {"system": system, "round": turn, "count": name, "value": counts.get(name, 0)}
            for turn, counts in zip(turns, counts_by_turn, strict=True)
            for name in names
        )
    took = tokens_and_cost(improved.spent, improved.judge.chat)
    took["answers left, since edits would bring an earlier text back"] = len(improved.circling)
    blank = [""] * (len(turns) - 1)
    for name, value in took.items():
        record = {"system": "", "round": "all", "count": name, "value": value}
        table.add("all rounds", name, [*blank, amount(name, value)], record)
    return provenance.lines("improving-edits", "The edits", ["count", *turns], table)


def _lay_out(improved: ImprovedRounds) -> Layout:
    provenance, changes = _provenance(improved), []
    for turn, (before, after) in enumerate(pairwise(improved.rounds), start=1):
        for number in sorted(after.changed):
            answer, old = after.answers[number], before.answers[number]
            edits = [
                f"{statement}: {' '.join(f'{edit.name}:{edit.citation}' for edit in done)}"
                for statement, done in before.edits[number].done.items()
                if done
            ]
            row = {"round": turn, "answer": answer.id, "system": answer.system, "edits": "; ".join(edits)}
            changes.append(json.dumps({**row, "before": old.text, "after": answer.text}) + "\n")
    # The name of the system says that its answers were improved, and by which model.
    model = improved.judge.asking.model
    written = [replace(answer, system=f"{answer.system} improved by {model}") for answer in improved.rounds[-1].answers]
    files = {improved.run.options.output: own_lines(written), improved.run.folder / "changes.jsonl": "".join(changes)}
    return Layout([_values(improved, provenance), _edits(improved, provenance)], files=files)


IMPROVE = Pipeline(
    name="improve",
    title="CiteEval",
    paper="Xu et al. 2025, CiteEval: Principle-Driven Citation Evaluation for Source Attribution",
    help="""Apply the edits of CiteEval's judge to the answers.

    Deletes the citation marks that a chat model would delete, and inserts
    those that it would add; the rest of the text stays. The answers are judged
    before and after each round; rounds end when no edit changes an answer.

    \b
    Examples:
      metaeval cite improve answers.jsonl --model NAME -o improved.jsonl
      metaeval cite improve answers.jsonl --model NAME --rounds 3 --dry-run \\
        -o improved.jsonl
      metaeval cite alce answers.jsonl improved.jsonl
    """,
    options=ImproveCommand,
    measures=tuple(MEASURES.values()),
    drawn=("system", "", "round"),
    owners=OWNERS,
    chat="always",
    prefix="chat.",
    read=read_improve,
    estimate=estimate_improve,
    ask=improve,
    lay_out=_lay_out,
)
