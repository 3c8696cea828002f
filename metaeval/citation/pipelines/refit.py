"""The pipeline `refit`: coefficients of CiteEval's edit distance, fitted to people's ratings of what a judge edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat import estimate_for
from metaeval.citation.citeeval.editing import PUBLISHED, coefficients_text
from metaeval.citation.citeeval.evaluate import evaluate
from metaeval.citation.citeeval.judge import asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.human.model import HumanAnswer
from metaeval.citation.human.readers import read_human_set
from metaeval.citation.human.refitting import FOLDS, Refit, agreement, edited_statements, fit
from metaeval.citation.measures import ValueInterval, group_codes
from metaeval.citation.model import Answer
from metaeval.citation.pipelines.citeeval_baselines import CiteEvalJudge
from metaeval.citation.pipelines.citeeval_tables import OWNERS, check_edited, read_judge
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import AsksChat, Layout, Measure, Pipeline, Profile, Run, Splitter
from metaeval.citation.pipelines.provenance import Provenance, answers_at, counted, data_of, uncertainty
from metaeval.declared import Flag
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report.cells import THREE, cell
from metaeval.report.table import Note, Table, count, plain
from metaeval.runs.evaluation import resampling_of

MEASURES = (
    Measure("pearson", "Pearson", "correlation with people's ratings"),
    Measure("spearman", "Spearman", "rank correlation with people's ratings"),
    Measure("kendall", "Kendall", "tau-b with people's ratings"),
    Measure("error", "error", "mean absolute difference from people's rating"),
)

ROWS: Mapping[str, str] = {
    "published": "published coefficients",
    "refit": "refitted, on groups held out",
    "difference": "refitted less published",
}


class RefitCommand(AsksChat):
    """Options of `refit`."""

    untyped = frozenset({"format", "profile", "splitter"})

    files: Annotated[tuple[Path, ...], Flag("FILE", multiple=True, argument=True)] = Field(
        description="Answers that people rated (see cite meta)."
    )
    human: Annotated[Path | None, Flag("FILE")] = Field(default=None, description="CiteBench's file of judgements.")
    profile: Profile = "paper"
    format: Annotated[str, Flag("NAME", "-f")] = Field(
        default="auto", description="expertqa, citebench, jsonl; auto: by its content."
    )
    splitter: Splitter = "auto"


@dataclass(frozen=True, eq=False)
class ToRefit:
    """The rated answers and their statements. dropped: what was not read, by reason."""

    run: Run
    judge: CiteEvalJudge
    people: Sequence[HumanAnswer]
    splits: Sequence[Split]
    dropped: Counter[str]

    @property
    def answers(self) -> list[Answer]:
        """The answers, in order."""
        return [one.answer for one in self.people]


def read_refit(run: Run) -> ToRefit:
    """The rated answers; `UserError` for what is wrong in files and settings."""
    # What a statement rests on has no part in what its edits are worth.
    judge = read_judge(run, contexts="never")
    found = read_human_set(run.options.files, run.options.format, run.options.human)
    splits = [
        found.splits.get(one.answer.id) or split_response(one.answer, judge.options, run.splitter)
        for one in found.answers
    ]
    return ToRefit(run, judge, found.answers, splits, found.dropped)


def estimate_refit(read: ToRefit) -> str:
    """One line on what asking the judge would still cost."""
    requests = [one.request for one in questions_of(read.answers, read.splits, read.judge.asking)]
    return f"{len(read.people):,} answers to be edited: {estimate_for(requests, read.judge.chat)}"


def refit(read: ToRefit, chat: Any) -> Layout:
    """Have the citations edited, and fit. Raises `UserError` where too little is left to learn from."""
    judge = read.judge
    results = evaluate(read.answers, read.splits, chat.ask, judge.asking, judge.options).results
    # No ratings would mend it where nothing was edited.
    refusal = f"No statement of {len(read.people):,} answers was edited"
    check_edited(read.answers, read.splits, judge, chat, results, refusal)
    group, _ = group_codes(read.answers)
    statements, left_out = edited_statements(read.people, results, group, judge.options)
    try:
        found = fit(statements, left_out, judge.options, read.run.config.interval.seed)
    except UserError as error:
        # Statements with citations that are not learnt from, and requests that nothing came of.
        ended = sum((result.judged.states for result in results), Counter[str]())
        lost = {f"requests {state}": times for state, times in ended.items() if state not in ("read", "not asked")}
        lost |= {f"statements {reason}": times for reason, times in left_out.items()}
        raise UserError(f"{error} Left out: {counted(lost) or 'none'}.") from error
    around = _provenance(read, found, chat.models)
    agreed = agreement(found, resampling_of(read.run.config))
    sheets = [_agreement(agreed, around), _coefficients(found, around)]
    made = {
        "answers": answers_at(around.data),
        "judge": ", ".join(chat.models) or judge.asking.model,
        "prompt": f"editing@{load_prompts(judge.asking)['editing'].fingerprint}",
        "profile": judge.profile,
        "options": judge.changed,
        "index_shift": judge.options.index_shift,
        "statements": len(found.statements),
        "groups": around.data.groups,
    }
    return Layout(sheets, files={read.run.folder / "fitted.json": coefficients_text(found.coefficients, made)})


def _provenance(read: ToRefit, learnt: Refit, models: Sequence[str]) -> Provenance:
    """What stands around the tables: what was learnt from, what was left out, who edited."""
    judge, run = read.judge, read.run
    citations = sum(len(one.citations) for one in learnt.statements)
    data = data_of(run.name, "citeeval", read.answers, len(learnt.statements), citations)
    # What people say of the answers is read too; groups are those that are learnt from.
    ratings = [[[one.start, one.end, list(one.ratings)] for one in own.statements] for own in read.people]
    own = {"fingerprint": sha256_json([data.fingerprint, ratings]), "groups": len(set(learnt.group.tolist()))}
    data = data.model_copy(update=own)
    said = f"{count(data.statements, 'statement')} with citations, edits and a rating, in "
    said += f"{count(len(read.people), 'answer')} of {count(data.groups, 'group')}"
    return Provenance(
        data=data,
        kind="",
        subtitle=f"{plain(data.name)}, edited by {plain(judge.asking.model)}",
        fields={
            "pipeline": "citeeval-refit",
            "profile": judge.profile,
            "options": judge.changed,
            "splitter": run.splitter.name,
            **asked_fields(judge.asking, models),
            "folds": FOLDS,
        },
        interval=run.config.interval,
        after=(
            Note("data", said),
            Note("left out", counted(learnt.left_out)),
            Note("not read", counted(read.dropped)),
            uncertainty(run.config.interval, data.groups),
        ),
    )


def _agreement(found: Mapping[str, Mapping[str, ValueInterval]], around: Provenance) -> Table:
    table = TableLines()
    for key, measures in found.items():
        cells = [interval_cell(one.ends, THREE, signed=(one.low or 0) < 0) for one in measures.values()]
        records = [{"coefficients": key, "measure": name, **asdict(one)} for name, one in measures.items()]
        table.add("", ROWS[key], cells, *records)
    reading = Note(
        "reading",
        f"a statement's worth by refitted coefficients comes from a fit on other groups ({FOLDS} folds); one without "
        "edits takes part in the fit, and is worth 1 by either; error: mean absolute difference from people's rating",
    )
    headings = ["coefficients", *(measure.label for measure in MEASURES)]
    return around.lines("refit", "CiteEval's edit distance and people's ratings", headings, table, [reading])


def _coefficients(found: Refit, around: Provenance) -> Table:
    table = TableLines()
    old, new = ({**one.action, "intercept": one.intercept} for one in (PUBLISHED, found.coefficients))
    for name in old:
        used = found.used.get(name)
        numbers = {"published": old[name], "refitted": new[name], "statements": used}
        occurs = "" if used is None else f"{used:,}"
        table.add("", name, [cell(old[name]), cell(new[name]), occurs], {"action": name, **numbers})
    reading = Note(
        "reading",
        "refitted on all groups, the least squares nearest to the published: an action that no statement has keeps its "
        "published coefficient, and the intercept stays; statements: those in which the action occurs",
    )
    headings = ["action", "published", "refitted", "statements"]
    return around.lines("coefficients", "What each action is worth", headings, table, [reading])


REFIT = Pipeline(
    name="refit",
    title="CiteEval",
    paper="Xu et al. 2025, CiteEval: Principle-Driven Citation Evaluation for Source Attribution",
    help="""Fit CiteEval's edit distance to another judge.

    Its published coefficients are for the edits of one judge. Here a model
    edits answers that people rated, and least squares says what each of its
    edits is worth; groups held out show whether that agrees better with
    people. 'cite citeeval --coefficients FILE' uses the file.

    \b
    Examples:
      metaeval cite refit rated.jsonl --model NAME --dry-run
      metaeval cite refit rated.jsonl --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME \\
        --coefficients results/cite/refit/rated/fitted.json
    """,
    options=RefitCommand,
    measures=MEASURES,
    owners={name: kind for name, kind in OWNERS.items() if name != "baselines"},
    chat="always",
    read=read_refit,
    estimate=estimate_refit,
    ask=refit,
)
