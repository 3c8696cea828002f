"""Tables of pairs that are scored: `metaeval score -d ratings --data TABLE`."""

from __future__ import annotations

from metaeval.core.config import RunConfig
from metaeval.core.errors import UserError, shown
from metaeval.core.headings import PAIRS, mapped
from metaeval.core.tables import TABLES, pairs_in, read_table, unzipped_ending
from metaeval.corpus.loading import check_options
from metaeval.runs.data import check_rated, find_dataset
from metaeval.scoring.contract import TextPair


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
    texts, columns = pairs_in(table, mapped(PAIRS, {role: name for role, name in headings.items() if name}))
    pairs: dict[str, TextPair] = {}
    places: dict[str, str] = {}
    for number, row in enumerate(table.rows):
        pair_id = (row.text(columns["id"]) if "id" in columns else "") or f"row {number + 1}"
        if pair_id in pairs:
            raise UserError(
                f"{row.where}: id {shown(pair_id)} is also that of {places[pair_id]}; keep one row per pair."
            )
        pairs[pair_id], places[pair_id] = texts[number], row.where
    return pairs
