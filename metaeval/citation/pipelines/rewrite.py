"""The analysis `cite rewrite`: a chat model rewrites ALiiCE's claims, to test how verdicts depend on their wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.aliice import claim_rewriting
from metaeval.citation.aliice.citation_lines import aliice_lines
from metaeval.citation.aliice.claim_options import aliice_profile
from metaeval.citation.aliice.claim_rewriting import claim_key
from metaeval.citation.aliice.claims import read_answers
from metaeval.citation.chat_models import ChatOptions, estimate_for
from metaeval.citation.citation_table import CitationLine, claims_of
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.measures import AnswerShare, Statistic, citation_shares, replicates
from metaeval.citation.parsers.dependency_parsers import find_parser
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.aliice import parser_note
from metaeval.citation.pipelines.cited import CitedTable, Measure
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.citation.pipelines.provenance import Provenance, TableLines, interval_cell, options_text, value_records
from metaeval.citation.stated_answers import headlines
from metaeval.core.declared import Flag
from metaeval.core.errors import UserError, count
from metaeval.report.table import Note, Table, format_value
from metaeval.stats.arrays import Floats, Ints
from metaeval.stats.influence import SIGNED
from metaeval.stats.intervals import intervals
from metaeval.stats.resampling import Draws

_PERCENT, _KAPPA = Measure("share", "").column, Measure("kappa", "", scale=1, digits=2).column


class RewriteOptions(shared.ReadsAnswers, shared.JudgedByMetrics, shared.AsksChat):
    """Options of `cite rewrite`."""

    untyped = frozenset({"format", "parser", "profile", "prompt", "sources", "threshold", "whole"})

    model: Annotated[str | None, Flag("NAME")] = None
    """Chat model that rewrites the claims."""
    nli: shared.Judges = ()
    """Metric that gives the verdicts (default: minilm-bertscore)."""
    whole: Annotated[bool, Flag()] = False
    """Also rewrite claims that are whole sentences."""
    profile: shared.ProfileName = "paper"
    parser: shared.ParserName = "small"
    prompt: Annotated[Path | None, Flag("FILE")] = None
    """A prompt of your own, with {sentence} and {claim}, and if wanted {reply} for the reply's form."""


def _run(options: RewriteOptions, progress: Progress) -> Done:
    if len(set(options.nli)) > 1:
        raise UserError(f"One metric judges the claims, and {len(set(options.nli))} are given: name one with --nli.")
    answers, name = shared.answers_in(options), shared.name_of_data(options.files)
    judges = Judges(options, progress, decides="The comparison needs decisions")
    usual: dict[str, Any] = {"model": ChatOptions().model, "max_tokens": claim_rewriting.MAX_TOKENS}
    chat = shared.chat_options(ChatOptions, options, "rewrites the claims", **usual)
    profile = aliice_profile(options.profile)
    parser, splitter = find_parser(options.parser, profile.one_root), find_sentence_splitter(options.splitter)
    read = read_answers(answers, parser, profile, splitter)
    cut = claim_rewriting.fragments(read, options.whole)
    if not cut:
        raise UserError(f"Every claim in {name} is a whole sentence: give answers with several citations in one.")
    prompt = claim_rewriting.prompt_in(options.prompt)
    if options.dry_run:
        requests = [claim_rewriting.request_for(each, prompt, chat) for each in cut]
        return shared.estimated(judges.config, f"{count(len(cut), 'claim')} to rewrite: {estimate_for(requests, chat)}")
    with options.opened(chat, progress) as session:
        rewritings = claim_rewriting.rewrite(cut, session.ask, prompt, chat)
        chat = session.settled(chat)
    again = claim_rewriting.with_rewritings(read, rewritings)
    for backend in judges:  # there is one
        before, after = (aliice_lines(claims, backend.entails, profile) for claims in (read, again))
    rows, left_out = claim_rewriting.rejudged(read, rewritings, before, after)

    def shares(lines: Sequence[CitationLine]) -> tuple[list[AnswerShare], list[AnswerShare]]:
        """Return (recall, precision) of each answer over the claims that can be compared."""
        kept = [line for line in lines if claim_key(line) not in left_out]
        return citation_shares(answers, kept, profile.by_group)

    wording = f"{'own' if options.prompt is None else 'file'}@{prompt.fingerprint}"
    fields = {
        "pipeline": "aliice",
        "profile": profile.name,
        "parser": parser.name,
        "splitter": splitter.name,
        "claims": "tree" if options.whole else "cut",
        "rewrite": options_text({**chat.identity(), "prompt": wording}),
    }
    words = "soft", "supported from {} on ({})"
    cited = CitedTable(
        "aliice", "ALiiCE", name, answers, judges.config, fields, (), words, profile=f"profile {profile.name}"
    )
    changed = [row for row in rows if {row["joint_before"], row["joint_after"]} == {True, False}]
    old, new = headlines(*shares(before)), headlines(*shares(after))
    cited.add(backend, lambda _: new, after, lacking=(), rows={"rewritings": rows, "changed": changed})
    recall = {answer.id: share for answer, share in zip(answers, shares(after)[0], strict=True)}
    out, sent = len(left_out), np.array([each.answer for each in rewritings])
    ends = [
        f"{name} is from {format_value(least, _PERCENT)} to {format_value(most, _PERCENT)}"
        for name, (least, most) in claim_rewriting.rewritten_bounds(rows, left_out, recall).items()
    ]
    left = f"{count(out, 'claim')} without a new wording or without a verdict, in neither recall nor precision; "
    return cited.done(
        options.files,
        parser_note(options.parser, options.profile),
        Note("claims", f"{len(cut):,} of {len(claims_of(before)):,} sent"),
        Note("replies", claim_rewriting.TEXT_RULE if chat.output == "text" else ""),
        Note("left out", left + f"with them, {', '.join(ends)}" if out else ""),
        sheets=lambda around: [_claims(cited, rows, sent, around), _scores(cited, old, new, around)],
    )


