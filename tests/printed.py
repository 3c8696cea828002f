"""What tables hold, for records: as printed, the numbers of their notes, and the data; no name of a version."""

VERSIONS = {"parser", "splitter", "facts", "tokenizer", "options"}


def told(table, plain):
    """A table's headings, lines, notes, settings and rows."""
    lines = [[block.title, line.name, *map(cell, line.cells)] for block in table.blocks for line in block.lines]
    notes = [[note.label, plain(note.line)] for note in (*table.footnotes, *table.footer) if note.label != "settings"]
    settings = {key: own for key, own in table.settings.items() if key not in VERSIONS}
    groups = [[group.title, group.columns] for group in table.groups]
    rows = [list(row.values()) for row in table.records]
    return [table.stub, table.headings, groups, lines, notes, settings, [*map(list, table.records[:1]), *rows]]


def cell(of):
    """A cell in one text."""
    return "|".join(filter(None, (of.number, of.interval, of.rank, "".join(of.marks), *of.asides)))
