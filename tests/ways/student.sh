# A PhD student has a metric of her own: from nothing to a LaTeX table, failing examples and a page to look at them on.
cat > mine.py <<'PYTHON'
def contain(source: str, statement: str) -> float:
    words = statement.lower().split()
    return sum(word in source.lower() for word in words) / max(len(words), 1)
PYTHON
metaeval run -m mine:contain,overlap
metaeval results show latest --format latex > table.tex
metaeval results cases latest -m mine:contain
metaeval compare mine:contain overlap -p classification
metaeval view -o view.html
grep -q '\\begin{tabular}' table.tex
