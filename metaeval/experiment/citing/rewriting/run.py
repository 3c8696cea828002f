"""Claims written again by a model and judged again: whether the verdicts on ALiiCE's claims hang on their wording."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metaeval.citation.aliice.answers import AnswerClaims, aliice_lines, read_answers
from metaeval.citation.aliice.profile import Profile, aliice_profile
from metaeval.citation.aliice.rewriter import RewriteOptions, estimated, rewritten
from metaeval.citation.aliice.rewriting import Fragment, Rewriting, fragments, with_rewritings
from metaeval.citation.model import Answer
from metaeval.citation.parsers.find import find_parser
from metaeval.citation.sentences import find_sentence_splitter
from metaeval.citation.table import Line, claims_of, unjudged
from metaeval.config import RunConfig, load_run, validated
from metaeval.errors import UserError
from metaeval.experiment.citing.agreement import Labels
from metaeval.experiment.citing.run import DEFAULT_BACKEND, find_cutoffs, gather
from metaeval.experiment.citing.settings import Asked
from metaeval.experiment.cutoffs import Cutoff
from metaeval.experiment.scoring import MetricProgress
from metaeval.experiment.verdicts import Backend, entailment
from metaeval.scoring.store import ScoreStore

Ints = NDArray[np.int64]

PREFIX = "rewrite."
"""What the settings of the model begin with: --set rewrite.temperature=0.5."""

Key = tuple[str, int]
"""Id of an answer, and number of a claim in it, from 1."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before a model is asked; fields: what the signature says of it."""

    asked: Asked
    config: RunConfig
    options: RewriteOptions
    cutoff: Cutoff
    profile: Profile
    read: Sequence[AnswerClaims]
    cut: Sequence[Fragment]
    fields: Mapping[str, object]

    @property
    def answers(self) -> list[Answer]:
        """The answers, in order."""
        return [each.answer for each in self.read]

    def key(self, fragment: Fragment) -> Key:
        """What the lines of a claim are found by."""
        return self.read[fragment.answer].answer.id, fragment.number + 1


@dataclass(frozen=True, eq=False)
class Rejudged:
    """The claims as they were and as they were written again. before, after: the citation table of each, whole."""

    prepared: Prepared
    backend: Backend
    rewritings: Sequence[Rewriting]
    before: Sequence[Line]
    after: Sequence[Line]

    @cached_property
    def joints(self) -> Mapping[Key, tuple[Line, Line]]:
        """The first line of each claim before and after."""
        pairs = zip(claims_of(self.before), claims_of(self.after), strict=True)
        return {_key(old): (old, new) for old, new in pairs}

    @cached_property
    def left_out(self) -> frozenset[Key]:
        """Claims that cannot be compared: the new wording is missing, or a verdict on the old or the new one is.

        A claim that is settled without a verdict, since its marks point nowhere, needs no wording.
        """
        missing = {self.prepared.key(one.fragment) for one in self.rewritings if one.text is None}
        asked = {key for key in missing if self.joints[key][0].joint is not None}
        return frozenset(asked | {_key(line) for line in unjudged([*self.before, *self.after])})

    def verdicts(self, one: Rewriting) -> tuple[bool | None, bool | None]:
        """Whether the claim's passages together entail its old wording, and its new one; None: unknown."""
        old, new = self.joints[self.prepared.key(one.fragment)]
        return old.joint, None if one.text is None else new.joint

    def changed(self, one: Rewriting) -> bool:
        """Whether there are verdicts on both wordings, and they differ."""
        old, new = self.verdicts(one)
        return old is not None and new is not None and old != new

    def labels(self, group: Ints, n_groups: int) -> Labels:
        """Verdicts on the claims that have both: those before stand as the human labels. group: (n,) of the answers."""
        verdicts = [(*self.verdicts(one), int(group[one.fragment.answer])) for one in self.rewritings]
        known = [each for each in verdicts if None not in each]
        columns = np.array(known, dtype=np.int64).reshape(-1, 3)
        return Labels(columns[:, 0], columns[:, 2], n_groups, {"after": columns[:, 1]})


