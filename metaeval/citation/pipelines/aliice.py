"""The analysis `cite aliice`: citation recall and precision of claims by the positions of citations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.citation.aliice.citation_lines import WITHIN, read_aliice
from metaeval.citation.aliice.claim_options import PROFILES, Positions
from metaeval.citation.citation_table import find_profile
from metaeval.citation.marks_and_sentences import find_sentence_splitter
from metaeval.citation.pipelines import options as shared
from metaeval.citation.pipelines.alce import ClaimOptions, judge_claims
from metaeval.citation.pipelines.metric_verdicts import Judges
from metaeval.core.declared import Flag
from metaeval.report.table import Note

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# By profile: golden claims of small, of spaCy's en_core_web_sm 3.8, and in all (`benchmarks/aliice_parsing.py`), and
# recall under small and under that by the metric overlap, of the writer of ScholarQABench for whom it moved most.
PARSERS = {"paper": (72, 76, 81, 8.5, 12.2), "released": (49, 59, 77, 12.5, 17.0)}


class AliiceOptions(ClaimOptions):
    """Options of ALiiCE."""

    untyped = frozenset({"cvcp"})

    parser: shared.ParserName = "small"
    cvcp: Annotated[Positions | None, Flag("HOW")] = None
    """Positions of CVCP: of marks, or of groups, each once, among words and punctuation; or offsets, in characters, of
    all answers together (default: the profile's)."""


def _run(options: AliiceOptions, progress: Progress) -> Done:
    answers, judges = shared.answers_in(options), Judges(options, progress)
    profile = find_profile(PROFILES, options.profile, options.leading, options.uncited)
    profile = replace(profile, cvcp=options.cvcp or profile.cvcp)
    splitter = find_sentence_splitter(options.splitter)
    stated = read_aliice(answers, profile, splitter, options.parser)
    name, models = shared.name_of_data(options.files), (options.reader, options.mauve_model)
    cited = judge_claims(name, stated, judges, splitter, options.measures, *models)
    whole = "no citation is within a sentence: every claim is a whole sentence, and ALiiCE is sentence-level here"
    note = parser_note(options.parser, options.profile)
    return cited.done(options.files, note, warnings=[] if any(stated.statistics[WITHIN].alone) else [whole])


def parser_note(parser: str, profile: str) -> Note:
    """Return the note on what a better parser than the shipped one would give; empty for any other parser."""
    same, better, golden, first, second = PARSERS[profile]
    text = (
        f"small, the same on every machine, gives {same} of {golden} claims of the released code and its parser; "
        f"--parser spacy:en_core_web_sm gives {better}, and moved one system's recall from {first} to {second} %"
    )
    return Note("parser", text if parser == "small" else "")


def _tree(sentence: str, parser: str) -> tuple[Figure, str, list[str]]:
    from metaeval.citation.pipelines.figures import sentence_tree

    return sentence_tree(sentence, parser)


ALIICE = Analysis(
    name="cite aliice",
    summary="Measure citation recall and precision of claims (ALiiCE).",
    about="""Each sentence is cut into one claim per group of citations, by the positions of the citations in its
dependency tree. Source: Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation.""",
    examples=[
        "cite aliice answers.json",
        "cite aliice answers.json --parser spacy:en_core_web_sm",
        "cite aliice answers.json --nli rouge,overlap --profile released",
    ],
    options=AliiceOptions,
    run=_run,
    folder="cite/aliice",
    figures=shared.draw,
    tree=_tree,
)
