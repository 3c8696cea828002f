"""The pipeline `rewrite`: a chat model rewrites ALiiCE's claims, to test how verdicts depend on their wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from metaeval.citation.aliice import claim_rewriting
from metaeval.citation.aliice.citation_lines import aliice_lines
from metaeval.citation.aliice.claim_options import AliiceProfile, aliice_profile
from metaeval.citation.aliice.claim_rewriting import Rejudged, RewriteOptions, Rewriting
from metaeval.citation.aliice.claims import AnswerClaims, read_answers
from metaeval.citation.chat_models import Chat
from metaeval.citation.citation_table import claims_of, counts
from metaeval.citation.measures import Statistic, interval_by, replicates
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines import pipeline
from metaeval.citation.pipelines.alce import MEASURES
from metaeval.citation.pipelines.layout import TableLines, interval_cell
from metaeval.citation.pipelines.metric_verdicts import Backend
from metaeval.citation.pipelines.pipeline import AsksChat, JudgedByMetrics, Pipeline, Run
from metaeval.citation.pipelines.provenance import Provenance, data_of, options_text, settings_text, uncertainty
from metaeval.citation.stated_answers import headlines
from metaeval.declared import Flag
from metaeval.display_text import count
from metaeval.errors import UserError
from metaeval.files import safe_name
from metaeval.report.result import Column
from metaeval.report.table import Note, Scalar, Table, format_value, plain, share
from metaeval.stats.arrays import Floats
from metaeval.stats.influence import SIGNED
from metaeval.stats.resampling import Draws

_PERCENT = Column(key="", label="", scale=100, digits=1)
_TWO = Column(key="", label="", digits=2)


class RewriteCommand(pipeline.ReadsAnswers, JudgedByMetrics, AsksChat):
    """Options of `cite rewrite`."""

    untyped = frozenset({"calibration", "format", "parser", "profile", "sources", "threshold", "whole"})

    model: Annotated[str | None, Flag("NAME")] = Field(default=None, description="Chat model that rewrites the claims.")
    nli: pipeline.Judges = Field(default=(), description="Metric that gives the verdicts (default: minilm-bertscore).")
    whole: bool = Field(default=False, description="Also rewrite claims that are whole sentences.")
    profile: pipeline.ProfileName = "paper"
    parser: pipeline.ParserName = "small"


@dataclass(frozen=True, eq=False)
class _Rewritten:
    """The claims of the answers, those to rewrite (`cut`), and their rewordings (empty before the model is asked).

    fields: of the signature.
    """

    run: Run
    profile: AliiceProfile
    read: Sequence[AnswerClaims]
    cut: Sequence[claim_rewriting.Fragment]
    fields: Mapping[str, Scalar]
    rewritings: Sequence[Rewriting] = ()


def _read(run: Run) -> _Rewritten:
    """Return the claims of the run's answers, and those to rewrite; raises `UserError` without any to rewrite."""
    profile = aliice_profile(run.options.profile)
    parser = find_parser(run.options.parser, profile.one_root)
    read = read_answers(run.answers, parser, profile, run.splitter)
    cut = claim_rewriting.fragments(read, run.options.whole)
    if not cut:
        raise UserError(
            f"Every claim in {run.name} is a whole sentence, so there is nothing to rewrite: give answers with "
            "several citations in a sentence."
        )
    fields = {
        "pipeline": "aliice",
        "profile": profile.name,
        "parser": parser.name,
        "splitter": run.splitter.name,
        "claims": "tree" if run.options.whole else "cut",
    }
    return _Rewritten(run, profile, read, cut, fields)


def _ask(read: _Rewritten, chat: Chat) -> _Rewritten:
    """Return the claims with the model's rewordings, and with how it was asked among the fields of the signature."""
    options: RewriteOptions = read.run.chat
    rewritings = claim_rewriting.rewrite(read.cut, chat.ask, claim_rewriting.prompt_of(options), options)
    fields = {**read.fields, "rewrite": options_text(chat.settled(options).identity())}
    return replace(read, rewritings=rewritings, fields=fields)


def _judge(heard: _Rewritten, backends: pipeline.MakeBackends) -> pipeline.Layout:
    """Judge all claims before and after the rewriting, and return tables of wordings, verdicts and scores."""
    (backend,) = backends()
    before, after = (
        aliice_lines(read, backend.entails, heard.profile)
        for read in (heard.read, claim_rewriting.with_rewritings(heard.read, heard.rewritings))
    )
    rejudged = Rejudged(heard.read, heard.rewritings, before, after, heard.profile.by_group)
    around = _provenance(heard, rejudged, backend)
    rows = [rejudged.row(new) for new in heard.rewritings]
    changed = [row for row in rows if {row["joint_before"], row["joint_after"]} == {True, False}]
    name = safe_name(backend.name)
    tables = {
        "rewritings": Table(name=f"rewritings-{name}", records=rows),
        "changed": Table(name=f"changed-{name}", records=changed),
    }
    return pipeline.Layout([_claims(heard, rejudged, around), _scores(heard, rejudged, around)], tables)


