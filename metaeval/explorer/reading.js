// The pair that is read: its texts with what human and metric marked, all its scores, and its neighbours.

import { fill, h, svg } from "./dom.js";
import { badge, shape } from "./levels.js";
import { changed, linkOnHover, marked, marksOf } from "./marks.js";
import { printed, statementOf } from "./model.js";
import { isRight } from "./picking.js";
import { unpack } from "./unpack.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Metric} Metric */

const MOST_NEIGHBOURS = 40;

/** @param {App} app */
export function makeReading(app) {
  const element = h("article", { class: "reader", "aria-label": "The pair that is read", tabindex: -1 });
  linkOnHover(element);
  /** @type {Map<string, any[]>} blocks of a metric's, with an entry a row; each is unpacked when first asked for */
  const unpacked = new Map();
  /** @type {Set<string>} */
  const asked = new Set();

  const ofRow = (/** @type {string} */ name, /** @type {number} */ row) => {
    const found = unpacked.get(name);
    if (!found && !asked.has(name)) {
      asked.add(name);
      unpack(name).then((whole) => {
        unpacked.set(name, whole);
        update();
      });
    }
    return found?.[row] ?? null;
  };
  /** @returns {number[][] | null} what the metric looked at */
  const explained = (/** @type {Metric | undefined} */ metric, /** @type {number} */ row) =>
    metric?.spans ? ofRow(`spans-${metric.index}-${app.job.number}`, row) : null;
  /** @returns {string[]} what a judge replied */
  const replied = (/** @type {Metric} */ metric, /** @type {number} */ row) =>
    (metric.replies && ofRow(`replies-${metric.index}-${app.job.number}`, row)) || [];

  const update = () => {
    const { job } = app;
    const row = app.row();
    if (row < 0) {
      fill(element, h("p", { class: "soft" }, "Choose a pair in the list or in the plot; j and k go on and back."));
      return;
    }
    const { rows } = job;
    const explaining = job.metrics.filter((metric) => metric.spans);
    const shown = app.state.marks === "-" ? undefined : markedBy(app, explaining);
    const numbers = explained(shown, row);
    const document = job.documents[rows.document[row]];
    const place = rows.rating ? "Source, group " : job.unit === "chunk" ? `Chunk ${rows.chunk[row] + 1} of ` : "Document ";
    const texts = rows.texts[row];
    const statementMarks = numbers ? marksOf(numbers[bestOf(numbers)], 0) : [];
    fill(
      element,
      h("header", {}, badge(job, rows.level[row]), h("code", {}, rows.id[row]), rows.rating && h("b", {}, `rated ${Number(rows.rating[row].toPrecision(4))}`), h("span", { class: "soft" }, rows.cited[row] ? rows.level[row] > 0 && heldOf(rows.held[row]) : "added to the pool, not cited")),
      rows.more && beside(job, rows.id.indexOf(rows.more[row].original), row),
      h("h3", {}, "Statement"),
      statementOf(job, row)
        ? h("p", { class: "text statement", dir: "auto" }, marked(statementOf(job, row), [], statementMarks))
        : h("p", { class: "soft" }, "The data hold no text of it."),
      h("h3", {}, place, h("span", { class: "soft" }, document.title || document.url || document.id)),
      texts.map((text, place) =>
        h("p", { class: "text", dir: "auto" }, marked(job.texts[text], rows.evidence[row][place], numbers ? marksOf(numbers[place], 1) : [])),
      ),
      !texts.length && h("p", { class: "soft" }, "The data hold no source."),
      rows.more && h("dl", { class: "facts" }, Object.entries(rows.more[row]).map(([key, value]) => [h("dt", {}, key), h("dd", { dir: "auto" }, value)])),
      !rows.rating && legend(app, explaining, shown, rows.evidence[row].some((one) => one.length > 0), rows.unplaced[row]),
      h("h3", {}, "Scores"),
      h("div", { class: "scores" }, job.metrics.filter((metric) => !metric.control).map((metric) => scoreLine(app, metric, row))),
      job.metrics.flatMap((metric) =>
        replied(metric, row).map((text, place, all) =>
          h("details", { open: true }, h("summary", {}, `${metric.name} replied`, all.length > 1 && ` (${place + 1} of ${all.length})`), h("pre", { class: "reply" }, text)),
        ),
      ),
      h("details", {}, h("summary", {}, "Controls"), h("div", { class: "scores" }, job.metrics.filter((metric) => metric.control).map((metric) => scoreLine(app, metric, row)))),
      neighbours(app, row),
    );
  };
  return { element, update };
}

/** The metric whose spans are shown: the one asked for, else A, else the first that explains. @param {App} app @param {Metric[]} explaining */
function markedBy(app, explaining) {
  const named = (/** @type {string} */ name) => explaining.find((metric) => metric.name === name);
  return named(app.state.marks) ?? named(app.axes().a.name) ?? explaining[0];
}

/** An edit beside its original. @param {import("./model.js").Job} job @param {number} original @param {number} edit */
function beside(job, original, edit) {
  const textsOf = (/** @type {number} */ row) => [statementOf(job, row), ...job.rows.texts[row].map((text) => job.texts[text])];
  const column = (/** @type {string} */ title, /** @type {number} */ row, /** @type {number} */ other) =>
    h("div", {}, h("h3", {}, title), textsOf(row).map((text, place) => h("p", { class: "text", dir: "auto" }, changed(text, textsOf(other)[place] ?? ""))));
  if (original < 0 || original === edit) return null;
  return h("div", { class: "beside" }, column("Original", original, edit), column(`Edit: ${job.rows.more?.[edit].kind}`, edit, original));
}

