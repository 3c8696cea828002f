"""A package of one's own: a metric, a data set and a protocol that keep their contracts, and ones that break them."""

import dataclasses
import itertools

import numpy as np
from pydantic import Field

from metaeval.citation.measures import Share
from metaeval.corpus.dataset import Option
from metaeval.corpus.loaders.mini import DATASET as SHIPPED
from metaeval.corpus.model import Citation, Corpus, Document, Statement, SupportLevel
from metaeval.experiment.citing.pipeline import Layout, Pipeline, ReadsAnswers
from metaeval.experiment.citing.pipeline import Measure as CiteMeasure
from metaeval.experiment.citing.provenance import Provenance, data_of
from metaeval.experiment.citing.quantities import macro_of
from metaeval.experiment.citing.result import RowTable
from metaeval.report.citation.layout import Entry, entry_records, scores_grid
from metaeval.scoring.contract import Metric, MetricOptions, PairScore, Status
from metrics_zoo.overlap import Overlap
from protocols.contract import Estimate, Measure, Outcome, Protocol
from protocols.contract import Option as Choice
from protocols.estimation import NO_SCORES, Qualities, opened, outcome

CARD = dataclasses.replace(
    Overlap.card, name="shared-words", summary="shared words", neutral=None, threshold=None, threshold_from=""
)


class SharedWords(Metric):
    card = CARD

    def score(self, sources, statements):
        return [
            self.one(source.split(), statement.split()) for source, statement in zip(sources, statements, strict=True)
        ]

    def one(self, source, statement):
        tokens = len(source) + len(statement)
        if not statement:
            return PairScore(None, Status.EMPTY, tokens)
        return PairScore(len(set(statement) & set(source)) / len(set(statement)), tokens=tokens)


class NoMetric:
    pass


class NoCard(Metric):
    score = SharedWords.score


class NoLicence(SharedWords):
    card = dataclasses.replace(CARD, licence="")


class Two(SharedWords):
    def score(self, sources, statements):
        return super().score(sources, statements)[:2]


class Numbers(SharedWords):
    def score(self, sources, statements):
        return [0.5 for _ in sources]


class NotFinite(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement) if source else PairScore(float("nan"))


class Percent(SharedWords):
    def one(self, source, statement):
        found = super().one(source, statement)
        return found if found.score is None else found._replace(score=100 * found.score)


class ZeroForEmpty(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement) if statement else PairScore(0.0)


class Uncounted(SharedWords):
    def one(self, source, statement):
        return super().one(source, statement)._replace(tokens=0)


class Cumulative(SharedWords):
    calls = itertools.count()

    def one(self, source, statement):
        found = super().one(source, statement)
        return found if found.score is None else found._replace(score=found.score / (1 + next(self.calls)))


class Inverted(SharedWords):
    card = dataclasses.replace(CARD, direction=-1)


class Raising(SharedWords):
    def one(self, source, statement):
        return {}["lost"]


class Pathed(SharedWords):
    class Options(MetricOptions):
        words: int = 1

    def identity(self):
        return {**super().identity(), "made": id(self)}


def _corpus(split, paths, options):
    documents = {f"d{n}": Document(f"d{n}", f"The river rose {n} metres.") for n in range(4)}
    statements = {f"s{n}": Statement(f"s{n}", f"It rose {n} metres.", f"g{n // 2}") for n in range(4)}
    levels = [SupportLevel.FULL, SupportLevel.NONE, SupportLevel.PARTIAL, SupportLevel.FULL]
    citations = [Citation(f"c{n}", f"s{n}", f"d{n}", level) for n, level in enumerate(levels)]
    return Corpus("rivers", documents, statements, tuple(citations))


RIVERS = dataclasses.replace(SHIPPED, name="rivers", title="Rivers", origin="made here", load=_corpus)


def _one_group(split, paths, options):
    found = _corpus(split, paths, options)
    same = {key: dataclasses.replace(statement, group="g") for key, statement in found.statements.items()}
    return dataclasses.replace(found, statements=same)


NO_SPLIT = dataclasses.replace(RIVERS, default_split="test")
NO_TITLE = dataclasses.replace(RIVERS, title="")
ODD_DEFAULT = dataclasses.replace(RIVERS, options={"kind": Option("c", "Kind of river.", ("a", "b"))})
ONE_GROUP = dataclasses.replace(RIVERS, load=_one_group)
LISTED = dataclasses.replace(RIVERS, load=lambda split, paths, options: [])
LOST = dataclasses.replace(RIVERS, load=lambda split, paths, options: paths["rivers.jsonl"])


def replicates(rows, n_groups, draws, options, keys):
    """How much higher rows above level 0 score than the others, in mean, as a share of the spread."""

    above = (rows.gold > 0)[:, None]
    spread = np.ptp(rows.score) if rows.score.size else 0.0
    factor = {"plain": 1.0, "halved": 0.5}[options["form"]] / spread if spread else np.nan
    found = []
    for tile in draws:
        weights = tile[rows.group].astype(float)
        found.append(factor * (_mean(rows.score, weights * above) - _mean(rows.score, weights * ~above)))
    return {key: np.concatenate(found) for key in keys}