def _claims(cited: CitedTable, rows: Sequence[Mapping[str, Any]], sent: Ints, around: Provenance) -> Table:
    """Return the table of what became of the claims: states of the replies, and verdicts on both wordings.

    sent: index of the answer of each row's claim.
    """
    table = TableLines()
    verdicts = claim_rewriting.verdict_changes(rows, cited.group[sent], cited.n_groups, cited.resampling)
    replies = claim_rewriting.reply_shares(rows)
    for title, measured in (("claims that were sent", replies), ("verdicts on both wordings", verdicts)):
        for name, value, of in measured:
            shown = interval_cell(value, _KAPPA if name == "kappa" else _PERCENT)
            (record,) = value_records({name: value})
            table.add(title, name, [shown, f"{of:,}"], {**record, "claims": of})
    return around.lines("rewriting", "Claims written again", ("measure", "value", "of claims"), table)


def _scores(cited: CitedTable, old: Mapping[str, Statistic], new: Mapping[str, Statistic], around: Provenance) -> Table:
    """Return the table of recall, precision and F1 before and after, with their change."""
    table, every = TableLines(), np.arange(cited.group.size)
    rows = np.bincount(cited.group, minlength=cited.n_groups)
    for key, label in (("recall", "recall"), ("precision", "precision"), ("f1", "F1")):

        def changed(draws: Draws, both: tuple[Statistic, Statistic] = (old[key], new[key])) -> Floats:
            # Both sides use the same draws, so that the interval of the change is paired.
            before, after = (replicates(statistic, every, cited.group, draws) for statistic in both)
            return after - before

        (change,) = intervals(changed, rows, cited.resampling, SIGNED)
        values = [cited.interval_over(old[key], every), cited.interval_over(new[key], every), change]
        cells = [interval_cell(value, _PERCENT) for value in values]
        record: dict[str, Any] = {"measure": key}
        for name, value in zip(("before", "after", "change"), values, strict=True):
            record |= value.record(name)
        table.add("", label, cells, record)
    return around.lines("rewriting-scores", "Before and after", ("measure", "before", "after", "change"), table)


REWRITE = Analysis(
    name="cite rewrite",
    summary="Rewrite ALiiCE's claims by a chat model, and judge them again.",
    about="""Claims that are cut out of a sentence can be fragments. A chat model makes a whole sentence of each, and
the verdicts before and after are compared. Replies are stored. With --set chat.output=text replies are one line of
plain text, as to the prompt of the paper (ALiiCE, arXiv 2406.13375).""",
    examples=[
        "cite rewrite answers.json --dry-run",
        "cite rewrite answers.json --base-url http://127.0.0.1:8000/v1 --model NAME",
        "cite rewrite answers.json --budget 1 -s chat.price_in=0.5 -s chat.price_out=1.5",
    ],
    options=RewriteOptions,
    run=_run,
    folder="cite/rewrite",
    again=shared.with_kept_replies,
)
