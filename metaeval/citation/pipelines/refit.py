"""The pipeline `refit`: fit the coefficients of CiteEval's edit distance to human ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.citation.chat_models import estimate_for
from metaeval.citation.citeeval.citation_edits import PUBLISHED, coefficients_text
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import CiteEvalOptions, citeeval_options
from metaeval.citation.citeeval.splitting import Split, split_response
from metaeval.citation.data_model import Answer
from metaeval.citation.human.rated_statements import HumanAnswer, HumanStatement
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.human.refitting import FOLDS, Refit, agreement, edited_statements, fit, human_edited
from metaeval.citation.measures import group_codes
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.citeeval import OWNERS, check_edited, read_judge
from metaeval.citation.pipelines.citeeval_baselines import CiteEvalJudge
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.pipeline import Layout, Pipeline, PipelineMeasure, Run
from metaeval.citation.pipelines.provenance import Provenance, counts_text, data_of, data_reference, uncertainty
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import sha256_json
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Note, Table, plain
from metaeval.runs.evaluation import resampling_of
from metaeval.setting_types import one_of
from metaeval.stats.estimate import Estimate

MEASURES = (
    PipelineMeasure("pearson", "Pearson", "Pearson correlation with human ratings"),
    PipelineMeasure("spearman", "Spearman", "Spearman rank correlation with human ratings"),
    PipelineMeasure("kendall", "Kendall", "Kendall's tau-b with human ratings"),
    PipelineMeasure("error", "error", "mean absolute difference from human ratings"),
)

ROWS: Mapping[str, str] = {
    "published": "published coefficients",
    "refit": "refitted, on groups held out",
    "difference": "refitted less published",
}


class RefitCommand(pipeline.AsksChat):
    """Options of `refit`."""

    untyped = frozenset({"format", "profile", "splitter", "edits"})

    files: pipeline.FilesToRead = Field(description="Files of answers with human ratings, as for 'cite meta'.")
    human: Annotated[Path | None, Flag("FILE")] = Field(default=None, description="CiteBench's human judgements.")
    profile: pipeline.ProfileName = "paper"
    format: Annotated[str, Flag("NAME", "-f")] = Field(
        default="auto", description="Format: expertqa, citebench, jsonl, or auto (by content)."
    )
    splitter: pipeline.Splitter = "auto"
    edits: Annotated[str, one_of("edits", ("judge", "human")), Flag("NAME")] = Field(
        default="judge", description="Whose edits are fitted: the judge's, or human (CiteBench's; no model is asked)."
    )


@dataclass(frozen=True, eq=False)
class ToRefit:
    """Rated answers and their statements. dropped: counts of what was not read, by reason.

    judge: None where people's edits (`judged`, by answer) are fitted. options: of the edit distance.
    """

    run: Run
    judge: CiteEvalJudge | None
    options: CiteEvalOptions
    people: Sequence[HumanAnswer]
    splits: Sequence[Split]
    dropped: Counter[str]
    judged: Mapping[str, Sequence[HumanStatement]] = field(default_factory=dict)

    @property
    def answers(self) -> list[Answer]:
        """The answers, in order."""
        return [rated.answer for rated in self.people]


def read_refit(run: Run) -> ToRefit:
    """Return the run's rated answers, with people's edits if edits=human; `UserError` for wrong files and settings."""
    if run.options.edits == "human":
        return _read_edits(run)
    # The edit distance does not depend on what a statement rests on.
    judge = read_judge(run, contexts="never")
    human_set = read_human_set(run.options.files, run.options.format, run.options.human)
    splits = [
        human_set.splits.get(rated.answer.id) or split_response(rated.answer, judge.options, run.splitter)
        for rated in human_set.answers
    ]
    return ToRefit(run, judge, judge.options, human_set.answers, splits, human_set.dropped)


def _read_edits(run: Run) -> ToRefit:
    """Return the run's rated answers with people's edits; raises `UserError` for files without any."""
    if run.options.names_model or run.options.idle:
        raise UserError("edits=human fits people's edits, and no model is asked: leave the model's options out.")
    human_set = read_human_set(run.options.files, run.options.format, run.options.human)
    if not human_set.people:
        raise UserError("edits=human needs people's edits, which CiteBench holds: give its .citeeval file and --human.")
    # People's citations are counted, so that no number can be one too high.
    options = replace(citeeval_options(run.options.profile, **run.set_options["options"]), index_shift=False)
    return ToRefit(run, None, options, human_set.answers, [], human_set.dropped, human_set.people)


def estimate_refit(read: ToRefit) -> str:
    """Return one line on the cost of the requests that have no stored reply yet."""
    if read.judge is None:
        return "People's edits are fitted, and no chat model is asked: nothing is paid."
    requests = [question.request for question in questions_of(read.answers, read.splits, read.judge.asking)]
    return f"{count(len(read.people), 'answer')} to be edited: {estimate_for(requests, read.judge.chat)}"


def refit(read: ToRefit, chat: Any) -> Layout:
    """Have the judge edit the citations, and fit the coefficients; return tables and the file of coefficients.

    chat: the judge; not asked where people's edits are fitted. Raises `UserError` for too little data, and where no
    reply of the judge can be read.
    """
    judge = read.judge
    group, _ = group_codes(read.answers)
    if judge is None:
        edited, left_out = human_edited(read.people, read.judged, group)
        fitted = fit(edited, left_out, read.options, read.run.config.interval.seed)
        return _laid_out(read, fitted, _provenance(read, fitted, ()), {"edits": "human"})
    results = evaluate(read.answers, read.splits, chat.ask, judge.asking, judge.options).results
    # Without edits, the fit would fail for want of ratings, which is not the cause.
    refusal = f"No statement of {len(read.people):,} answers was edited"
    check_edited(read.answers, read.splits, judge, chat, results, refusal)
    statements, left_out = edited_statements(read.people, results, group, judge.options)
    try:
        fitted = fit(statements, left_out, judge.options, read.run.config.interval.seed)
    except UserError as error:
        # Failed requests, and statements with citations that are left out of the fit.
        ended = sum((result.judged.states for result in results), Counter[str]())
        lost = {f"requests {state}": times for state, times in ended.items() if state not in ("read", "not asked")}
        lost |= {f"statements {reason}": times for reason, times in left_out.items()}
        raise UserError(f"{error} Left out: {counts_text(lost) or 'none'}.") from error
    around = _provenance(read, fitted, chat.models)
    origin = {
        "judge": ", ".join(chat.models) or judge.asking.model,
        "prompt": f"editing@{load_prompts(judge.asking)['editing'].fingerprint}",
        "profile": judge.profile,
        "options": judge.changed,
    }
    return _laid_out(read, fitted, around, origin)


def _laid_out(read: ToRefit, fitted: Refit, around: Provenance, origin_of_edits: Mapping[str, Any]) -> Layout:
    """Return the tables, and the file of coefficients. origin_of_edits: who edited, for the file."""
    sheets = [_agreement(agreement(fitted, resampling_of(read.run.config)), around), _coefficients(fitted, around)]
    origin = {
        "answers": data_reference(around.data),
        **origin_of_edits,
        "index_shift": read.options.index_shift,
        "statements": len(fitted.statements),
        "groups": around.data.groups,
    }
    return Layout(sheets, files={read.run.folder / "fitted.json": coefficients_text(fitted.coefficients, origin)})


def _provenance(read: ToRefit, learnt: Refit, models: Sequence[str]) -> Provenance:
    """Return the provenance that all tables share: the statements of the fit, what was left out, and the judge."""
    judge, run = read.judge, read.run
    citations = sum(len(statement.citations) for statement in learnt.statements)
    data = data_of(run.name, "citeeval", read.answers, len(learnt.statements), citations)
    # The fingerprint covers the ratings too; the groups are those of the fit.
    ratings = [
        [[statement.start, statement.end, list(statement.ratings)] for statement in rated.statements]
        for rated in read.people
    ]
    changed = {"fingerprint": sha256_json([data.fingerprint, ratings]), "groups": len(set(learnt.group.tolist()))}
    data = data.model_copy(update=changed)
    data_text = (
        f"{count(data.statements, 'statement' if judge else 'judgement')} with citations, edits and a rating, in "
    )
    data_text += f"{count(len(read.people), 'answer')} of {count(data.groups, 'group')}"
    made_by: dict[str, Any] = {"edits": "human", "profile": run.options.profile}
    if judge:
        made_by = {"profile": judge.profile, "options": judge.changed, "splitter": run.splitter.name}
        made_by |= asked_fields(judge.asking, models)
    return Provenance(
        data=data,
        kind="",
        subtitle=f"{plain(data.name)}, edited by {plain(judge.asking.model) if judge else 'people'}",
        fields={
            "pipeline": "citeeval-refit",
            **made_by,
            "folds": FOLDS,
        },
        interval=run.config.interval,
        after=(
            Note("data", data_text),
            Note("left out", counts_text(learnt.left_out)),
            Note("not read", counts_text(read.dropped)),
            uncertainty(run.config.interval, data.groups),
        ),
    )


def _agreement(agreed: Mapping[str, Mapping[str, Estimate]], around: Provenance) -> Table:
    table = TableLines()
    for key, measures in agreed.items():
        cells = [interval_cell(interval.ends, THREE) for interval in measures.values()]
        line = "" if key == "difference" else key  # on another scale than the values, so that figures leave it out
        records = [
            {"coefficients": key, "line": line, "measure": name, **asdict(interval)}
            for name, interval in measures.items()
        ]
        table.add("", ROWS[key], cells, *records)
    reading = Note(
        "reading",
        f"refitted: by a fit on the other groups ({FOLDS} folds); a statement without edits takes part in the fit, and "
        "its worth is 1 by both; error: mean absolute difference from human ratings",
    )
    headings = ["coefficients", *(measure.label for measure in MEASURES)]
    return around.lines("refit", "CiteEval's edit distance and people's ratings", headings, table, [reading])


def _coefficients(fitted: Refit, around: Provenance) -> Table:
    table = TableLines()
    old, new = (
        {**coefficients.action, "intercept": coefficients.intercept}
        for coefficients in (PUBLISHED, fitted.coefficients)
    )
    for name in old:
        used = fitted.used.get(name)
        numbers = {"published": old[name], "refitted": new[name], "statements": used}
        occurs = "" if used is None else f"{used:,}"
        table.add("", name, [cell(old[name]), cell(new[name]), occurs], {"action": name, **numbers})
    reading = Note(
        "reading",
        "refitted on all groups: the least-squares solution nearest to the published coefficients; an action without "
        "statements keeps its published coefficient, and the intercept is fixed; statements: those with the action",
    )
    headings = ["action", "published", "refitted", "statements"]
    return around.lines("coefficients", "What each action is worth", headings, table, [reading])


REFIT = Pipeline(
    name="refit",
    title="CiteEval",
    paper="Xu et al. 2025, CiteEval: Principle-Driven Citation Evaluation for Source Attribution",
    help="""Fit CiteEval's edit distance to another judge.

    The published coefficients are fitted to the edits of one judge. Here a
    chat model edits answers with human ratings, and least squares estimates
    the worth of each kind of edit; cross-validation over groups compares the
    agreement with people before and after. Use the fitted file with
    'cite citeeval --coefficients FILE'.

    \b
    Examples:
      metaeval cite refit rated.jsonl --model NAME --dry-run
      metaeval cite refit rated.jsonl --model NAME --record judge.jsonl
      metaeval cite citeeval answers.json --model NAME \\
        --coefficients results/cite/refit/rated/fitted.json
    """,
    options=RefitCommand,
    measures=MEASURES,
    drawn=("line", ""),
    owners={name: kind for name, kind in OWNERS.items() if name != "baselines"},
    chat="optional",
    asks=lambda choice, _: getattr(choice, "edits", "judge") == "judge",
    read=read_refit,
    estimate=estimate_refit,
    ask=refit,
)
