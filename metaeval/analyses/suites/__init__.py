"""One experiment over several data sets or settings: suites, the multiverse, cost, and what is drawn of them."""
