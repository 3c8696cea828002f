"""The claims of drawn sentences by the expanded profile, and the sheet that readers judge them from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.claims.drawing import HERE, Pointer, digest, sentences_of
from metaeval.citation.aliice.anaphora import SentenceContext
from metaeval.citation.aliice.claim_options import EXPANDED
from metaeval.citation.aliice.claims import contexts_of, read_sentences
from metaeval.citation.data_model import Answer
from metaeval.citation.parsers.dependency_parsers import find_parser


@dataclass(frozen=True, slots=True)
class DrawnClaim:
    """A claim of a drawn sentence. id: number of the sentence in the draw and of the claim in it, from 1."""

    id: str
    pointer: Pointer
    text: str
    marks: str
    made_by: str

    @property
    def sha256(self) -> str:
        """Return a hash of the text and its marks, by which a changed claim is noticed."""
        return digest(f"{self.marks} {self.text}")

    @property
    def fallback(self) -> bool:
        """Return whether the rules gave up and took the whole sentence."""
        return self.made_by.startswith("fallback")


def claims_of(
    pointers: Sequence[Pointer], texts: Mapping[Pointer, str], answers: Mapping[str, Sequence[Answer]]
) -> list[DrawnClaim]:
    """Return the claims of the sentences that are still there, in order; answers: by file."""
    contexts = contexts_by_place(answers)
    there = [(number, pointer) for number, pointer in enumerate(pointers, start=1) if pointer in texts]
    around = [contexts[pointer[:3]] for _, pointer in there]
    read = read_sentences([texts[pointer] for _, pointer in there], find_parser(), EXPANDED, around)
    return [
        DrawnClaim(f"{number}.{place}", pointer, claim.text, "".join(f"[{n}]" for n in claim.citations), claim.made_by)
        for (number, pointer), sentence in zip(there, read, strict=True)
        for place, claim in enumerate(sentence.claims, start=1)
    ]


def contexts_by_place(answers: Mapping[str, Sequence[Answer]]) -> dict[tuple[str, str, int], SentenceContext]:
    """Return the context of each sentence by file, answer and number of the sentence."""
    return {
        (file, answer.id, number): context
        for file, rows in answers.items()
        for answer in rows
        for number, context in enumerate(contexts_of(answer, sentences_of(answer)), start=1)
    }


def sheet(
    claims: Sequence[DrawnClaim], texts: Mapping[Pointer, str], answers: Mapping[str, Sequence[Answer]]
) -> Iterator[str]:
    """Yield the lines of a sheet for readers: the rules, and each sentence in its context with its claims."""
    yield (HERE / "rules.md").read_text(encoding="utf-8")
    yield "# The claims\n"
    yield from listed(claims, texts, answers)


def listed(
    claims: Sequence[DrawnClaim], texts: Mapping[Pointer, str], answers: Mapping[str, Sequence[Answer]]
) -> Iterator[str]:
    """Yield the lines with each sentence, what stands before it, the titles that it cites, and its claims."""
    contexts = contexts_by_place(answers)
    questions = {(file, answer.id): answer.question for file, rows in answers.items() for answer in rows}
    last = None
    for claim in claims:
        if claim.pointer != last:
            pointer = claim.pointer
            context, text = contexts[pointer[:3]], texts[pointer]
            yield f"\n## Sentence {claim.id.split('.')[0]}\n\nQuestion: {' '.join(questions[pointer[:2]].split())}\n"
            yield f"Before: {' '.join(' '.join(context.before).split())}\n"
            yield from (
                f"Title of [{number}]: {' '.join(title.split())}"
                for number, title in enumerate(context.titles, start=1)
                if f"[{number}]" in text and title.strip()
            )
            yield f"\n> {text}\n"
        last = claim.pointer
        state = " (the whole sentence: the rules gave up)" if claim.fallback else ""
        yield f"- `{claim.id}` {claim.marks}{state}: {claim.text}"
