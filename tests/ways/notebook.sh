# A notebook's user: one cell, in which she gives her own scores and labels.
cat > cell.py <<'PYTHON'
import metaeval

levels = [2, 2, 1, 0, 0, 2, 1, 0, 2, 0] * 6
scores = [level / 2 + 0.1 * (row % 7) for row, level in enumerate(levels)]
table = metaeval.evaluate_arrays({"mine": scores}, levels, groups=[row // 3 for row in range(60)])
assert "mine" in table._repr_html_()
PYTHON
python3 cell.py