def _mean(score, weights):
    total = weights.sum(axis=0)
    return np.divide(score @ weights, total, where=total > 0, out=np.full(total.shape, np.nan))


def evaluate(judgements, resampling, options):
    judgements, n_groups = opened(judgements, resampling)
    scored = ~np.isnan(judgements.score)
    used = judgements.rows(scored)
    why = "no rows of both kinds" if used.score.size else NO_SCORES
    qualities = {"gap": Qualities(np.unique(used.group).size, why)}
    return outcome(
        judgements,
        used,
        ~scored,
        lambda draws: replicates(used, n_groups, draws, options, ["gap"]),
        qualities,
        n_groups,
        resampling,
    )


GAP = Protocol(
    name="gap",
    title="Gap between supported and unsupported",
    about="how far apart the mean scores of supported and unsupported rows are",
    measures=(Measure("gap", "Gap", normal="z", about="difference of the mean scores, as a share of their range"),),
    shown=lambda judgements: ("gap",),
    evaluate=evaluate,
    replicate=replicates,
    options={"form": Choice("scale of the gap", {"plain": "as it is", "halved": "half of it"})},
    headline="gap",
    usual=False,
    figure="bars",
)


def _changed(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    if judgements.score.size:
        judgements.score[0] = 0.5
    return found


def _zero(judgements, resampling, options):
    found = evaluate(judgements, resampling, options)
    filled = {key: one if one.value is not None else Estimate(0.0) for key, one in found.estimates.items()}
    return dataclasses.replace(found, estimates=filled)


def _uncounted(judgements, resampling, options):
    return dataclasses.replace(evaluate(judgements, resampling, options), unscored_rows=())


def _unseeded(judgements, resampling, options):
    return evaluate(judgements, dataclasses.replace(resampling, seed=next(Cumulative.calls)), options)


def _unchecked(judgements, resampling, options):
    return evaluate(
        dataclasses.replace(judgements, score=np.where(np.isinf(judgements.score), 9.0, judgements.score)),
        resampling,
        options,
    )


def _other(rows, n_groups, draws, options, keys):
    return {key: found + 0.1 for key, found in replicates(rows, n_groups, draws, options, keys).items()}


CHANGING = dataclasses.replace(GAP, evaluate=_changed)
ZERO = dataclasses.replace(GAP, evaluate=_zero)
UNCOUNTED = dataclasses.replace(GAP, evaluate=_uncounted)
UNSEEDED = dataclasses.replace(GAP, evaluate=_unseeded)
UNCHECKED = dataclasses.replace(GAP, evaluate=_unchecked)
TWO_WAYS = dataclasses.replace(GAP, replicate=_other)
MUTE = dataclasses.replace(GAP, about="")
OLD_OPTIONS = dataclasses.replace(GAP, options={"form": ("plain", "halved")})
HEADLESS = dataclasses.replace(GAP, headline="gapp")
EMPTY_TIES = dataclasses.replace(GAP, tie_orders=True)
LISTS = dataclasses.replace(GAP, evaluate=lambda judgements, resampling, options: [Outcome({}, 0, 0, ())])


class MarkedOptions(ReadsAnswers):
    opening: str = Field(default="[", description="What a mark opens with.")


def read_marked(run):
    sentences = [run.splitter.split(answer.text) for answer in run.answers]
    return run, [Share(sum(run.options.opening in one for one in few), len(few)) for few in sentences]


def lay_out_marked(judged):
    run, shares = judged
    quantity = macro_of(SHARE.column, shares)
    ends = [run.panel.interval(quantity, number).ends for number in range(len(run.panel.systems))]
    entries = [Entry(system, "", {"marked": one}) for system, one in zip(run.panel.systems, ends, strict=True)]
    data = data_of(run.name, "marked", run.answers, len(shares), 0)
    around = Provenance(data, "marked", run.name, {"pipeline": "marked"}, run.config.interval)
    columns = [SHARE.column]
    records = entry_records(entries)
    return Layout([around.sheet("marked", "Marked", records, lambda frame: scores_grid(frame, columns, entries))])


SHARE = CiteMeasure("marked", "marked %", "share of sentences with a citation mark", 100, 1)
WORDS = {"title": "Marked", "paper": "none", "help": "Share of sentences with a mark."}
MARKED = Pipeline(
    name="marked", options=MarkedOptions, measures=(SHARE,), read=read_marked, lay_out=lay_out_marked, **WORDS
)


class Undescribed(ReadsAnswers):
    opening: str = "["


def _raise(run):
    raise KeyError("passages")


HELPLESS = dataclasses.replace(MARKED, help="Marks")
UNDESCRIBED = dataclasses.replace(MARKED, options=Undescribed)
JUDGELESS = dataclasses.replace(MARKED, backends="many")
TABLELESS = dataclasses.replace(MARKED, lay_out=lambda judged: Layout([]))
BROKEN_READ = dataclasses.replace(MARKED, read=_raise)
TIMED = dataclasses.replace(
    MARKED,
    lay_out=lambda judged: dataclasses.replace(
        lay_out_marked(judged), rows=[RowTable("calls", [{"call": next(Cumulative.calls)}])]
    ),
)
