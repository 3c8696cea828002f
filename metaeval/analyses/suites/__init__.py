"""One experiment over several data sets or settings: suites, the multiverse, costs, and figures."""
