"""Tables of pairs that are scored: `metaeval score -d ratings --data TABLE`."""

from __future__ import annotations

from contextlib import suppress

from metaeval.cells import cell_list, text_of
from metaeval.config import RunConfig
from metaeval.corpus.loading import check_options
from metaeval.errors import UserError, shown
from metaeval.headings import PAIRS, TEXTS, mapped
from metaeval.parsing import MalformedError
from metaeval.runs.prepared_run import check_rated, find_dataset
from metaeval.scoring.contract import TextPair
from metaeval.tables import TABLES, Row, read_table, unzipped_ending, warn_of_swap


def pair_table(config: RunConfig) -> dict[str, TextPair] | None:
    """Return the (source, statement) texts in the run's table of pairs, by id; None where the data are no such table.

    Raises `UserError` for a file that is missing or not a table, a missing column, a row without a source or a
    statement, and an id that two rows have.
    """
    path = config.data
    if config.dataset != "ratings":
        return None
    check_rated(config)
    if path is None or not path.is_file():
        lacking = "none is given" if path is None else f"{path} does not exist"
        raise UserError(
            f"Ratings are scored from a table with the columns source and statement, and {lacking}: "
            "add --data TABLE (in Python: data=TABLE)."
        )
    if unzipped_ending(path) not in (*TABLES, ".parquet", ".jsonl", ".json"):
        raise UserError(
            f"{path}: pairs to score need a table (.jsonl, .parquet, .csv, .tsv, .xlsx) with the columns source and "
            "statement."
        )
    dataset, _, _ = find_dataset(config.dataset, config)
    dataset.files_of(config.split or dataset.default_split)
    headings = {**check_options(dataset, config.dataset_options), **config.columns}
    table = read_table(path)
    columns = table.find(PAIRS, mapped(PAIRS, {role: name for role, name in headings.items() if name}), TEXTS)
    pairs: dict[str, TextPair] = {}
    places: dict[str, str] = {}
    for number, row in enumerate(table.rows, start=1):
        texts = [_text(row, columns[role]) for role in ("source", "statement")]
        pair_id = row.text(columns["id"]) if "id" in columns else ""
        pair_id = pair_id or f"row {number}"
        if pair_id in pairs:
            raise UserError(
                f"{row.where}: id {shown(pair_id)} is also that of {places[pair_id]}; keep one row per pair."
            )
        pairs[pair_id], places[pair_id] = (texts[0], texts[1]), row.where
    warn_of_swap(str(path), columns, [(len(source), len(statement)) for source, statement in pairs.values()])
    return pairs


def _text(row: Row, heading: str) -> str:
    """Return the text in a cell, of a list of texts (also as JSON) its paragraphs; `UserError` for anything else."""
    cell = row.value(heading)
    with suppress(MalformedError):
        listed = cell_list(cell)
        cell = "\n\n".join(listed) if listed and all(isinstance(text, str) for text in listed) else cell
    text = text_of(cell) if isinstance(cell, str) else ""
    if not text:
        raise row.wrong(heading, f"is {'blank' if cell in (None, '') else shown(cell)}; it must be a text")
    return text
