// Named slices: saved filters of the pairs, kept in the address and the browser, and compared over slices and runs.

import { choice, fill, h } from "./dom.js";
import { download, fileName } from "./exporting.js";
import { levelsOf, nameOf } from "./levels.js";
import { auc } from "./measures.js";
import { loadJob, metricNamed, printed, rowsOf } from "./model.js";
import { pick } from "./picking.js";
import { App, START } from "./state.js";

/** @typedef {import("./model.js").Job} Job */
/** @typedef {{name: string, cuts?: Record<string, number>} & Record<string, any>} Slice values of the filters; cuts by metric */

const KEPT = /** @type {const} */ (["levels", "q", "group", "system", "words", "least", "target", "preset", "a", "b", "box"]);
const ORDERS = ["", "all", "apart"]; // presets that leave no pair out
const PLACE = "metaeval-slices";
const WORDS = { levels: "levels", q: "words", group: "group", system: "system", words: "most words", least: "fewest words", target: "supported from level", preset: "shown", a: "A", b: "B", box: "box" };

/** The slices of a text; raises an error for a text that holds none. @param {string} text @returns {Slice[]} */
export function readSlices(text) {
  const slices = JSON.parse(text);
  if (!Array.isArray(slices) || !slices.every((slice) => typeof slice?.name === "string" && slice.name)) throw new Error("not a list of slices");
  return slices.map((slice) => {
    const kept = KEPT.filter((key) => typeof slice[key] === typeof START[key]).map((key) => [key, slice[key]]);
    const cuts = Object.entries(slice.cuts ?? {}).filter(([, value]) => typeof value === "number");
    return { ...Object.fromEntries(kept), name: slice.name, ...(cuts.length && { cuts: Object.fromEntries(cuts) }) };
  });
}

/** The slices of the address, else those that the browser keeps, else each judge's errors. @param {App} app @returns {Slice[]} */
export function slicesOf(app) {
  try {
    const text = app.state.slices || localStorage.getItem(PLACE);
    if (text) return readSlices(text);
  } catch {
    // a broken link, or a browser that keeps nothing of a page from disk
  }
  const judges = app.job.metrics.filter((metric) => metric.verdicts);
  return ["pass", "fail"].flatMap((error) => judges.map(({ name }) => ({ name: `false ${error}${error === "pass" ? "es" : "s"} of ${name}`, preset: `false-${error}`, a: name })));
}

/** @param {App} app @param {Slice[]} slices */
function keep(app, slices) {
  const text = JSON.stringify(slices);
  try {
    localStorage.setItem(PLACE, text);
  } catch {
    // It is in the address as well.
  }
  app.set({ slices: text });
}

/** Save what is shown as a slice; one of the same name is replaced. @param {App} app @param {string} name */
export function saveSlice(app, name) {
  const { state, job } = app;
  const axes = app.axes();
  const named = !ORDERS.includes(state.preset) || state.box ? { a: axes.a.name, b: axes.b.name } : { a: "", b: "" };
  const shown = { ...state, ...named };
  const kept = KEPT.filter((key) => shown[key] !== START[key]).map((key) => [key, shown[key]]);
  const moved = state.cuts.split(",").filter(Boolean).map((part) => part.split("=").map(Number));
  const cuts = moved.map(([number, value]) => [job.metrics[number]?.name, value]);
  const slice = { ...Object.fromEntries(kept), name, ...(cuts.length && named.a && { cuts: Object.fromEntries(cuts) }) };
  keep(app, [...slicesOf(app).filter((other) => other.name !== name), slice]);
}

/** The filters of a slice as the state of a job. @param {Job} job @param {Slice} slice */
function stateOf(job, { name: _, cuts = {}, ...filters }) {
  const moved = job.metrics.filter((metric) => metric.name in cuts).map((metric) => `${metric.index}=${cuts[metric.name]}`);
  return { ...START, ...filters, cuts: moved.join(",") };
}

/** The rows of a job in a slice; null where the job lacks a metric that the slice reads. @param {Job} job @param {Slice} slice */
export function sliceRows(job, slice) {
  if ([slice.a, slice.b].some((name) => name && !metricNamed(job, name))) return null;
  if (slice.group && !job.groups.includes(slice.group)) return [];
  if (slice.system && !job.systems.includes(slice.system)) return [];
  const app = new App(job, stateOf(job, slice));
  pick(app);
  return app.picked;
}

/** @typedef {{job: Job, heading: string, rows: number[] | null}} Column */