def prepare(
    asked: Asked,
    endpoint: Mapping[str, str | None],
    settings: Mapping[str, Any],
    overrides: Sequence[str] = (),
    whole: bool = False,
) -> Prepared:
    """Read the answers into claims and check all that is asked; no model is asked, nothing is scored.

    endpoint: model and base_url, None for the defaults. settings, overrides: those of a run; overrides that begin with
    `PREFIX` are `RewriteOptions`. whole: see `fragments`.

    Raises `UserError` as `run_cited` does, for a soft cut-off, and where no claim was cut.
    """
    if len(set(asked.nli)) > 1:
        raise UserError(f"Claims are judged by one metric, and {len(set(asked.nli))} are named: give --nli once.")
    names = tuple(asked.nli[:1]) or (DEFAULT_BACKEND,)
    config = load_run(None, {**settings, "metrics": names}, [one for one in overrides if not one.startswith(PREFIX)])
    options = _options(config, endpoint, [one for one in overrides if one.startswith(PREFIX)])
    cutoff = find_cutoffs(names, config, asked.threshold, asked.calibrations)[names[0]]
    if cutoff.value is None:
        raise UserError(f"Verdicts are compared, and {names[0]!r} is asked for soft scores: give a threshold.")
    splitter = find_sentence_splitter(asked.splitter)
    profile = aliice_profile(asked.profile)
    answers = gather(asked.files, asked.form)
    parser = find_parser(asked.parser, profile.one_root)
    read = read_answers(answers, parser, profile, splitter)
    cut = fragments(read, whole)
    if not cut:
        raise UserError(f"No claim in {asked.name} was cut out of its sentence: there is nothing to write again.")
    fields = {
        "pipeline": "aliice",
        "profile": profile.signature,
        "parser": parser.name,
        "splitter": splitter.name,
        "claims": "tree" if whole else "cut",
        "rewrite": ",".join(f"{key}={value}" for key, value in options.identity().items()),
    }
    return Prepared(asked, config, options, cutoff, profile, read, cut, fields)


def estimate_rewriting(prepared: Prepared) -> str:
    """One line on what asking the model would still cost; sends nothing, and needs no key."""
    return f"{len(prepared.cut):,} claims to write again: {estimated(prepared.cut, prepared.options)}"


def rejudge(prepared: Prepared, progress: MetricProgress | None = None) -> Rejudged:
    """Have the claims written again, and judge all claims of the answers before and after.

    Raises `UserError` when the endpoint cannot go on, or the budget is spent; every reply so far is kept.
    """
    rewritings, note = rewritten(prepared.cut, prepared.options, progress)
    _log.info("rewriting: %s", note)
    config = prepared.config
    with ScoreStore(config.store_path) as store:
        backend = entailment(config.metrics[0], config, prepared.cutoff, store, "joint", progress)
        before, after = (
            aliice_lines(read, backend.entails, prepared.profile)
            for read in (prepared.read, with_rewritings(prepared.read, rewritings))
        )
    return Rejudged(prepared, backend, rewritings, before, after)


def _options(config: RunConfig, endpoint: Mapping[str, str | None], overrides: Sequence[str]) -> RewriteOptions:
    # Read where the options of a metric are, so that values are written alike.
    typed = load_run(None, {}, [f"metric_options.{one}" for one in overrides]).metric_options
    budget = {} if config.budget is None else {"budget": config.budget}
    given = {name: value for name, value in endpoint.items() if value is not None}
    values = {**budget, **given, **typed.get(PREFIX.rstrip("."), {})}
    return validated(RewriteOptions, values, "the options of rewriting")


def _key(line: Line) -> Key:
    return line.answer, line.claim_number or 0
