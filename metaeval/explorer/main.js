// The page: its views, the keys, and what is redrawn when the reader changes something.

import { makeAnswers, makeTables } from "./answers.js";
import { fill, h, isTyping } from "./dom.js";
import { makeFilters } from "./filters.js";
import { makeLabelling } from "./labelling.js";
import { makeList } from "./list.js";
import { loadJob, sourcesOf, statementOf } from "./model.js";
import { makeOverview } from "./overview.js";
import { pick } from "./picking.js";
import { makePools } from "./pools.js";
import { makeReading } from "./reading.js";
import { makeRuns } from "./runs.js";
import { makeScatter } from "./scatter.js";
import { makeSlices } from "./slices.js";
import { App, START, readHash } from "./state.js";
import { unpack } from "./unpack.js";

/** @typedef {import("./model.js").Job} Job */

/** @typedef {{element: HTMLElement, update: () => void}} View */

/**
 * The frame of a job: its title, its views as tabs, its notes.
 * @param {string[]} titles @param {{number: number, title: string, notes: string[], report: string}} job @param {App} app
 * @param {[string, string, View][]} views key, name and view
 */
function frame(titles, job, app, views) {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  if (runs.length > 1) views.unshift(["runs", "Runs", makeRuns(runs, (number) => openRun(titles, app, number))]);
  const tabs = views.map(([key, name]) =>
    h("button", { type: "button", role: "tab", id: `tab-${key}`, onclick: () => app.set({ view: key }) }, name),
  );
  const change = (/** @type {Event} */ event) => {
    openRun(titles, app, Number(/** @type {HTMLSelectElement} */ (event.target).value));
  };
  const choose = h(
    "select",
    { "aria-label": "Result", onchange: change },
    titles.map((title, number) => h("option", { value: number, selected: number === job.number }, title)),
  );
  const main = h("main", {});
  fill(
    page,
    h("header", { class: "top" }, h("h1", {}, titles.length > 1 ? choose : job.title), h("nav", { role: "tablist" }, tabs), job.report && h("a", { href: job.report }, "Report")),
    job.notes.map((note) => h("p", { class: "note", role: "note" }, note)),
    main,
  );
  app.listeners.push(() => {
    const [key, , view] = views.find(([name]) => name === app.state.view) ?? views.find(([name]) => name !== "runs") ?? views[0];
    if (main.firstElementChild !== view.element) fill(main, view.element);
    tabs.forEach((tab, number) => tab.setAttribute("aria-selected", String(views[number][0] === key)));
    view.update();
  });
}

/** Open another run, with the slices of this one. @param {string[]} titles @param {App} app @param {number} job */
function openRun(titles, app, job) {
  open(titles, { ...START, job, slices: app.state.slices });
}

/** The views of pairs. @param {string[]} titles @param {Job} job @param {import("./state.js").State} state */
function showPairs(titles, job, state) {
  const app = new App(job, state);
  app.listeners.push(() => pick(app));
  const [filters, scatter, list, reading] = [makeFilters(app), makeScatter(app), makeList(app), makeReading(app)];
  const labelling = makeLabelling(job.title, []);
  const pairs = {
    element: h("section", { class: "pairs", "aria-label": "Pairs" }, filters.element, scatter.element, list.element, reading.element),
    update: () => [filters, list, scatter, reading].forEach((part) => part.update()),
  };
  const label = {
    element: labelling.element,
    update() {
      labelling.exchange(itemsOf(app));
      labelling.update();
    },
  };
  frame(titles, job, app, [
    ["overview", "Overview", makeOverview(app)],
    ["pairs", job.rows.rating ? "Ratings" : "Pairs", pairs],
    ["pools", "Pools", makePools(app)],
    ["slices", "Slices", makeSlices(app, runs)],
    .../** @type {[string, string, View][]} */ (job.rows.rating ? [] : [["label", "Label", label]]),
  ]);
  /** @param {string} key */
  const typed = (key) => {
    if (app.state.view === "label") return labelling.key(key);
    if (app.state.view === "pairs" && (key === "j" || key === "k")) app.step(key === "j" ? 1 : -1);
    return false;
  };
  return { app, typed, redraw: () => app.state.view === "pairs" && scatter.draw() };
}

/** The views of answers. @param {string[]} titles @param {import("./answers.js").Cited} job @param {import("./state.js").State} state */
function showAnswers(titles, job, state) {
  const app = new App(/** @type {any} */ (job), state);
  const answers = makeAnswers(job, state, (change) => app.set(change));
  frame(titles, job, app, [
    ["answers", "Answers", answers],
    ["tables", "Tables", makeTables(job)],
  ]);
  /** @param {string} key */
  const typed = (key) => {
    if (key === "j" || key === "k") answers.move(key === "j" ? 1 : -1);
    return false;
  };
  return { app, typed, redraw: () => {} };
}

/** The pairs of the selection, for labelling: in an order that tells nothing of what they were picked by. @param {App} app */
function itemsOf(app) {
  const { job } = app;
  return [...app.picked]
    .sort((one, other) => mixed(job.rows.id[one]) - mixed(job.rows.id[other]))
    .map((row) => ({
      id: job.rows.id[row],
      statementId: job.statementIds[job.rows.statement[row]],
      statement: statementOf(job, row),
      group: job.groups[job.rows.group[row]],
      sourceId: `${job.documents[job.rows.document[row]].id}#${job.unit === "chunk" ? job.rows.chunk[row] : "all"}`,
      source: sourcesOf(job, row).join("\n"),
    }));
}

/** A number that depends on every letter and orders nothing (FNV-1a). @param {string} text */
function mixed(text) {
  let hash = 2166136261;
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 16777619);
  return hash >>> 0;
}

/** @type {import("./runs.js").Run[]} the runs of the page, where it shows several */
let runs = [];

/** @type {ReturnType<typeof showPairs> | ReturnType<typeof showAnswers> | null} */
let current = null;

/** @param {string[]} titles @param {import("./state.js").State} state */
async function open(titles, state) {
  const number = titles[state.job] === undefined ? 0 : state.job;
  const job = await loadJob(number);
  const show = /** @type {any} */ (job.kind === "answers" ? showAnswers : showPairs);
  current = show(titles, job, { ...state, job: number });
  current?.app.set({});
}

document.addEventListener("keydown", (event) => {
  if (!current || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (current.typed(event.key)) event.preventDefault();
});
const redraw = () => current?.redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
matchMedia("print").addEventListener("change", redraw);

Promise.all([unpack("jobs"), unpack("runs")]).then(([titles, listed]) => {
  runs = listed;
  addEventListener("hashchange", () => open(titles, readHash(location.hash)));
  const state = readHash(location.hash);
  return open(titles, runs.length > 1 && location.hash.length < 2 ? { ...state, view: "runs" } : state);
}, (/** @type {Error} */ error) => {
  fill(/** @type {HTMLElement} */ (document.getElementById("page")), h("p", { role: "alert" }, `This page cannot be unpacked: ${error.message}`));
});