/** The comparison as a table: pairs, levels, and the ROC-AUC of each metric. @param {Column[]} columns @param {number} target */
function tableOf(columns, target) {
  const [{ job }] = columns;
  /** @param {string} name @param {(column: Column, rows: number[]) => any} cell */
  const line = (name, cell) => h("tr", {}, h("th", { scope: "row" }, name), columns.map((column) => h("td", {}, column.rows ? cell(column, column.rows) : "–")));
  const share = (/** @type {number} */ level) =>
    line(nameOf(job, level), (column, rows) => {
      const of = rows.filter((row) => column.job.rows.level[row] === level).length;
      return [rows.length ? `${((100 * of) / rows.length).toFixed(1)} %` : "–", h("small", {}, of.toLocaleString("en"))];
    });
  const names = [...new Set(columns.flatMap((column) => column.job.metrics.filter((metric) => !metric.control).map((metric) => metric.name)))];
  const area = (/** @type {string} */ name) =>
    line(name, (column, rows) => {
      const metric = metricNamed(column.job, name);
      const known = rows.filter((row) => metric && metric.scores[row] !== null && column.job.rows.level[row] >= 0);
      const [above, below] = [true, false].map((wanted) =>
        known.filter((row) => column.job.rows.level[row] >= target === wanted).map((row) => Number(metric?.scores[row])),
      );
      return metric ? [printed(auc(above, below)), h("small", {}, [above, below].map((list) => list.length.toLocaleString("en")).join(" : "))] : "not in this run";
    });
  return h(
    "div",
    { class: "frame" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }), columns.map((column) => h("th", { scope: "col", class: "run" }, column.heading)))),
      h("tbody", {}, line(rowsOf(job), (_, rows) => rows.length.toLocaleString("en")), levelsOf(job).map(share)),
      h("tbody", {}, h("tr", {}, h("th", { scope: "rowgroup", colspan: columns.length + 1 }, `ROC-AUC: ${target > 1 ? "" : `${nameOf(job, 1)} or `}${nameOf(job, 2)} against the rest (numbers of each below)`)), names.map(area)),
    ),
  );
}

/** The view of slices. @param {App} app @param {import("./runs.js").Run[]} runs of the page; empty where it shows one */
export function makeSlices(app, runs) {
  const [list, table, message] = [h("ul", { class: "slices" }), h("div", {}), h("p", { role: "alert" })];
  const whole = { name: `all ${rowsOf(app.job)}` };
  const file = /** @type {HTMLInputElement} */ (h("input", { type: "file", accept: ".json", "aria-label": "Read slices from a file", onchange: () => file.files?.[0] && read(file.files[0]) }));
  const choices = h("div", { class: "filters" });
  const element = h(
    "section",
    { class: "overview", "aria-label": "Slices" },
    h("h2", {}, "Slices"),
    h("p", { class: "soft" }, `A slice is a saved filter of the ${rowsOf(app.job)}: set the filters, name what is left below “More”, and compare it here. Slices are in the address and in this browser.`),
    list,
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => download(fileName("slices.json"), "application/json", JSON.stringify(slicesOf(app), null, 1)) }, "Save the slices as JSON"), h("label", { class: "field" }, h("span", {}, "Add slices of a JSON file"), file)),
    message,
    h("h2", {}, "Compare"),
    choices,
    table,
    h("p", { class: "soft" }, "These are values of the pairs on this page, without intervals: a difference may be chance. ‘metaeval compare’ tests one."),
  );
  /** @param {File} chosen */
  const read = async (chosen) => {
    try {
      const added = readSlices(await chosen.text());
      const names = added.map((slice) => slice.name);
      keep(app, [...slicesOf(app).filter((slice) => !names.includes(slice.name)), ...added]);
      fill(message);
    } catch {
      fill(message, `${chosen.name} holds no slices: give a file that this page saved.`);
    }
  };
  const described = (/** @type {Slice} */ slice) =>
    KEPT.filter((key) => slice[key] !== undefined).map((key) => `${WORDS[key]}: ${key === "levels" ? [...slice.levels].map((digit) => nameOf(app.job, digit === "u" ? -1 : Number(digit))).join(", ") : slice[key]}`).join("; ");
  let asked = 0;
  const update = async () => {
    const [slices, turn] = [slicesOf(app), ++asked];
    const all = [whole, ...slices];
    const chosen = (/** @type {string} */ name, /** @type {Slice} */ usual) => all.find((slice) => slice.name === name) ?? usual;
    const [x, y] = [chosen(app.state.x, slices[0] ?? whole), chosen(app.state.y, whole)];
    const same = runs.filter((run) => run.table && run.title === runs[app.job.number]?.title);
    const other = same.find((run) => String(run.number) === app.state.run) ?? same.find((run) => run.number !== app.job.number);
    fill(list, slices.map((slice) => h("li", {}, h("b", {}, slice.name), " ", h("span", { class: "soft" }, described(slice)), " ", h("button", { type: "button", onclick: () => app.set({ ...stateOf(app.job, slice), job: app.job.number, slices: app.state.slices, view: "pairs" }) }, "Show"), " ", h("button", { type: "button", onclick: () => keep(app, slices.filter((kept) => kept !== slice)) }, "Delete"))));
    const named = all.map(({ name }) => /** @type {[string, string]} */ ([name, name]));
    fill(
      choices,
      choice("Slice", named, x.name, (name) => app.set({ x: name })).element,
      choice("Other slice", named, y.name, (name) => app.set({ y: name })).element,
      other && same.length > 1 && choice("Other run", same.filter((run) => run.number !== app.job.number).map((run) => [String(run.number), run.name]), String(other.number), (run) => app.set({ run })).element,
    );
    const jobs = [app.job, ...(other && other.number !== app.job.number ? [await loadJob(other.number)] : [])];
    if (turn !== asked) return; // it was changed while the other run was unpacked
    const columns = jobs.flatMap((job) =>
      [...new Set([x, y])].map((slice) => ({ job, heading: jobs.length > 1 ? `${slice.name}, ${runs[job.number].name}` : slice.name, rows: sliceRows(job, slice) })),
    );
    fill(table, tableOf(columns, app.state.target));
  };
  return { element, update };
}
