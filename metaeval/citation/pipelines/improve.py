"""The analysis `cite improve`: apply the edits of CiteEval's judge to the answers, and judge them again.

The judge that proposes the edits also rates their result; the other pipelines can judge the file of answers
independently.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.chat_models import estimate_for, tokens_and_cost
from metaeval.citation.citeeval.edited_answers import Round, counts_of, further_rounds, judged_round
from metaeval.citation.citeeval.evaluate_responses import cells
from metaeval.citation.citeeval.judge import asked_fields, questions_of
from metaeval.citation.citeeval.options_and_values import PROFILES, CitedScenario
from metaeval.citation.citeeval.splitting import split_responses
from metaeval.citation.marks_and_sentences import cleaned, find_sentence_splitter
from metaeval.citation.measures import means, value_of
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.cited import CitedTable
from metaeval.citation.pipelines.citeeval import (
    MEASURES,
    AsksJudge,
    Scenario,
    check_edited,
    counted,
    judge_note,
    rated_table,
)
from metaeval.citation.pipelines.generate import amount
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell
from metaeval.citation.readers.answers_jsonl import own_lines
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.core.files import write_text, write_texts
from metaeval.report.table import Note, Scalar, Table, plain
from metaeval.stats.influence import SHARES, SIGNED


class ImproveCommand(shared.ReadsAnswers, AsksJudge):
    """Options of `cite improve`."""

    untyped = frozenset({"format", "profile", "sources", "scenario"})

    files: shared.FilesToRead = Field(description="File of answers to improve.")
    output: Annotated[Path | None, Flag("FILE", "-o", required=True, output=True)] = None
    """File for the improved answers (JSONL)."""
    rounds: Annotated[int, Flag("N")] = Field(default=1, ge=1, description="Most rounds of edits.")
    scenario: Scenario = "full"


def _run(options: ImproveCommand, progress: Progress) -> Done:
    if len(options.files) > 1:
        raise UserError(f"One file can be improved at a time, and {len(options.files)} are given: give one.")
    asking, profile, config = options.asking(), PROFILES[options.profile], options.run()
    read, splitter = shared.answers_in(options), find_sentence_splitter(options.splitter)
    answers = [answer if answer.split else cleaned(answer) for answer in read]
    splits, split = split_responses(answers, profile, splitter)
    if options.dry_run:
        questions = list(questions_of(answers, splits, asking))
        estimate = estimate_for([question.request for question in questions], asking)
        editing = sum(question.module == "editing" for question in questions)
        text = f"{count(len(answers), 'answer')}, to judge before any edit: {estimate}\n"
        text += f"then, in each of {options.rounds:,} rounds, at most {editing:,} requests of about the same size: for "
        text += "every answer that was changed, about its citations alone (their contexts too, where an edit moved a "
        return shared.estimated(config, f"{text}sentence's end)")
    heard: dict[bytes, Any] = {}
    with options.opened(asking, progress) as chat:

        def ask(requests: Sequence[Any]) -> Sequence[Any]:
            """Send requests and return the replies; each request counts once, since later rounds repeat some."""
            replies = chat.ask(requests)
            heard.update((request.key(""), reply) for request, reply in zip(requests, replies, strict=True))
            return replies

        first = judged_round(answers, splits, ask, asking, profile)
        check_edited(first.rated, asking, f"None of {len(answers):,} answers was judged, and nothing is written")
        rounds, circling = further_rounds(first, options.rounds, ask, asking, profile, splitter)
        models = chat.models
    cited = rated_table(options, first.rated, config, split, rounds=options.rounds)
    last = rounds[-1].rated
    missing = last.values["auto"].missing
    worst, best = (value_of(last.statistic("auto", options.scenario, end)) for end in (0, 1))
    could_be = (
        f"{count(int(missing.sum()), 'statement')} of the last round without a judgement; with them, CiteEval-Auto "
        f"over all answers is from {worst:.3f} to {best:.3f} (the means above are of what was judged)"
        if missing.any() and worst is not None and best is not None
        else ""
    )
    notes = [
        judge_note(asking, models),
        Note(
            "reading",
            "the judge that proposes the edits also rates their result: use another metric on the written answers for "
            f"their worth; at most {count(options.rounds, 'round')}, until no edit changes an answer; changes are of "
            "answers with both values",
        ),
        Note("could be", could_be),
    ]
    cited.add(asking.model, lambda missing: {}, fields=asked_fields(asking, models))
    # The name of the system says that its answers were improved, and by which model.
    written = [replace(answer, system=f"{answer.system} improved by {asking.model}") for answer in last.responses]
    done = cited.done(
        options.files,
        *notes,
        counted=counted(splits),
        sheets=lambda around: [
            _values(cited, around, rounds, options.scenario),
            _edits(cited, around, rounds, {**tokens_and_cost(heard.values(), asking), _LEFT: len(circling)}),
        ],
        rows=(),
    )
    outputs = {options.output: partial(write_text, text=own_lines(written))} if options.output else {}
    return replace(done, files=[*done.files, partial(_write_changes, rounds=rounds)], outputs=outputs)


_LEFT = "answers left, since edits would bring an earlier text back"


def _write_changes(folder: Path, rounds: Sequence[Round]) -> list[Path]:
    """Write each changed answer of each round with its edits, before and after."""
    changes = []
    for turn, (before, after) in enumerate(pairwise(rounds), start=1):
        for number in sorted(after.changed):
            answer, old = after.answers[number], before.answers[number]
            edits = [
                f"{statement}: {' '.join(f'{edit.name}:{edit.citation}' for edit in done)}"
                for statement, done in before.edits[number].done.items()
                if done
            ]
            row = {"round": turn, "answer": answer.id, "system": answer.system, "edits": "; ".join(edits)}
            changes.append(json.dumps({**row, "before": old.text, "after": answer.text}) + "\n")
    return write_texts({folder / "changes.jsonl": "".join(changes)})


def _values(cited: CitedTable, shared: Provenance, rounds: Sequence[Round], scenario: CitedScenario) -> Table:
    """Return the table of CiteEval's mean values after each round of edits, with the change from the first round."""
    table = TableLines()
    values = {key: [each.rated.whole(key, scenario)[0].value for each in rounds] for key in MEASURES}
    citations = [
        [sum(len(statement.citations) for statement in split.statements) for split in each.rated.splits]
        for each in rounds
    ]
    for place, system in enumerate(cited.systems):
        rows = cited.rows(place)
        cited_first = sum(citations[0][row] for row in rows)
        for turn, current in enumerate(rounds):
            title, marks = f"round {turn}" if turn else "before", sum(citations[turn][row] for row in rows)
            printed, changed = [], []
            known = pairs = 0
            for key, measure in MEASURES.items():
                columns = values[key][turn], values[key][turn] - values[key][0]
                mean, change = (
                    cited.interval_over(means(cells(column), ends), rows)
                    for column, ends in zip(columns, (SHARES, SIGNED), strict=True)
                )
                known, pairs = (int((~np.isnan(column[rows])).sum()) for column in columns)
                worst, best = (value_of(current.rated.statistic(key, scenario, end), rows) for end in (0, 1))
                printed.append(interval_cell(mean, measure.column))
                changed.append(interval_cell(change, measure.column))
                record: dict[str, Scalar] = {"system": system, "round": turn, "measure": key, "value": mean.value}
                record |= {"low": mean.low, "high": mean.high, "answers": known, "worst": worst, "best": best}
                record |= {"change_value": change.value, "change_low": change.low, "change_high": change.high}
                table.records.append({**record, "pairs": pairs, "citations": marks})
            table.add(plain(system), title, [*printed, f"{marks:,}", f"{known:,} of {len(rows):,}"])
            if turn:
                table.add(f"{plain(system)}: change", title, [*changed, f"{marks - cited_first:+,}", f"{pairs:,}"])
    headings = ["round", *(measure.label for measure in MEASURES.values()), "citations", "answers"]
    return shared.lines("improving", "Citations before and after their judge's edits", headings, table)


