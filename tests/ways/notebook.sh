# A notebook's user: a metric of her own, its pairs on a page, and scores and labels of her own.
cat > cell.py <<'PYTHON'
import metaeval

levels = [2, 2, 1, 0, 0, 2, 1, 0, 2, 0] * 6
scores = [level / 2 + 0.1 * (row % 7) for row, level in enumerate(levels)]
table = metaeval.evaluate_arrays({"mine": scores}, levels, groups=[row // 3 for row in range(60)])
assert "mine" in table._repr_html_()


def contain(source, statement):
    """Share of the statement's words in the source."""
    words = statement.split()
    return sum(word in source for word in words) / len(words)


results = metaeval.run(metrics=[contain, "overlap"], protocols=["classification"])
assert {"contain", "overlap"} <= {*results.to_frame()["metric"]}
results.plot()
assert metaeval.view(results).stat().st_size > 100_000
PYTHON
python3 cell.py
