"""The analysis `cite refit`: fit the coefficients of CiteEval's edit distance to human ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.chat_models import estimate_for
from metaeval.citation.citeeval.citation_edits import PUBLISHED, coefficients_text
from metaeval.citation.citeeval.evaluate_responses import evaluate
from metaeval.citation.citeeval.judge import asked_fields, load_prompts, questions_of
from metaeval.citation.citeeval.options_and_values import PROFILES
from metaeval.citation.citeeval.splitting import split_responses
from metaeval.citation.human.rated_statements import HumanSet
from metaeval.citation.human.rating_files import read_human_set
from metaeval.citation.human.refitting import FOLDS, Refit, agreement, edited_statements, fit, human_edited
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import group_codes
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.citeeval import AsksJudge, check_edited
from metaeval.citation.pipelines.provenance import (
    Provenance,
    TableLines,
    counts_text,
    data_of,
    data_reference,
    interval_cell,
    uncertainty,
    value_records,
)
from metaeval.core.declared import Flag, one_of
from metaeval.core.errors import UserError, count
from metaeval.core.files import sha256_json, write_texts
from metaeval.report.notebook import Sheets
from metaeval.report.result_tables import THREE, cell
from metaeval.report.table import Note, Table, plain
from metaeval.runs.evaluate import resampling_of
from metaeval.stats.estimate import Estimate

ROWS: Mapping[str, str] = {
    "published": "published coefficients",
    "refit": "refitted, on groups held out",
    "difference": "refitted less published",
}


class RefitCommand(AsksJudge):
    """Options of `cite refit`."""

    untyped = frozenset({"format", "profile", "splitter", "edits"})

    files: shared.FilesToRead = Field(description="Files of answers with human ratings, as for 'cite meta'.")
    human: Annotated[Path | None, Flag("FILE")] = Field(default=None, description="CiteBench's human judgements.")
    format: Annotated[str, Flag("NAME", "-f")] = "auto"
    """Format: expertqa, citebench, jsonl, or auto (by content)."""
    splitter: shared.Splitter = "auto"
    edits: Annotated[str, one_of("edits", ("judge", "human")), Flag("NAME")] = "judge"
    """Whose edits are fitted: the judge's, or human (CiteBench's; no model is asked)."""


def _run(options: RefitCommand, progress: Progress) -> Done:
    config, profile = options.run(), PROFILES[options.profile]
    if options.edits == "human":
        return _fit_people(options)
    # The edit distance does not depend on what a statement rests on.
    asking, splitter = options.asking(uncited="fails"), find_sentence_splitter(options.splitter)
    human = read_human_set(options.files, options.format, options.human)
    answers = [rated.answer for rated in human.answers]
    splits, split = split_responses(answers, profile, splitter)
    if options.dry_run:
        estimate = estimate_for([question.request for question in questions_of(answers, splits, asking)], asking)
        return shared.estimated(config, f"{count(len(answers), 'answer')} to be edited: {estimate}")
    with options.opened(asking, progress) as chat:
        rated = evaluate(answers, splits, chat.ask, asking, profile)
        models = chat.models
    # Without edits, the fit would fail for want of ratings, which is not the cause.
    check_edited(rated, asking, f"No statement of {len(answers):,} answers was edited")
    statements, left_out = edited_statements(human.answers, rated, group_codes(answers)[0])
    try:
        fitted = fit(statements, left_out, profile, config.interval.seed)
    except UserError as error:
        # Failed requests, and statements with citations that are left out of the fit.
        ended = sum((judged.states for judged in rated.judged), Counter[str]())
        lost = {f"requests {state}": times for state, times in ended.items() if state not in ("read", "not asked")}
        lost |= {f"statements {reason}": times for reason, times in left_out.items()}
        raise UserError(f"{error} Left out: {counts_text(lost) or 'none'}.") from error
    origin = {
        "judge": ", ".join(models) or asking.model,
        "prompt": f"editing@{load_prompts(asking)['editing'].fingerprint}",
        "profile": options.profile,
        "index_shift": profile.index_shift,
    }
    fields = {"profile": options.profile, "splitter": split, **asked_fields(asking, models)}
    return _done(options, human, fitted, fields, origin)


def _fit_people(options: RefitCommand) -> Done:
    """Fit people's own edits; raises `UserError` for files without any."""
    if options.names_model or options.idle:
        raise UserError("edits=human fits people's edits, and no model is asked: leave the model's options out.")
    human = read_human_set(options.files, options.format, options.human)
    if not human.people:
        raise UserError("edits=human needs people's edits, which CiteBench holds: give its .citeeval file and --human.")
    if options.dry_run:
        text = "People's edits are fitted, and no chat model is asked: nothing is paid."
        return shared.estimated(options.run(), text)
    groups, _ = group_codes([rated.answer for rated in human.answers])
    edited, left_out = human_edited(human.answers, human.people, groups)
    # People's citations are counted, so that no number can be one too high.
    profile = replace(PROFILES[options.profile], index_shift=False)
    fitted = fit(edited, left_out, profile, options.run().interval.seed)
    fields = {"edits": "human", "profile": options.profile}
    return _done(options, human, fitted, fields, {"edits": "human", "index_shift": False})


