"""Statistics of CiteEval's benchmark: numbers of responses, statements, citations, ratings, and what people say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from metaeval.citation.citeeval.citation_edits import ACTIONS, KEEP, Edit
from metaeval.citation.citeeval.evaluate_responses import Rated
from metaeval.citation.citeeval.options_and_values import CONTEXTS
from metaeval.citation.citeeval.splitting import split_response
from metaeval.citation.data_model import group_of
from metaeval.citation.human.rated_statements import HumanAnswer, HumanSet, RatedStatement
from metaeval.citation.human.rating_files import read_human_set, read_statements
from metaeval.citation.human.refitting import synthetic_edits
from metaeval.citation.readers.answer_files import named_files

BenchRecord = dict[str, str | int | float | None]


def read_benchmark(path: Path, human: Path | None = None) -> HumanSet:
    """Read a `.citeeval` file, with its human judgements (`human`) or without any.

    Raises `UserError` as `read_human_set` does.
    """
    if human is not None:
        return read_human_set([path], "citebench", human)
    (name,) = named_files([path], "responses")
    read = [replace(answer, system=answer.system or name) for answer in read_statements(path)]
    answers = tuple(
        HumanAnswer(
            answer,
            tuple(RatedStatement(each.start, each.end, each.text, ()) for each in split_response(answer).statements),
        )
        for answer in read
    )
    return HumanSet(answers)


def bench_statistics(human: HumanSet) -> list[BenchRecord]:
    """Return one record for each system, and one for all ("all") where there are several.

    cited: number of statements with a citation. Where the set has ratings, also rated: number of statements with a
    rating; rating: mean over them; ratings: number of single ratings; annotators: most annotators of a statement in the
    whole set.
    """
    systems = sorted({rated.answer.system for rated in human.answers})
    records: list[BenchRecord] = []
    for system in systems if len(systems) == 1 else [*systems, "all"]:
        chosen = [rated for rated in human.answers if system in ("all", rated.answer.system)]
        statements = [each for rated in chosen for each in split_response(rated.answer).statements]
        record: BenchRecord = {
            "system": system,
            "queries": len({group_of(rated.answer) for rated in chosen}),
            "responses": len(chosen),
            "statements": len(statements),
            "cited": sum(bool(each.citations) for each in statements),
            "citations": sum(len(each.citations) for each in statements),
        }
        records.append(record)
        if human.annotators:
            ratings = [rating for rated in chosen for rating in rated.ratings if rating is not None]
            single = [rating for rated in chosen for each in rated.statements for rating in each.ratings]
            record["rated"], record["rating"] = len(ratings), sum(ratings) / len(ratings) if ratings else None
            record["ratings"] = sum(rating is not None for rating in single)
            record["annotators"] = human.annotators
    return records


def distributions(human: HumanSet, rated: Rated | None = None) -> list[BenchRecord]:
    """Return how often people, each annotator alone, and the judge (`rated`) give each context, edit and rating.

    As in the released counts, the citations of a statement that are not deleted are kept ("KEEP").
    """
    people: Counter[tuple[str, str]] = Counter()
    judge: Counter[tuple[str, str]] = Counter()
    for response in human.answers:
        for each in human.people[response.answer.id]:
            people.update(("contexts", CONTEXTS[context]) for context in each.contexts if context is not None)
            people.update(("ratings", f"{rating:.2f}") for rating in each.ratings if rating is not None)
            for entry in each.edits:
                edits = synthetic_edits(entry, len(each.citations), f"{response.answer.id!r}, statement {each.id!r}")
                people.update(_actions(len(each.citations), edits))
    for split, judged in zip(rated.splits, rated.judged, strict=True) if rated else ():
        judge.update(("contexts", CONTEXTS[context]) for context in judged.contexts.values())
        judge.update(("ratings", f"{(stars - 1) / 4:.2f}") for stars in judged.stars.values())
        for statement in split.statements:
            judge.update(_actions(len(statement.citations), judged.edits.get(statement.number)))
    ratings = sorted({value for what, value in people | judge if what == "ratings"}, key=float)
    records: list[BenchRecord] = []
    for what, values in {"contexts": CONTEXTS.values(), "edits": ACTIONS, "ratings": ratings}.items():
        for value in values:
            record: BenchRecord = {"of": what, "value": value}
            for name, counts in {"people": people, **({"judge": judge} if rated else {})}.items():
                total = sum(number for (of, _), number in counts.items() if of == what)
                record[name], record[f"{name}_share"] = (
                    counts[what, value],
                    counts[what, value] / total if total else None,
                )
            records.append(record)
    return records


def _actions(cited: int, edits: Sequence[Edit] | None) -> list[tuple[str, str]]:
    """Return the names of edits, and a `KEEP` for each of `cited` citations that is not deleted; none without edits."""
    kept = 0 if edits is None else cited - sum(edit.action == "delete" for edit in edits)
    return [("edits", name) for name in [KEEP] * kept + [edit.name for edit in edits or ()]]
