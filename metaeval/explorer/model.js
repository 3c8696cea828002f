// A job as the page holds it: columns of rows, and metrics with their scores and scales.

import { unpack } from "./unpack.js";

/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {boolean} control
 * @property {number} index its place among the job's metrics
 * @property {(number | null)[]} scores one a row
 * @property {Record<string, string>} missing by row, why the score is missing
 * @property {Record<string, number>} cut by row, how many tokens the metric never saw
 * @property {number | null} low the card's range
 * @property {number | null} high
 * @property {[number, number]} range of the scale that the page shows
 * @property {number | null} threshold
 * @property {string} from who says so of the threshold
 * @property {string} summary
 * @property {boolean} spans whether it explains its scores
 * @property {boolean} [verdicts] whether it is evaluated as a judge, whose scores are verdicts
 * @property {boolean} replies whether what a model replied is on the page
 */

/**
 * @typedef {object} Rows columns of rows
 * @property {string[]} id
 * @property {number[]} statement
 * @property {number[]} document
 * @property {number[]} chunk
 * @property {number[][]} texts
 * @property {number[]} group
 * @property {number[]} system
 * @property {number[]} level 0 none, 1 partial, 2 full, -1 not known
 * @property {number[]} cited
 * @property {(number | null)[]} held the share of an evidence set that the chunk holds
 * @property {number[]} words
 * @property {number[][][]} evidence by text: start and end in turn
 * @property {string[][]} unplaced evidence that stands nowhere in the page
 * @property {number[]} pool the rows that are ranked against each other
 * @property {number[]} [rating] of a rated set: what the human said
 * @property {Record<string, string>[]} [more] of a rated set: other fields by name
 */

/** @typedef {{number: string, interval: string, marks: string[], rank: string}} Cell */
/** @typedef {{title: string, lines: {name: string, cells: Cell[]}[]}} Block */
/** @typedef {{title: string, headings: string[], blocks: Block[], notes: [string, string][], legend: string}} Table */

/**
 * @typedef {object} Job
 * @property {number} number
 * @property {string} kind pairs; or answers, whose other properties are those of `Cited`
 * @property {string} title
 * @property {string} unit
 * @property {number} pairs
 * @property {number} of
 * @property {string} against the metric that B is at first; empty: the second one
 * @property {Record<string, string>} fields
 * @property {Metric[]} metrics
 * @property {Table[]} tables
 * @property {string[]} findings
 * @property {string[]} cautions what to be careful of
 * @property {string[]} notes what the reader has to know of the page
 * @property {string} report the address of the job's report page, from this one; empty where it does not lie below it
 * @property {Rows} rows
 * @property {string[]} levels names of the levels; empty for one that no row can have
 * @property {string} [cuts] of a rated set: which ratings are of which level
 * @property {string[]} texts
 * @property {string[]} statementIds
 * @property {string[]} statementTexts
 * @property {{id: string, title: string, url: string}[]} documents
 * @property {string[]} groups
 * @property {string[]} systems
 */

/** @param {number} number @returns {Promise<Job>} */
export async function loadJob(number) {
  /** @type {Job} */
  const job = await unpack(`job-${number}`);
  job.number = number;
  if (job.kind === "answers") return job;
  if (job.of > job.pairs) {
    const [shown, all] = [job.pairs.toLocaleString("en"), job.of.toLocaleString("en")];
    job.notes.push(
      `${shown} of ${all} ${rowsOf(job)} are shown: ${job.rows.rating ? "" : "whole statements, "}drawn so that each level has its share. The tables are of all ${rowsOf(job)}.`,
    );
  }
  job.metrics.forEach((metric, index) => {
    metric.index = index;
    metric.range = scaleOf(metric);
  });
  return job;
}

/** The card's range, and where it has no end, that of the scores. @param {Metric} metric @returns {[number, number]} */
function scaleOf(metric) {
  let low = Infinity;
  let high = -Infinity;
  for (const score of metric.scores) {
    if (score === null) continue;
    low = Math.min(low, score);
    high = Math.max(high, score);
  }
  // A card's range is the scale where the scores fill a good part of it; cosines from -1 seldom do.
  const wide = metric.low !== null && metric.high !== null && high - low < 0.4 * (metric.high - metric.low);
  if (metric.low !== null && !(metric.low < 0 && low > 0) && !wide) low = metric.low;
  if (metric.high !== null && !wide) high = metric.high;
  if (!(low < high)) return [Number.isFinite(low) ? low - 0.5 : 0, Number.isFinite(low) ? low + 0.5 : 1];
  return [low, high];
}

/** What the rows of a job are. @param {Job} job */
export function rowsOf(job) {
  return job.rows.rating ? "ratings" : "pairs";
}

/** @param {Job} job @param {string} name */
export function metricNamed(job, name) {
  return job.metrics.find((metric) => metric.name === name);
}

/** @param {Job} job @param {number} row */
export function statementOf(job, row) {
  return job.statementTexts[job.rows.statement[row]];
}

/** @type {WeakMap<Job, Map<number, number[]>>} */
const rowsByStatement = new WeakMap();

/**
 * Where a chunk is among those of its statement, 2 of 5; the document is named where a statement has several.
 * @param {Job} job @param {number} row
 */
export function placeOf(job, row) {
  const { rows, documents } = job;
  if (job.unit !== "chunk" || rows.rating) return "";
  const known = rowsByStatement.get(job) || new Map();
  if (!known.size) rows.statement.forEach((statement, other) => known.set(statement, [...(known.get(statement) || []), other]));
  rowsByStatement.set(job, known);
  const same = known.get(rows.statement[row]) || [row];
  const here = same.filter((/** @type {number} */ other) => rows.document[other] === rows.document[row]);
  const document = documents[rows.document[row]];
  const parts = [
    here.length < same.length && (document.title || document.id),
    here.length > 1 && `chunk ${here.indexOf(row) + 1} of ${here.length}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** @param {Job} job @param {number} row */
export function sourcesOf(job, row) {
  return job.rows.texts[row].map((text) => job.texts[text]);
}

/**
 * Five values of a scale, its ends among them, and their labels: of one number of decimals, the fewest that put each
 * within a twentieth of a step of its value.
 * @param {[number, number]} range @returns {[number, string][]}
 */
export function ticks([low, high]) {
  const values = [0, 0.25, 0.5, 0.75, 1].map((part) => low + part * (high - low));
  const near = Math.abs(high - low) / 4 / 20;
  let digits = 0;
  while (digits < 9 && values.some((value) => Math.abs(value - Number(value.toFixed(digits))) > near)) digits++;
  return values.map((value) => [value, value.toFixed(digits).replace(/^-(?=[0.]*$)/, "")]);
}

/** A score as it is printed. @param {number | null | undefined} score */
export function printed(score) {
  if (score === null || score === undefined) return "–";
  const size = Math.abs(score);
  return Number.isInteger(score) && size >= 2 ? String(score) : score.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 3);
}
