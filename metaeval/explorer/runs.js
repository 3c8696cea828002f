// The index of a page with several runs: those of one data set side by side, and the settings in which they differ.

import { choice, fill, h } from "./dom.js";

/** @typedef {import("./model.js").Table} Table */
/**
 * @typedef {object} Run
 * @property {number} number
 * @property {string} name of its folder
 * @property {string} title data set, split and unit
 * @property {string} finished
 * @property {number} rows
 * @property {Record<string, string>} settings by dotted name
 * @property {Table | null} table the headline values
 */

/** @param {Table | null} table @param {string} metric @param {string} measure */
function cellOf(table, metric, measure) {
  const place = table?.headings.indexOf(measure) ?? -1;
  const line = table?.blocks.flatMap((block) => block.lines).find(({ name }) => name === metric);
  const cell = place < 0 ? undefined : line?.cells[place];
  return h("td", {}, cell?.number || "–", cell && cell.marks.length > 0 && h("sup", {}, cell.marks.join("")), cell?.interval && h("small", {}, cell.interval));
}

/** One data set's runs. @param {string} title @param {Run[]} runs @param {(run: number) => void} open */
function group(title, runs, open) {
  const measures = [...new Set(runs.flatMap((run) => run.table?.headings ?? []))];
  const metrics = [...new Set(runs.flatMap((run) => run.table?.blocks.flatMap((block) => block.lines.map((line) => line.name)) ?? []))];
  const head = h("tr", {}, h("th", { scope: "col" }, "metric"), runs.map((run) => h("th", { scope: "col", class: "run" }, h("button", { class: "link", type: "button", onclick: () => open(run.number) }, run.name))));
  /** @param {string} name @param {(run: Run) => any} value */
  const line = (name, value) => h("tr", {}, h("th", { scope: "row" }, name), runs.map((run) => h("td", { class: "run" }, value(run))));
  const facts = h("tbody", { class: "aside" }, line("finished", (run) => run.finished || "–"), line("rows", (run) => run.rows.toLocaleString("en")));
  const values = h("tbody", {});
  const draw = (/** @type {string} */ measure) => fill(values, metrics.map((metric) => h("tr", {}, h("th", { scope: "row" }, metric), runs.map((run) => cellOf(run.table, metric, measure)))));
  draw(measures[0]);
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))].sort();
  const unlike = keys.filter((key) => new Set(runs.map((run) => run.settings[key])).size > 1);
  const differing =
    runs.length > 1 &&
    h("tbody", {}, h("tr", {}, h("th", { scope: "rowgroup", colspan: runs.length + 1 }, unlike.length ? "settings in which these runs differ" : "these runs have the same settings")), unlike.map((key) => line(key, (run) => run.settings[key] ?? "–")));
  return h(
    "section",
    {},
    h("h2", {}, title),
    measures.length > 0 && h("div", { class: "filters" }, choice("Measure", measures.map((measure) => [measure, measure]), measures[0], draw).element),
    h("div", { class: "frame" }, h("table", {}, h("thead", {}, head), facts, values, differing)),
  );
}

/** The view of runs. @param {Run[]} runs @param {(run: number) => void} open */
export function makeRuns(runs, open) {
  const titles = [...new Set(runs.map((run) => run.title))];
  const element = h(
    "section",
    { class: "overview", "aria-label": "Runs" },
    h("p", { class: "soft" }, "Values with their intervals, as each run's own table has them; a name opens its run. ‘metaeval results show NAME’ prints what made a run."),
    titles.map((title) => group(title, runs.filter((run) => run.title === title), open)),
  );
  return { element, update() {} };
}
