# A reviewer has a claim: does overlap order the levels as well as the paper says, and better than rouge does?
metaeval score -m overlap -o scores
metaeval multiverse scores/overlap.jsonl --claim "0.79 AUC on mini"
metaeval compare overlap rouge -p classification
