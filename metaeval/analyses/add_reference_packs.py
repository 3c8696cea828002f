"""The command `results reference add`, which checks a score pack and adds it to the reference results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from metaeval.analyses.analysis import Analysis, Done, Progress
from metaeval.analyses.reference_results import ReferenceFolders, reference_output
from metaeval.declared import Flag
from metaeval.errors import UserError


class ReferenceAddOptions(ReferenceFolders):
    """Options of `results reference add`."""

    pack: Annotated[Path, Flag("PACK", argument=True)]
    """Folder of the pack: card.yaml, and a score file for each data set."""


def _add(options: ReferenceAddOptions, progress: Progress) -> Done:
    from metaeval.files import atomic_write, read_bytes
    from metaeval.runs.reference_cells import recompute
    from metaeval.runs.score_packs import CARD, PACKS, faults, read_pack, reference_sets

    pack, sets = read_pack(options.pack), reference_sets(options.folder)
    others = [other for other in options.read() if other.name != pack.name]
    sources = {name: sets[name].load(options.data) for name in pack.card.scores if name in sets}
    if sentences := list(faults(pack, sets, sources, others)):
        raise UserError(f"{pack.name} is not added. {' '.join(sentences)}")
    again = recompute(options.folder, sets, [*others, pack], options.data, tuple(sources), sources)
    folder = options.folder / PACKS / pack.name

    def copy(_: Path) -> None:
        names = (CARD, *(scores.file for scores in pack.card.scores.values()))
        for name in names if pack.is_shipped and folder.resolve() != pack.folder.resolve() else ():
            content = read_bytes(pack.folder / name)
            with atomic_write(folder / name, update=True) as file:
                file.write(content)

    return reference_output(options.folder, again, copy)


ADD = Analysis(
    name="results reference-add",
    summary="Check a score pack, and add it to the reference results.",
    about="""It checks ids, duplicates, coverage, direction, licence and the hash of the data, and ends with a sentence
for each fault. A pack whose licence does not allow its scores to be passed on is not copied: only its values, intervals
and tests are written.""",
    examples=["results reference add my-pack --data FOLDER"],
    options=ReferenceAddOptions,
    run=_add,
)
