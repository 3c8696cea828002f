# A maintainer has 5,010 ratings of 1,670 texts, a row or a column for each of three annotators, 258 of them blank.
python3 - <<'PYTHON'
import csv
import random

random.seed(7)
blank = set(random.sample(range(5010), 258))
with open("ratings.csv", "w", newline="") as file, open("wide.csv", "w", newline="") as other:
    out, wide = csv.writer(file), csv.writer(other)
    wide.writerow(["id", "article", "Ana", "Ben", "Cem", "mine", "theirs"])
    out.writerow(["id", "article", "annotator", "gold", "mine", "theirs"])
    for item in range(1670):
        truth = random.random()
        mine, theirs = round(truth + random.gauss(0, 0.3), 3), round(truth + random.gauss(0, 0.5), 3)
        ratings = []
        for person in range(3):
            rating = "" if 3 * item + person in blank else round(truth + random.gauss(0, 0.2), 2)
            out.writerow([f"t{item}", f"a{item % 200}", f"person {person}", rating, mine if person == item % 3 else "", theirs])
            ratings.append(rating)
        wide.writerow([f"t{item}", f"a{item % 200}", *ratings, mine, theirs])
PYTHON
metaeval evaluate -d ratings --data ratings.csv -p correlation 2> said.txt
grep -q '1,670 items from 5,010 rows, 3 annotators, 258 ratings blank' said.txt
metaeval evaluate -d ratings --data wide.csv --map annotator=Ana,Ben,Cem -p correlation 2> said.txt
grep -q '1,670 items, 3 annotators, 258 ratings blank' said.txt
metaeval compare mine theirs -d ratings --data ratings.csv -p correlation
metaeval results export latest --format latex,csv -o tables
metaeval view -o view.html
