# An engineer has a spreadsheet of statements and sources: labels, a gate, and its check.
python3 - <<'PYTHON'
import csv
import random

words = "alpha beta gamma delta river stone cloud green light house paper metal ocean tiger music bread".split()
random.seed(1)
for name in ("spring", "summer"):
    with open(f"{name}.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "question", "statement", "source"])
        for row in range(240):
            said = random.sample(words, 5)
            read = [*said, "and"] if random.random() < 0.75 else random.sample([w for w in words if w not in said], 6)
            out.writerow([f"{name}{row}", f"question {row // 4}", " ".join(said) + ".", " ".join(read) + "."])
PYTHON
metaeval label spring.csv -n 200 -o to_label.csv
python3 - <<'PYTHON'
import csv

with open("to_label.csv", newline="", encoding="utf-8") as file:  # what a person does: reads and fills in
    rows = list(csv.DictReader(file))
for row in rows:
    row["level"] = "full" if set(row["statement"].strip(".").split()) <= set(row["passage"].split()) else "none"
with open("labelled.csv", "w", newline="", encoding="utf-8") as file:
    out = csv.DictWriter(file, rows[0])
    out.writeheader()
    out.writerows(rows)
PYTHON
metaeval gate fit spring.csv --labels labelled.csv -m overlap --max-unsupported 0.4 -o gate.json
metaeval gate check summer.csv gate.json --junit citations.xml --markdown summary.md
test -s citations.xml -a -s summary.md -a -d results/gate-check