def _done(
    options: RefitCommand, human: HumanSet, fitted: Refit, fields: Mapping[str, Any], origin: Mapping[str, Any]
) -> Done:
    """Return the tables, and the file of coefficients. origin: who edited, for the file."""
    config = options.run()
    citations = sum(len(statement.citations) for statement in fitted.statements)
    answers = [rated.answer for rated in human.answers]
    data = data_of(shared.name_of_data(options.files), "citeeval", answers, len(fitted.statements), citations)
    # The fingerprint covers the ratings too; the groups are those of the fit.
    ratings = [
        [[statement.start, statement.end, list(statement.ratings)] for statement in rated.statements]
        for rated in human.answers
    ]
    changed = {"fingerprint": sha256_json([data.fingerprint, ratings]), "groups": len(set(fitted.group.tolist()))}
    data = data.model_copy(update=changed)
    units = count(data.statements, "judgement" if options.edits == "human" else "statement")
    held = f"{count(len(answers), 'answer')} of {count(data.groups, 'group')}"
    around = Provenance(
        data=data,
        kind="",
        subtitle=f"{plain(data.name)}, edited by {plain(fields.get('model', 'people'))}",
        fields={"pipeline": "citeeval-refit", **fields, "folds": FOLDS},
        interval=config.interval,
        after=(
            Note("data", f"{units} with citations, edits and a rating, in {held}"),
            Note("left out", counts_text(fitted.left_out)),
            Note("not read", counts_text(human.dropped)),
            uncertainty(config.interval, data.groups),
        ),
    )
    sheets = [_agreement(agreement(fitted, resampling_of(config)), around), _coefficients(fitted, around)]
    origin = {"answers": data_reference(data), **origin, "statements": data.statements, "groups": data.groups}
    return Done(
        config=config,
        sheets=sheets,
        files=[lambda folder: write_texts({folder / "fitted.json": coefficients_text(fitted.coefficients, origin)})],
        read=[file for file in options.files if isinstance(file, Path)],
        value=Sheets(sheets),
    )


def _agreement(agreed: Mapping[str, Mapping[str, Estimate]], around: Provenance) -> Table:
    table = TableLines()
    for key, measures in agreed.items():
        cells = [interval_cell(interval, THREE) for interval in measures.values()]
        line = "" if key == "difference" else key  # on another scale than the values, so that figures leave it out
        table.add("", ROWS[key], cells, *value_records(measures, coefficients=key, line=line))
    reading = Note(
        "reading",
        f"refitted: by a fit on the other groups ({FOLDS} folds); a statement without edits takes part in the fit, and "
        "its worth is 1 by both; error: mean absolute difference from human ratings",
    )
    headings = ["coefficients", "Pearson", "Spearman", "Kendall", "error"]
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


REFIT = Analysis(
    name="cite refit",
    summary="Fit CiteEval's edit distance to another judge.",
    about="""The published coefficients are fitted to the edits of one judge. Here a chat model edits answers with human
ratings, and least squares estimates the worth of each kind of edit; cross-validation over groups compares the agreement
with people before and after. Use the fitted file with 'cite citeeval --coefficients FILE'. Source: Xu et al. 2025
(arXiv 2506.01829).""",
    examples=[
        "cite refit rated.jsonl --model NAME --dry-run",
        "cite refit rated.jsonl --model NAME --record judge.jsonl",
        "cite citeeval answers.json --model NAME --coefficients results/cite/refit/rated/fitted.json",
    ],
    options=RefitCommand,
    run=_run,
    folder="cite/refit",
    again=shared.with_kept_replies,
    figures=shared.draw,
)
