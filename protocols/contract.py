"""The protocol contract: judgements in, estimates and counts out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.arrays import Floats as Floats
from metaeval.stats.estimate import Estimate as Estimate
from metaeval.stats.influence import Influence
from metaeval.stats.intervals import Resampling as Resampling
from metaeval.stats.resampling import Draws

Replicates = Mapping[str, Floats]
"""The values of each measure, by key: on the input, then under each weighting of the groups; NaN where undefined."""

Influences = Mapping[str, Influence | None]
"""The contributions of the groups to each measure, by key; None where undefined."""

Cards = Mapping[str, Mapping[str, Estimate]]
"""Further values of metrics on the same rows, by metric and key."""


@dataclass(frozen=True)
class Judgements:
    """The input of a protocol: aligned columns, one row per judged pair (n rows).

    gold: (n,) float64, more is more support: any ordinal or continuous rating.
    score: (n,) float64, the metric's score, higher is more support; NaN where it has none.
    group: (n,) int, code of the resampling unit, 0 .. G-1.
    pool: (n,) int, code of the retrieval pool (the statement), 0 .. P-1. A pool lies within one group.
    system: (n,) int, code of the generating system, or None where it is not known.
    levels: whether the gold is on the three-level scale: 2 full, 1 partial, 0 none.
    systems: the names of the systems' codes, where they are known.
    crossed: (n,) int, code in a second clustering (systems) that intervals take as sampled too; None: groups alone.
    votes: (n,) mappings of an annotator to the vote, on the scale of the gold, or None where they are not known.
    cost: (n,) what the score of each row cost, NaN where it is not known, or None.
    kind: (n,) of a contrast set, the kind of each edit, "original" for what was edited, which shares its pool; or None.
    """

    gold: Floats
    score: Floats
    group: NDArray[np.int64]
    pool: NDArray[np.int64]
    system: NDArray[np.int64] | None = None
    levels: bool = True
    systems: tuple[str, ...] = ()
    crossed: NDArray[np.int64] | None = None
    votes: NDArray[np.object_] | None = None
    cost: Floats | None = None
    kind: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        shapes = {self.gold.shape, self.score.shape, self.group.shape, self.pool.shape}
        if len(shapes) != 1 or self.gold.ndim != 1:
            raise ValueError(f"gold, score, group and pool must be vectors of one length, got {sorted(shapes)}")

    def with_score(self, score: Floats) -> Judgements:
        """Return the same rows with other scores."""
        return replace(self, score=score)

    def with_group(self, group: NDArray[np.int64]) -> Judgements:
        """Return the same rows with other group codes."""
        return replace(self, group=group)

    def rows(self, keep: NDArray[np.bool_ | np.int64]) -> Judgements:
        """Return the rows where `keep` is true, or whose numbers it holds; group and other codes stay the same."""
        if keep.dtype == np.bool_ and keep.all():
            return self
        columns: dict[str, Any] = {
            name: column[keep] for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }
        return replace(self, **columns)


@dataclass(frozen=True)
class Outcome:
    """The result of a protocol: scored + unscored + sum(excluded) = total, in rows of its `Judgements`.

    `unscored_rows` are the numbers of the rows that lack a score and would have counted; `excluded` counts rows that
    the protocol cannot use, scored or not, by reason. `warnings` are whole sentences, and `notes` clauses on how the
    metric's values were computed. `ceilings` holds, for each measure whose maximum ties in the gold keep below 1, what
    a perfect metric of each kind reaches on this gold. `influence` holds each measure's influence values, and
    `resampled` the values under the protocol's own resamples; both are empty without intervals.
    """

    estimates: Mapping[str, Estimate]
    total: int
    scored: int
    unscored_rows: tuple[int, ...]
    excluded: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ceilings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    influence: Influences = field(default_factory=dict, compare=False, repr=False)
    resampled: Replicates = field(default_factory=dict, compare=False, repr=False)

    @property
    def unscored(self) -> int:
        """Return the number of rows that lack a score and would have counted."""
        return len(self.unscored_rows)


@dataclass(frozen=True)
class Measure:
    """A measure of a protocol, and its column in the table. Values are stored raw, and printed times `scale`.

    digits: decimals of a printed value. tested: whether two metrics are compared under it. about: what the measure is,
    in one plain sentence. blind: why these rows give every metric the same value, or none, whatever its scores are (it
    reads only gold, group, pool and system); "": they can distinguish metrics. span: the largest difference between two
    metrics that a plan is made for, raw. chance: the value of random scores, raw; None: it depends on the data.
    ability: what a metric above chance can do, in words that fit after "can"; "": findings do not mention it.
    """

    key: str
    label: str
    scale: float = 1.0
    digits: int = 3
    tested: bool = True
    about: str = ""
    blind: Callable[[Judgements], str] = lambda _: ""
    span: float = 1.0
    chance: float | None = None
    ability: str = ""


@dataclass(frozen=True)
class Option:
    """An option of a protocol: what it decides, and each allowed value with its meaning.

    The first value is the default.
    """

    about: str
    values: Mapping[str, str]

    @property
    def default(self) -> str:
        """Return the default value."""
        return next(iter(self.values))


@dataclass(frozen=True)
class Protocol:
    """A protocol, declared by its measures, options and functions; every command uses only these fields.

    measures: all that it computes. shown: the keys of the table's measures for an input and options; they depend on
    its gold alone.
    evaluate: the estimates of one metric. replicate: `replicate(rows, n_groups, draws, options, keys)` gives the
    measures of these keys for each weighting in `draws`, from rows that all have a score and group codes below
    `n_groups`. judge: turns scores into the values by which two metrics are compared, where these are not the scores
    themselves. influence: `influence(rows, n_groups, options, keys)` gives the influence values of these measures, of
    the same rows; None: they are the jackknife's over groups, computed with `replicate`. chance: `chance(rows,
    options)` gives the expected measures of random scores on these rows, where they are not `Measure.chance`; others
    are the mean over draws.

    resampled: `resampled(rows, n_groups, resampling, options)` gives the measures whose intervals are percentiles of
    resamples of the protocol's own, the input first, and the same resamples for every metric; such measures are
    compared with controls by these resamples. exchanged: `exchanged(one, other, permutations, seed, options)` gives the
    differences of two metrics on the same rows, in these measures, under exchanges of their scores, the first without
    any.

    of_systems: whether it compares systems' means, which the control `system` knows from the gold, and of which a
    constant says nothing: controls of either kind are left out then.

    of_edits: of a protocol that compares edits with originals, `of_edits(rows)` gives the measures of the kinds among
    the rows, in place of `measures`; controls are left out.

    headline: the key of the measure that metrics are ranked by; "": the first of the table. options: by name. usual:
    whether the protocol name "all" includes it.

    uses_pool: whether rows that are in the retrieval pools only (not cited by the statement) belong to its input, so
    that it depends on the setting `pool`. tie_orders: whether its estimates hold the values under the worst and the
    best order of tied scores (`Estimate.ties`), which `multiverse` takes as choices; an option `ties` then keeps its
    default. takes_levels: its scores have to be levels, as the gold is; for other scores nothing is defined. no_plan:
    why `plan` cannot plan for it, in one sentence; "": it can.

    figure: what is drawn of a result: "bars", a group of bars for each metric, or nothing. figure_name: how the names
    of its files begin; "": figure-NAME. table_number: the number of its table in a paper; 0: it has none and comes
    last. table_measures: the keys of that table's columns; (): all shown.
    """

    name: str
    title: str
    measures: tuple[Measure, ...]
    shown: Callable[[Judgements, Mapping[str, str]], tuple[str, ...]]
    evaluate: Callable[[Judgements, Resampling, Mapping[str, str]], Outcome]
    replicate: Callable[[Judgements, int, Draws, Mapping[str, str], Collection[str]], Replicates]
    options: Mapping[str, Option] = field(default_factory=dict)
    uses_pool: bool = False
    usual: bool = True
    of_systems: bool = False
    judge: Callable[[Judgements, Mapping[str, str]], Judgements] | None = None
    influence: Callable[[Judgements, int, Mapping[str, str], Collection[str]], Influences] | None = None
    chance: Callable[[Judgements, Mapping[str, str]], Mapping[str, float]] | None = None
    resampled: Callable[[Judgements, int, Resampling, Mapping[str, str]], Replicates] | None = None
    exchanged: Callable[[Judgements, Judgements, int, int, Mapping[str, str]], Replicates] | None = None
    card: Callable[[Mapping[str, Judgements], Resampling, Mapping[str, str]], Cards] | None = None
    of_edits: Callable[[Judgements], tuple[Measure, ...]] | None = None
    headline: str = ""
    tie_orders: bool = False
    takes_levels: bool = False
    no_plan: str = ""
    figure: Literal["bars", ""] = ""
    figure_name: str = ""
    table_number: int = 0
    table_measures: tuple[str, ...] = ()

    def measure(self, key: str) -> Measure:
        """Return the measure of this key."""
        return next(measure for measure in self.measures if measure.key == key)

    def blind(self, judgements: Judgements, options: Mapping[str, str]) -> str:
        """Return why no measure of the table can distinguish metrics by these rows; "" if one can."""
        reasons = [*self.blind_measures(judgements, self.shown(judgements, options)).values()]
        return reasons[0] if all(reasons) else ""

    def blind_measures(self, judgements: Judgements, keys: Iterable[str]) -> dict[str, str]:
        """Return by key why each of the measures `keys` cannot distinguish metrics by these rows; "" if it can."""
        why = cache(lambda blind: blind(judgements))  # several measures have one reason
        return {key: why(self.measure(key).blind) for key in keys}

    def ranked_by(self, shown: Sequence[str]) -> str:
        """Return the key of the measure that metrics are ranked by: the headline, or if `shown` lacks it, the first."""
        return self.headline if self.headline in shown else shown[0]
