# A reviewer has a claim: does overlap order the levels as well as the paper says, and does the order of metrics hold?
metaeval score -m overlap -o scores
metaeval multiverse scores/overlap.jsonl --claim "0.79 AUC on mini"
metaeval compare overlap rouge -p classification
metaeval multiverse -m overlap,rouge -a chunk.size=100,150 -a unit=chunk -a pool=own
