"""Statistics of CiteEval's benchmark: numbers of responses, statements, citations and ratings of each system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metaeval.citation.data_model import group_of
from metaeval.citation.human.rated_statements import HumanAnswer, HumanSet, RatedStatement
from metaeval.citation.human.rating_files import read_human_set, read_statements
from metaeval.citation.readers.answer_files import named_files

BenchRecord = dict[str, str | int | float | None]


def read_benchmark(path: Path, human: Path | None = None) -> HumanSet:
    """Read a `.citeeval` file, with its human judgements (`human`) or without any.

    Raises `UserError` as `read_human_set` does.
    """
    if human is not None:
        return read_human_set([path], "citebench", human)
    (name,) = named_files([path], "responses")
    pairs = [(replace(answer, system=answer.system or name), split) for answer, split in read_statements(path)]
    answers = tuple(
        HumanAnswer(answer, tuple(RatedStatement(each.start, each.end, each.text, ()) for each in split.statements))
        for answer, split in pairs
    )
    return HumanSet(answers, splits={answer.id: split for answer, split in pairs})


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
        statements = [each for rated in chosen for each in human.splits[rated.answer.id].statements]
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
