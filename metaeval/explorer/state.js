// What the reader looks at, kept in the address behind #, so that a link opens the same view.

import { bestThreshold } from "./measures.js";
import { metricNamed } from "./model.js";

/** @typedef {import("./model.js").Job} Job */

/**
 * @typedef {object} State
 * @property {number} job
 * @property {string} view overview, pairs, pools or label
 * @property {string} a the metric on the horizontal axis
 * @property {string} b the metric on the vertical axis
 * @property {string} preset empty: where two metrics disagree, if there are two
 * @property {string} levels digits of the levels shown; u: not known
 * @property {string} box brushed ranges: low and high of a, low and high of b
 * @property {string} q what is searched for
 * @property {string} group
 * @property {string} system
 * @property {string} words most words of the source
 * @property {string} least fewest words of the statement
 * @property {number} target the lowest level that counts as supported
 * @property {string} pair the id of the pair that is read
 * @property {string} marks the metric whose spans are shown
 * @property {string} cuts thresholds that were moved: number=value, with commas
 * @property {string} slices named slices as JSON; x, y: names of the two that are compared; run: number of the other run
 * @property {string} x
 * @property {string} y
 * @property {string} run
 */

/** @type {State} */
export const START = {
  ...{ job: 0, view: "overview", a: "", b: "", preset: "", levels: "210u", box: "", q: "", group: "", system: "" },
  ...{ words: "", least: "", target: 2, pair: "", marks: "", cuts: "", slices: "", x: "", y: "", run: "" },
};

/** @param {string} hash @returns {State} */
export function readHash(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...START };
  for (const key of Object.keys(START)) {
    const value = given.get(key);
    if (value === null) continue;
    const number = typeof START[/** @type {keyof State} */ (key)] === "number";
    Object.assign(state, { [key]: number ? Number(value) || 0 : value });
  }
  return state;
}

/** @param {State} state */
export function writtenHash(state) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (value !== START[/** @type {keyof State} */ (key)]) given.set(key, String(value));
  }
  return `#${given}`;
}

/** What the views share: the job, the state, the rows picked by it, and the one way to change it. */
export class App {
  /** @param {Job} job @param {State} state */
  constructor(job, state) {
    this.job = job;
    this.state = state;
    /** @type {number[]} rows that the state picks, in its order */
    this.picked = [];
    /** @type {number[]} the same without the brushed box */
    this.unboxed = [];
    /** @type {(() => void)[]} */
    this.listeners = [];
    /** @type {Map<string, number | null>} thresholds from the data, by metric and target */
    this.fitted = new Map();
  }

  /** The preset that is shown. */
  preset() {
    return this.state.preset || (this.job.metrics.filter((metric) => !metric.control).length > 1 ? "apart" : "all");
  }

  /** @param {Partial<State>} change */
  set(change) {
    Object.assign(this.state, change);
    try {
      history.replaceState(null, "", writtenHash(this.state));
    } catch {
      // A browser that counts changes of the address refuses the hundredth in a few seconds: the view goes on.
    }
    for (const listener of this.listeners) listener();
  }

  /** The metrics of the two axes. */
  axes() {
    const own = this.job.metrics.filter((metric) => !metric.control);
    const first = metricNamed(this.job, this.state.a) ?? own[0] ?? this.job.metrics[0];
    // Where there is but one metric, a control that reads the texts stands last.
    const other = [...own, ...this.job.metrics.toReversed()].find((metric) => metric !== first) ?? first;
    return { a: first, b: metricNamed(this.job, this.state.b) ?? metricNamed(this.job, this.job.against) ?? other };
  }

  /** A metric's threshold: the one that was moved, else its own, else that of best F1 on these rows. @param {import("./model.js").Metric} metric */
  threshold(metric) {
    for (const part of this.state.cuts.split(",")) {
      const [number, value] = part.split("=");
      if (number === String(metric.index) && Number.isFinite(Number(value))) return Number(value);
    }
    return metric.threshold ?? this.fittedThreshold(metric);
  }

  /** @param {import("./model.js").Metric} metric */
  fittedThreshold(metric) {
    const key = `${metric.index}:${this.state.target}`;
    const known = this.fitted.get(key);
    if (known !== undefined) return known;
    const fitted = bestThreshold(metric, this.job.rows.level, this.state.target);
    this.fitted.set(key, fitted);
    return fitted;
  }

  /** Who says so of a metric's threshold. @param {import("./model.js").Metric} metric */
  sourceOf(metric) {
    const threshold = this.threshold(metric);
    if (threshold === null) return "";
    if (threshold === metric.threshold) return metric.from;
    return metric.threshold === null && threshold === this.fittedThreshold(metric) ? "best F1 on these data" : "";
  }

  /** @param {import("./model.js").Metric} metric @param {number} value */
  moveThreshold(metric, value) {
    const others = this.state.cuts.split(",").filter((part) => part && part.split("=")[0] !== String(metric.index));
    this.set({ cuts: [...others, `${metric.index}=${Number(value.toPrecision(4))}`].join(",") });
  }

  /** The row that is read: the first picked where none was chosen; -1 where there is none. */
  row() {
    return this.state.pair ? this.job.rows.id.indexOf(this.state.pair) : (this.picked[0] ?? -1);
  }

  /** Read the next or the last pair of those picked. @param {number} step */
  step(step) {
    if (!this.picked.length) return;
    const place = this.picked.indexOf(this.row());
    const next = place < 0 ? 0 : Math.max(0, Math.min(this.picked.length - 1, place + step));
    this.set({ pair: this.job.rows.id[this.picked[next]] });
  }
}
