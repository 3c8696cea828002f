// The first view: what the tables say, their values, and each metric's scores at each level.

import { h, svg } from "./dom.js";
import { LEVEL_COLOURS, badge, levelsOf } from "./levels.js";
import { printed, rowsOf } from "./model.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Metric} Metric */
/** @typedef {import("./model.js").Table} Table */

const BINS = 30;
const WIDTH = 240;
const HEIGHT = 34;

/** @param {App} app */
export function makeOverview(app) {
  const { job } = app;
  const own = job.metrics.filter((metric) => !metric.control);
  const controls = job.metrics.filter((metric) => metric.control);
  const element = h(
    "section",
    { class: "overview", "aria-label": "Overview" },
    job.findings.length > 0 && [
      h("h2", {}, "What the table says"),
      h("ul", { class: "findings" }, job.findings.map((sentence) => h("li", {}, sentence))),
      h("ul", { class: "soft" }, job.cautions.map((sentence) => h("li", {}, sentence))),
    ],
    job.tables.map((table, number) => tableOf(table, number === 0, job.tables[0])),
    h("h2", {}, job.rows.rating ? "Scores at each level of the rating" : "Scores at each level of support"),
    h(
      "p",
      { class: "soft" },
      `Each row of bars adds up to all ${rowsOf(job)} of its level${job.cuts ? ` (${job.cuts})` : ""}. The line is the threshold, that of best F1 on these data where a metric has none of its own. Choose a metric to look at its ${rowsOf(job)}.`,
    ),
    h("div", { class: "multiples" }, own.map((metric) => distribution(app, metric))),
    controls.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Controls (${controls.length})`),
        h("div", { class: "multiples" }, controls.map((metric) => distribution(app, metric))),
      ),
    h(
      "details",
      {},
      h("summary", {}, "What was judged"),
      h("dl", { class: "facts" }, Object.entries(job.fields).map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])),
    ),
  );
  return { element, update() {} };
}

/** @param {Table} table @param {boolean} open @param {Table} headline the first table, whose title another may share */
function tableOf(table, open, headline) {
  const head = h("tr", {}, ["metric", ...table.headings].map((text) => h("th", { scope: "col" }, text)));
  const body = (/** @type {import("./model.js").Block} */ block) => {
    const lines = block.lines.map((line) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, line.name),
        line.cells.map((cell) =>
          h(
            "td",
            {},
            h("span", { class: cell.rank }, cell.number),
            cell.marks.length > 0 && h("sup", {}, cell.marks.join("")),
            cell.interval && h("small", {}, cell.interval),
          ),
        ),
      ),
    );
    return h("tbody", {}, lines);
  };
  const [first, ...others] = table.blocks;
  const grid = (/** @type {import("./model.js").Block} */ block) =>
    h("div", { class: "frame" }, h("table", {}, h("thead", {}, head.cloneNode(true)), body(block)));
  return h(
    "details",
    { open },
    h("summary", {}, h("h2", {}, table !== headline && table.title === headline.title ? `${table.title}: every measure` : table.title)),
    first && grid(first),
    others.map((block) => h("details", { open: table === headline }, h("summary", {}, block.title), grid(block))),
    table.legend && h("p", { class: "soft" }, table.legend),
    h("dl", { class: "facts" }, table.notes.map(([mark, text]) => [h("dt", {}, mark), h("dd", {}, text)])),
  );
}

/** @param {App} app @param {Metric} metric */
function distribution(app, metric) {
  const { rows } = app.job;
  const [low, high] = metric.range;
  const levels = levelsOf(app.job);
  const counts = levels.map(() => new Array(BINS).fill(0));
  const totals = levels.map(() => 0);
  metric.scores.forEach((score, row) => {
    const place = levels.indexOf(rows.level[row]);
    if (score === null || place < 0) return;
    counts[place][Math.min(BINS - 1, Math.max(0, Math.floor(((score - low) / (high - low)) * BINS)))]++;
    totals[place]++;
  });
  const highest = Math.max(...counts.map((bins, place) => Math.max(...bins) / (totals[place] || 1)));
  const threshold = app.threshold(metric);
  const strips = levels.map((level, place) => {
    const bars = counts[place].map((count, bin) => {
      const height = (count / (totals[place] || 1) / highest) * HEIGHT;
      const box = { x: (bin * WIDTH) / BINS, y: HEIGHT - height, width: WIDTH / BINS - 1, height };
      return height > 0 && svg("rect", { ...box, class: `fill-${LEVEL_COLOURS[level]}` });
    });
    const at = threshold === null ? 0 : ((threshold - low) / (high - low)) * WIDTH;
    const line = threshold !== null && svg("line", { x1: at, x2: at, y1: 0, y2: HEIGHT, class: "threshold" });
    return h(
      "div",
      { class: "strip" },
      badge(app.job, level),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, bars, line),
      h("span", { class: "soft" }, totals[place].toLocaleString("en")),
    );
  });
  const missing = Object.keys(metric.missing).length;
  return h(
    "figure",
    { class: "multiple" },
    h(
      "figcaption",
      {},
      h("button", { type: "button", class: "link", onclick: () => app.set({ view: "pairs", a: metric.name }) }, metric.name),
      missing > 0 && h("span", { class: "soft" }, ` ${missing.toLocaleString("en")} without a score`),
      metric.summary && h("small", {}, metric.summary),
    ),
    strips,
    h("div", { class: "ends soft" }, h("span", {}, printed(low)), h("span", {}, printed(high))),
  );
}
