// Which rows are shown, and in which order: filters, search, the brushed box, and presets of disagreement.

import { sourcesOf, statementOf } from "./model.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Metric} Metric */

/** Key, name, and what it shows. @param {import("./model.js").Job} job @returns {[string, string, string][]} */
export function presetsOf({ levels: [none, , full], rows }) {
  const [high, low] = rows.rating
    ? [`Rated ${full}, scored lowest by A`, `Rated ${none}, scored highest by A`]
    : ["Full support that A scores lowest", "No support that A scores highest"];
  return [
    ["all", rows.rating ? "All ratings" : "All pairs", "in the data's order"],
    ["apart", "A and B furthest apart", "by the difference of their ranks; one pair of each statement first, then more of each, what lacks a score last"],
    ["a-right", "A right, B wrong", "at both thresholds"],
    ["b-right", "B right, A wrong", "at both thresholds"],
    ["confident", "Confident errors of A", "wrong at its threshold, furthest from it first"],
    ["false-pass", "False passes of A", "A says supported, people do not"],
    ["false-fail", "False fails of A", "people say supported, A does not"],
    ["full-low", high, "lowest first"],
    ["none-high", low, "highest first"],
    ["all-wrong", "Every metric against the label", "at every metric's threshold"],
    ["cut", "Truncated by A", "most tokens lost first"],
    ["unscored", "Without a score of A", "with the reason"],
  ];
}

/** Set the rows that the app's state picks. @param {App} app */
export function pick(app) {
  const { a, b } = app.axes();
  const kept = filtered(app);
  app.unboxed = arranged(app, a, b, kept);
  const box = boxOf(app);
  app.picked = box ? app.unboxed.filter((row) => inBox(box, a.scores[row], b.scores[row])) : app.unboxed;
}

/** @param {App} app @returns {number[] | null} low and high of a, low and high of b */
export function boxOf(app) {
  const box = app.state.box.split(",").map(Number);
  return box.length === 4 && app.state.box && box.every(Number.isFinite) ? box : null;
}

/** @param {number[]} box @param {number | null} x @param {number | null} y */
function inBox(box, x, y) {
  return x !== null && y !== null && x >= box[0] && x <= box[1] && y >= box[2] && y <= box[3];
}

/** @param {App} app */
function filtered(app) {
  const { job, state } = app;
  const { rows } = job;
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const group = job.groups.indexOf(state.group);
  const system = job.systems.indexOf(state.system);
  const most = Number(state.words) || Infinity;
  const least = Number(state.least) || 0;
  const found = [];
  for (let row = 0; row < rows.id.length; row++) {
    if (!state.levels.includes(rows.level[row] < 0 ? "u" : String(rows.level[row]))) continue;
    if (group >= 0 && rows.group[row] !== group) continue;
    if (system >= 0 && rows.system[row] !== system) continue;
    if (rows.words[row] > most) continue;
    if (least && statementOf(job, row).split(/\s+/).filter(Boolean).length < least) continue;
    if (words.length) {
      const text = [rows.id[row], statementOf(job, row), ...sourcesOf(job, row)].join("\n").toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
    }
    found.push(row);
  }
  return found;
}

/** Whether a metric is right about a row at its threshold; null where that cannot be told. @param {App} app @param {Metric} metric @param {number} row */
export function isRight(app, metric, row) {
  const score = metric.scores[row];
  const threshold = app.threshold(metric);
  const level = app.job.rows.level[row];
  if (score === null || threshold === null || level < 0) return null;
  return score >= threshold === level >= app.state.target;
}

/** @param {App} app @param {Metric} a @param {Metric} b @param {number[]} rows */
function arranged(app, a, b, rows) {
  const level = app.job.rows.level;
  const preset = app.preset();
  const score = (/** @type {number} */ row) => /** @type {number} */ (a.scores[row]);
  const scored = (/** @type {number[]} */ some) => some.filter((row) => a.scores[row] !== null);
  if (preset === "a-right") return rows.filter((row) => isRight(app, a, row) === true && isRight(app, b, row) === false);
  if (preset === "b-right") return rows.filter((row) => isRight(app, a, row) === false && isRight(app, b, row) === true);
  if (preset === "confident") {
    const threshold = app.threshold(a) ?? 0;
    const wrong = rows.filter((row) => isRight(app, a, row) === false);
    return wrong.sort((one, other) => Math.abs(score(other) - threshold) - Math.abs(score(one) - threshold));
  }
  if (preset === "false-pass" || preset === "false-fail") {
    return rows.filter((row) => isRight(app, a, row) === false && level[row] >= app.state.target === (preset === "false-fail"));
  }
  if (preset === "full-low") return scored(rows.filter((row) => level[row] === 2)).sort((x, y) => score(x) - score(y));
  if (preset === "none-high") return scored(rows.filter((row) => level[row] === 0)).sort((x, y) => score(y) - score(x));
  if (preset === "all-wrong") {
    const judges = app.job.metrics.filter((metric) => !metric.control && app.threshold(metric) !== null);
    return judges.length ? rows.filter((row) => judges.every((metric) => isRight(app, metric, row) === false)) : [];
  }
  if (preset === "cut") return rows.filter((row) => row in a.cut).sort((x, y) => Number(a.cut[y]) - Number(a.cut[x]));
  if (preset === "unscored") return rows.filter((row) => a.scores[row] === null);
  if (preset === "apart") {
    const both = scored(rows).filter((row) => b.scores[row] !== null);
    const [one, other] = [ranks(a, both), ranks(b, both)];
    const distance = new Map(both.map((row, place) => [row, Math.abs(one[place] - other[place])]));
    both.sort((x, y) => Number(distance.get(y)) - Number(distance.get(x)));
    return [...firstOfEach(app.job.rows.statement, both), ...rows.filter((row) => !distance.has(row))];
  }
  return rows;
}

/** The first row of each statement, then the others with those of one statement together. @param {number[]} statements @param {number[]} rows */
function firstOfEach(statements, rows) {
  /** @type {Map<number, number[]>} */
  const of = new Map();
  for (const row of rows) of.set(statements[row], [...(of.get(statements[row]) ?? []), row]);
  const groups = [...of.values()];
  return [...groups.map(([first]) => first), ...groups.flatMap(([, ...more]) => more)];
}

/** Each row's rank by a metric, tied rows sharing the mean. @param {Metric} metric @param {number[]} rows */
function ranks(metric, rows) {
  const score = (/** @type {number} */ place) => /** @type {number} */ (metric.scores[rows[place]]);
  const order = rows.map((_, place) => place).sort((x, y) => score(x) - score(y));
  const found = new Array(rows.length);
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && score(order[end]) === score(order[start])) end++;
    for (let place = start; place < end; place++) found[order[place]] = (start + end - 1) / 2;
    start = end;
  }
  return found;
}
