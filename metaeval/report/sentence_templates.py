"""Every sentence of the findings, the cautions and the notes of tables, as a template with named fields.

A comment says when a template holds; `findings`, `cautions`, `table_notes` and `interval_texts` decide that and fill
the fields. A sentence begins with a word of its own, or with a name, which keeps its case. A field at the end of a
clause brings its own brackets, or is empty. Notes follow a label, and begin with a small letter.
"""

from __future__ import annotations

# There is a single metric.
COVERAGE = "{metric} has a score for {scored}, of {groups}."
# No metric has a value in any table.
NO_VALUES = "No metric has a value here: {reasons}."
# Several columns or data sets differ in what a sentence says.
LABELLED = "{label}: {sentence}"

# The metrics that are not significantly worse than the one with the highest value: it alone, or several. Only of the
# first can "better" be said: its rank interval is 1 to 1.
LEADS_ALONE = "{best} is significantly better than {others} by {measures}."
LEAD = "{best} lead by {measures}: {others} significantly worse than the highest."
# No metric leads, and why.
NONE_LEADS = "By {measures}, {why}{highest}."
UNTESTED = "no test says whether metrics differ by more than noise"
NONE_ABOVE_CHANCE = "no metric is significantly above chance"
NONE_WORSE = "no metric is significantly worse than the highest"
NO_PAIR = "no two metrics are significantly different"
# Columns differ too much to be named.
COUNTED = "Over {columns} columns, these metrics are {claim}: {counts}."
LEADING = "not significantly worse than the one with the highest value"

# Tests against controls: claim is ABILITY or BETTER_THAN_CONTROLS.
EVERY = "Every metric is {claim}."
ALL_BUT = "Every metric but {others} is {claim}."
ONLY = "Only {metrics} {are} {claim}."
NONE = "No metric is {claim}{evidence}."
# There is one metric with a test, or not all have tests.
SOME = "{metrics} {are} {claim}."
NOT = "{metrics} is not {claim}{evidence}."
ABILITY = "shown to {abilities}"
BETTER_THAN_CONTROLS = "significantly better than every control"
NOT_ABOVE_CHANCE = " ({measures} not significantly above {chance})"

ALIAS = ", which is {metrics} itself"
BEST_CONTROL = "The best control by {measures} is {control}{alias}."
WORSE_THAN_CONTROL = "{metrics} {are} significantly worse than {control}."

# The first screen: its last column, and what stands below the table.
BETTER_THAN_OVERLAP = "better than word overlap?"
YES, NOT_SHOWN, WORSE = "yes", "not shown", "worse"
BETTER_BY_MEAN = "yes, worse: significantly so, by {measure}; not shown: cannot tell"
INTERVALS_BESIDE = "values have {level:g} % intervals over groups; tests alone are adjusted (Holm)"
GROUPS_OF_CONTROLS = "controls: {groups}"

# Cautions.
DEMO_DATA = "Demo data: {demo}."
MISSING_LEVELS = "No pair is {levels}, so {measures} cannot be computed."
CHUNKS_LEFT_OUT = "{left:,} of {row.total:,} chunks are left out ({reasons}); -u citation judges whole citations."
PARTS_OF_EVIDENCE = (
    "{perfect.incomplete:,} of the {perfect.full:,} {units} at level full hold only a part of an evidence set, so a "
    "perfect detector of full support scores {values} (--set evidence.rule=complete calls them partial)."
)
FEW_EFFECTIVE_GROUPS = (
    "Values rest on {groups} effective groups; below {enough}, intervals may hold the true value less often than they "
    "say."
)
UNSCORED = "Rows without a score are left out: {metrics}."
UNSCORED_ROWS = "{metric} {row.unscored:,} of {total:,} {units} ({reasons})"
CUT_INPUT = "The input is cut for {metrics_and_shares}."
WARNING = "Warning of {metrics}: {warning}."

# Footnotes of a table, by their marks.
NOT_ABOVE = "not significantly better than a control"
LEVEL_OF_ALL = "No value is significantly better than every control{but}{untested}."
TIES = "the order of tied scores moves the value, [worst..best]:"
UNSCORED_MOVE = "{units} without a score could move the value"
FEWER_SCORED = (
    "; a metric that scored fewer {units} than another is not bold or underlined, and tests use the {units} that both "
    "scored, and claim nothing that the others could reverse"
)
NO_REASON = "undefined, no reason recorded"

# Asides below a number, and the notes that explain the first of them.
CEILING = "{percent} % of {ceiling}"
CEILING_NOTE = (
    "{aside}: share of the most that the same scores, with their own ties, could reach against this gold; nothing is "
    "said where that is 1"
)
PUBLISHED = "paper {value}"
PUBLISHED_NOTE = "{aside}: published value of the same metric on the same data{source}"
PUBLISHED_ELSEWHERE = "published on other data: {elsewhere}{source}"
PUBLISHED_ELSEWHERE_NOTE = "{aside}: " + PUBLISHED_ELSEWHERE

# The footer of a table.
ROW_COUNTS = (
    "{row.scored:,} scored + {row.unscored:,} unscored{statuses} + {excluded:,} excluded{reasons} = {row.total:,}"
)
TRUNCATION = "did not see {tokens} of tokens in {pairs} of {units}"
PERFECT_DETECTOR = "what perfect detectors would score under these labels; {why}"
PARTS_AT_FULL = (
    "one of full support passes over {perfect.incomplete:,} of the {perfect.full:,} {units} at level full, which hold "
    "only a part of an evidence set"
)
LEVELS_ALIKE = "below the top where two levels do not differ in what is detected"

# Significance tests of the pairs of metrics, and how they and the tests against controls are adjusted.
PAIRED_TEST = "paired cluster t"
TEST = PAIRED_TEST + ", {adjusted}, alpha {tested.alpha:g}"
HOLM = "Holm over the {tests} of a {family}"
WITH_CONTROLS = "{holm}; against controls paired cluster t, Holm over the metrics"
SHARED_LETTER = "metrics that share a letter in a column are not significantly different"
RUN_OF_LETTERS = " (a-d: a, b, c and d)"
RANKS = "{level:g} % intervals of the ranks, simultaneous over the metrics"
RANKED = "by value; in brackets {ranks}, and their letters"
NO_PAIR_DIFFERS = "no two significantly different"
PAIRS_NOT_TESTED = " ({missing} of {pairs} pairs not decided{reasons})"

# Intervals: their method, what they are of, and how far they hold.
NO_INTERVALS = "no intervals (0 resamples)"
INTERVALS = "{level:g} % cluster-t intervals"
NO_SYSTEMS = "clustered by group alone"
EFFECTIVE_GROUPS = "{effective} effective of {groups}"
OWN_INTERVALS = "{level:g} % intervals of {groups}: see the warnings"
SOME_OWN_INTERVALS = "{intervals}; of {measures}: see the warnings"
FEW_OF_SHEET = (
    "below {enough}, intervals hold the true value less often than they say, and below {fewest:g} effective ones there "
    "is none"
)
FEW_OF_TABLE = (
    "{measures} effective groups, below {enough}: intervals hold the true value less often, and tests err more often, "
    "than they say"
)