def _claims(heard: _Rewritten, rejudged: Rejudged, around: Provenance) -> Table:
    table = TableLines()
    verdicts = rejudged.verdict_changes(heard.run.panel)
    for title, rows in (("claims that were sent", rejudged.reply_shares()), ("verdicts on both wordings", verdicts)):
        for name, value, of in rows:
            kappa = name == "kappa"
            shown = interval_cell(value.ends, _TWO if kappa else _PERCENT)
            table.add(title, name, [shown, f"{of:,}"], {"measure": name, **asdict(value), "claims": of})
    return around.lines("rewriting", "Claims written again", ("measure", "value", "of claims"), table)


def _scores(heard: _Rewritten, rejudged: Rejudged, around: Provenance) -> Table:
    panel, table = heard.run.panel, TableLines()
    every = np.arange(panel.group.size)
    rows = np.bincount(panel.group, minlength=panel.n_groups)
    old, new = (headlines(*rejudged.shares(lines)) for lines in (rejudged.before, rejudged.after))
    for measure in MEASURES:
        both = old[measure.key], new[measure.key]

        def changed(draws: Draws, both: tuple[Statistic, Statistic] = both) -> Floats:
            # Both sides use the same draws, so that the interval of the change is paired.
            before, after = (replicates(statistic, every, panel.group, draws) for statistic in both)
            return after - before

        before, after = (panel.interval_over(statistic, every) for statistic in both)
        (change,) = interval_by(changed, rows, panel.resampling, SIGNED)
        cells = [interval_cell(interval.ends, measure.column) for interval in (before, after)]
        record = {"measure": measure.key, **before.record("before"), **after.record("after"), **change.record("change")}
        table.add("", measure.label, [*cells, interval_cell(change.ends, measure.column)], record)
    return around.lines("rewriting-scores", "Before and after", ("measure", "before", "after", "change"), table)


def _provenance(heard: _Rewritten, rejudged: Rejudged, backend: Backend) -> Provenance:
    run, out, counted = heard.run, len(rejudged.left_out), counts(rejudged.before)
    ledger, cutoff = backend.ledger, backend.cutoff
    data = data_of(run.name, "aliice", run.answers, counted["claims"], counted["marks"])
    data_text = f"{count(len(run.answers), 'answer')}, {count(data.groups, 'group')}; "
    data_text += f"{count(len(claims_of(rejudged.before)), 'claim')}, {len(heard.cut):,} of them sent; "
    left = f"{count(out, 'claim')} without a new wording or without a verdict, in neither recall nor precision; "
    ends = [
        f"{name} is from {format_value(least, _PERCENT)} to {format_value(most, _PERCENT)}"
        for name, (least, most) in rejudged.bounds().items()
    ]
    notes = (
        Note("data", data_text + count(data.citations, "citation mark")),
        Note("settings", settings_text(heard.fields)),
        Note("replies", claim_rewriting.TEXT_RULE if heard.run.chat.output == "text" else ""),
        Note("verdicts", f"{plain(backend.name)}: supported from {cutoff.value:g} on ({cutoff.source})"),
        Note("truncation", f"{share(ledger.cut_pairs, ledger.pairs)} of pairs cut" if ledger.cut_pairs else ""),
        Note("left out", left + f"with them, {', '.join(ends)}" if out else ""),
        uncertainty(run.config.interval, data.groups),
    )
    subtitle = f"{plain(data.name)}, ALiiCE, profile {plain(heard.profile.name)}"
    return Provenance(data, "", subtitle, heard.fields, run.config.interval, [backend.fields], after=notes)


REWRITE = Pipeline(
    name="rewrite",
    title="ALiiCE",
    paper="ALiiCE (arXiv 2406.13375), on its claims that are fragments",
    help="""Rewrite ALiiCE's claims by a chat model, and judge them again.

    Claims that are cut out of a sentence can be fragments. A chat model makes
    a whole sentence of each, and the verdicts before and after are compared.
    Replies are stored. Options of the model are set with --set NAME=VALUE
    (prompt_file: your own prompt, with {sentence} and {claim}; output=text:
    replies of one line of plain text, as to the prompt of the paper).

    \b
    Examples:
      metaeval cite rewrite answers.json --dry-run
      metaeval cite rewrite answers.json --base-url http://127.0.0.1:8000/v1 --model NAME
      metaeval cite rewrite answers.json --budget 1 -s price_in=0.5 -s price_out=1.5
    """,
    options=RewriteCommand,
    measures=MEASURES,
    owners={"chat": RewriteOptions},
    prefix="rewrite.",
    backends="one",
    decides="The comparison needs decisions",
    chat="always",
    model=RewriteOptions().model,
    purpose="rewrites the claims",
    chat_options=RewriteOptions,
    read=_read,
    estimate=lambda read: (
        f"{count(len(read.cut), 'claim')} to rewrite: {claim_rewriting.estimated(read.cut, read.run.chat)}"
    ),
    ask=_ask,
    judge=_judge,
)