/** @param {number | null} share */
function heldOf(share) {
  if (share === null) return "";
  if (share === 0 || share === 1) return share ? "holds a whole evidence set" : "holds no evidence";
  return `holds ${Math.round(100 * share)} % of an evidence set`;
}

/** The text in which a metric found most. @param {number[][]} numbers */
function bestOf(numbers) {
  const sums = numbers.map((one) => one.reduce((sum, value, place) => sum + (place % 5 === 3 ? value : 0), 0));
  return sums.indexOf(Math.max(...sums));
}

/**
 * What the marks mean, and whose spans are shown.
 * @param {App} app @param {Metric[]} explaining @param {Metric | undefined} shown @param {boolean} evidence @param {string[]} lost
 */
function legend(app, explaining, shown, evidence, lost) {
  const select = h(
    "select",
    { onchange: (/** @type {Event} */ event) => app.set({ marks: /** @type {HTMLSelectElement} */ (event.target).value }) },
    explaining.map((metric) => h("option", { value: metric.name, selected: metric === shown }, metric.name)),
    h("option", { value: "-", selected: !shown }, "nothing"),
  );
  return h(
    "div",
    { class: "legend soft" },
    h("u", { class: evidence ? "evidence" : "" }, evidence ? "marked as evidence" : "no evidence marked here"),
    explaining.length > 0 && h("label", {}, "shaded: what ", select, " found"),
    shown && [h("span", { class: "used", css: { "--weight": "60%" } }, "support"), h("span", { class: "missed" }, "not found")],
    lost.map((text) => h("p", {}, "Evidence that stands nowhere in the document: ", h("q", {}, text))),
  );
}

/** @param {App} app @param {Metric} metric @param {number} row */
function scoreLine(app, metric, row) {
  const score = metric.scores[row];
  const [low, high] = metric.range;
  const at = (/** @type {number} */ value) => `${Math.max(0, Math.min(100, (100 * (value - low)) / (high - low)))}%`;
  const threshold = app.threshold(metric);
  const right = isRight(app, metric, row);
  // Partial support is neither side of a threshold: only a clear label is contradicted.
  const isPartial = app.job.levels[1] && app.job.rows.level[row] === 1;
  const remark = isPartial ? `, labelled ${app.job.levels[1]}` : right === false ? ", against the label" : "";
  const said = right === null ? "" : Number(score) >= Number(threshold) ? "supported" : "not supported";
  const dot = score !== null && svg("circle", { cx: at(score), cy: 8, r: 4.5, class: "dot" });
  const tick = threshold !== null && svg("line", { x1: at(threshold), x2: at(threshold), y1: 0, y2: 16, class: "threshold" });
  return h(
    "div",
    { class: "score" },
    h("span", { class: "name" }, metric.name),
    svg("svg", { class: "scale", "aria-hidden": "true" }, svg("line", { x1: 0, x2: "100%", y1: 8, y2: 8, class: "axis" }), tick, dot),
    h("b", {}, score === null ? "–" : printed(score)),
    h(
      "span",
      { class: right === false && !isPartial ? "verdict wrong" : "verdict" },
      score === null ? `no score: ${metric.missing[row] ?? "not told"}` : said && `${said}${remark}`,
      row in metric.cut && `, ${metric.cut[row]} tokens cut`,
    ),
  );
}

/** Pairs of the same statement, and of the same text. @param {App} app @param {number} row */
function neighbours(app, row) {
  const { job } = app;
  const { rows } = job;
  const { a } = app.axes();
  const others = (/** @type {number[]} */ column) =>
    column.flatMap((value, other) => (value === column[row] && other !== row ? [other] : []));
  const link = (/** @type {number} */ other, /** @type {string} */ text) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "link", onclick: () => app.set({ pair: rows.id[other] }) },
        shape(rows.level[other]),
        `${text} (A ${printed(a.scores[other])})`,
      ),
    );
  const same = others(rows.statement);
  const place = (/** @type {number} */ other) =>
    rows.rating ? job.systems[rows.system[other]] || rows.id[other] : rows.document[other] === rows.document[row]
      ? `chunk ${rows.chunk[other] + 1}`
      : `${job.documents[rows.document[other]].title || job.documents[rows.document[other]].id}, chunk ${rows.chunk[other] + 1}`;
  const page = others(rows.document).filter((other) => !statementOf(job, other) || rows.statement[other] !== rows.statement[row]);
  const list = (/** @type {string} */ title, /** @type {number[]} */ found, /** @type {(other: number) => string} */ text) =>
    found.length > 0 &&
    h(
      "details",
      { open: found.length <= 12 },
      h("summary", {}, `${title} (${found.length})`),
      h("ul", { class: "neighbours" }, found.slice(0, MOST_NEIGHBOURS).map((other) => link(other, text(other)))),
    );
  return [
    statementOf(job, row) && list("More of this statement", same, place),
    list(rows.rating ? "The same group" : "The same document", page, (other) => (statementOf(job, other) || place(other)).slice(0, 90)),
  ];
}