def _edits(cited: CitedTable, shared: Provenance, rounds: Sequence[Round], took: dict[str, float | None]) -> Table:
    """Return the table of edits in each round and system, and of those that could not be made. took: of all rounds."""
    table, turns = TableLines(), [f"round {turn}" for turn in range(1, len(rounds))] + ["not done"]
    for place, system in enumerate(cited.systems):
        numbers = cited.rows(place).tolist()
        by_turn = [counts_of(*pair, numbers) for pair in zip(rounds, [*rounds[1:], None], strict=True)]
        names = [name for name in dict.fromkeys(chain(*by_turn)) if any(counts.get(name) for counts in by_turn)]
        for name in names:
            table.add(plain(system), name, [f"{counts.get(name, 0):,}" for counts in by_turn])
        table.records.extend(
            {"system": system, "round": turn, "count": name, "value": counts.get(name, 0)}
            for turn, counts in zip(turns, by_turn, strict=True)
            for name in names
        )
    for name, value in took.items():
        record = {"system": "", "round": "all", "count": name, "value": value}
        table.add("all rounds", name, [*[""] * (len(turns) - 1), amount(name, value)], record)
    return shared.lines("improving-edits", "The edits", ["count", *turns], table)


IMPROVE = Analysis(
    name="cite improve",
    summary="Apply the edits of CiteEval's judge to the answers.",
    about="""Deletes the citation marks that a chat model would delete, and inserts those that it would add; the rest of
the text stays. The answers are judged before and after each round; rounds end when no edit changes an answer. Source:
Xu et al. 2025 (arXiv 2506.01829).""",
    examples=[
        "cite improve answers.jsonl --model NAME -o improved.jsonl",
        "cite improve answers.jsonl --model NAME --rounds 3 --dry-run -o improved.jsonl",
        "cite alce answers.jsonl improved.jsonl",
    ],
    options=ImproveCommand,
    run=_run,
    folder="cite/improve",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
