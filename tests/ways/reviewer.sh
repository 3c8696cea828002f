# A reviewer has a claim: does overlap order the levels as well as the paper says, and better than rouge does?
metaeval multiverse --claim "overlap is better than rouge, 79.0 v. 74.1 on mini" 2> said.txt || test $? = 2
grep -q 'metaeval compare overlap rouge -d mini' said.txt
metaeval score -m overlap -o scores
metaeval multiverse scores/overlap.jsonl --claim "0.79 AUC on mini"
metaeval compare overlap rouge -p classification
