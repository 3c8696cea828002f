// Measures of a slice of rows: ROC-AUC between levels, confusion with the human at a threshold, NDCG of a pool.

/** @typedef {import("./model.js").Metric} Metric */

/**
 * The probability that a score of the first list is above one of the second, a tie counting half; null where one is empty.
 * @param {number[]} above @param {number[]} below
 */
export function auc(above, below) {
  if (!above.length || !below.length) return null;
  const all = [...above.map((score) => [score, 1]), ...below.map((score) => [score, 0])].sort((a, b) => a[0] - b[0]);
  let ranks = 0;
  for (let start = 0; start < all.length; ) {
    let end = start;
    while (end < all.length && all[end][0] === all[start][0]) end++;
    const mean = (start + 1 + end) / 2;
    for (let place = start; place < end; place++) ranks += all[place][1] * mean;
    start = end;
  }
  return (ranks - (above.length * (above.length + 1)) / 2) / (above.length * below.length);
}

/**
 * The lowest score from which "supported" has the best F1; null where a class is empty.
 * @param {Metric} metric @param {number[]} levels @param {number} target lowest supported level
 */
export function bestThreshold(metric, levels, target) {
  const known = /** @type {[number, boolean][]} */ (
    metric.scores.flatMap((score, row) => (score === null || levels[row] < 0 ? [] : [[score, levels[row] >= target]]))
  ).sort((one, other) => other[0] - one[0]);
  const positives = known.filter(([, isPositive]) => isPositive).length;
  if (!positives || positives === known.length) return null;
  let [hits, best, threshold] = [0, -1, known[0][0]];
  known.forEach(([score, isPositive], place) => {
    hits += Number(isPositive);
    const f1 = (2 * hits) / (place + 1 + positives);
    if (score !== known[place + 1]?.[0] && f1 > best) [best, threshold] = [f1, score];
  });
  return threshold;
}

/**
 * AUC of each level against each lower one: full against none, full against partial, and partial against none.
 * @param {Metric} metric @param {string[]} names of the levels @param {number[]} levels @param {ArrayLike<number>} rows
 * @returns {[string, number | null][]}
 */
export function aucs(metric, names, levels, rows) {
  /** @type {number[][]} */
  const of = [[], [], []];
  for (const row of Array.from(rows)) {
    const score = metric.scores[row];
    if (score !== null && levels[row] >= 0) of[levels[row]].push(score);
  }
  const pairs = [[2, 0], [2, 1], [1, 0]].filter(([above, below]) => names[above] && names[below]);
  return pairs.map(([above, below]) => [`${names[above]} : ${names[below]}`, auc(of[above], of[below])]);
}

/**
 * How a metric's "supported" agrees with the human's: [said and is, said and is not, not said and is, neither].
 * @param {Metric} metric @param {number} threshold @param {number[]} levels @param {number} target lowest supported level
 * @param {ArrayLike<number>} rows
 */
export function confusion(metric, threshold, levels, target, rows) {
  const counts = [0, 0, 0, 0];
  for (const row of Array.from(rows)) {
    const score = metric.scores[row];
    if (score === null || levels[row] < 0) continue;
    counts[(score >= threshold ? 0 : 2) + (levels[row] >= target ? 0 : 1)]++;
  }
  return counts;
}

/**
 * NDCG@k with gains 0, 1, 2: tied candidates share the gains of their places, as the mean over all orders does. Null where
 * no candidate supports.
 * @param {number[]} scores @param {number[]} gains @param {number} k
 */
export function ndcg(scores, gains, k) {
  const order = scores.map((_, place) => place).sort((a, b) => scores[b] - scores[a]);
  const ideal = [...gains].sort((a, b) => b - a);
  const discount = (/** @type {number} */ place) => 1 / Math.log2(place + 2);
  const best = ideal.slice(0, k).reduce((sum, gain, place) => sum + gain * discount(place), 0);
  if (best === 0) return null;
  let sum = 0;
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && scores[order[end]] === scores[order[start]]) end++;
    let gain = 0;
    for (let place = start; place < end; place++) gain += gains[order[place]];
    for (let place = start; place < Math.min(end, k); place++) sum += (gain / (end - start)) * discount(place);
    start = end;
  }
  return sum / best;
}
