"""What a judge said of the statements of a response, and what was wrong with how it said it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Said(Generic[T]):
    """By the numbers of the statements that the judge spoke of, readably and once; and counts of the rest.

    problems: "out of schema" (an entry that cannot be read), "no such statement", "said twice" (none of the two
    counts). What was skipped is not in them: it is what `by` lacks.
    """

    by: Mapping[int, T]
    problems: Counter[str] = field(default_factory=Counter)


def once(entries: list[tuple[int, T]], statements: int, problems: Counter[str]) -> dict[int, T]:
    """The entries of statements 1 to `statements` that were spoken of once; the others are counted in `problems`."""
    times = Counter(number for number, _ in entries)
    problems["no such statement"] += sum(not 1 <= number <= statements for number, _ in entries)
    problems["said twice"] += sum(1 <= number <= statements and count > 1 for number, count in times.items())
    return {number: value for number, value in entries if 1 <= number <= statements and times[number] == 1}
