// The page: its views, the keys, and what is drawn anew when the reader changes something.

import { fill, h, isTyping } from "./dom.js";
import { makeFilters } from "./filters.js";
import { makeLabelling } from "./labelling.js";
import { makeList } from "./list.js";
import { loadJob, sourcesOf, statementOf } from "./model.js";
import { makeOverview } from "./overview.js";
import { pick } from "./picking.js";
import { makePools } from "./pools.js";
import { makeReading } from "./reading.js";
import { makeScatter } from "./scatter.js";
import { App, START, readHash, writtenHash } from "./state.js";
import { unpack } from "./unpack.js";

/** @typedef {import("./model.js").Job} Job */

const VIEWS = [
  ["overview", "Overview"],
  ["pairs", "Pairs"],
  ["pools", "Pools"],
  ["label", "Label"],
];

/** @param {string[]} titles @param {Job} job @param {import("./state.js").State} state */
function show(titles, job, state) {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  const app = new App(job, state);
  const [filters, scatter, list, reading] = [makeFilters(app), makeScatter(app), makeList(app), makeReading(app)];
  const labelling = makeLabelling(job.title, []);
  const pools = makePools(app);
  const views = {
    overview: makeOverview(app),
    pairs: {
      element: h("section", { class: "pairs", "aria-label": "Pairs" }, filters.element, scatter.element, list.element, reading.element),
      update() {
        filters.update();
        list.update();
        scatter.update();
        reading.update();
      },
    },
    pools,
    label: {
      element: labelling.element,
      update() {
        labelling.exchange(itemsOf(app));
        labelling.update();
      },
    },
  };
  const tabs = VIEWS.map(([key, name]) =>
    h("button", { type: "button", role: "tab", id: `tab-${key}`, onclick: () => app.set({ view: key }) }, name),
  );
  const choose = h(
    "select",
    { "aria-label": "Result", onchange: (/** @type {Event} */ event) => open(titles, { ...START, job: Number(/** @type {HTMLSelectElement} */ (event.target).value) }) },
    titles.map((title, number) => h("option", { value: number, selected: number === job.number }, title)),
  );
  const main = h("main", {});
  const notes = [...job.notes];
  if (job.of > job.pairs) {
    notes.push(`${job.pairs.toLocaleString("en")} of ${job.of.toLocaleString("en")} pairs are shown: whole statements, drawn so that each level has its share. The tables are of all pairs.`);
  }
  fill(
    page,
    h("header", { class: "top" }, h("h1", {}, titles.length > 1 ? choose : job.title), h("nav", { role: "tablist" }, tabs)),
    notes.map((note) => h("p", { class: "note", role: "note" }, note)),
    main,
  );
  const render = () => {
    const view = /** @type {keyof typeof views} */ (app.state.view in views ? app.state.view : "overview");
    pick(app);
    if (main.firstElementChild !== views[view].element) fill(main, views[view].element);
    tabs.forEach((tab, number) => tab.setAttribute("aria-selected", String(VIEWS[number][0] === view)));
    views[view].update();
  };
  app.listeners.push(render);
  current = { app, labelling, redraw: () => app.state.view === "pairs" && scatter.draw() };
  render();
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

/** @type {{app: App, labelling: ReturnType<typeof makeLabelling>, redraw: () => void} | null} */
let current = null;

/** @param {string[]} titles @param {import("./state.js").State} state */
async function open(titles, state) {
  const number = titles[state.job] === undefined ? 0 : state.job;
  const job = await loadJob(number);
  show(titles, job, { ...state, job: number });
  history.replaceState(null, "", writtenHash(/** @type {NonNullable<typeof current>} */ (current).app.state));
}

document.addEventListener("keydown", (event) => {
  if (!current || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  const { app, labelling } = current;
  if (app.state.view === "label") {
    if (labelling.key(event.key)) event.preventDefault();
  } else if (app.state.view === "pairs" && (event.key === "j" || event.key === "k")) app.step(event.key === "j" ? 1 : -1);
});
const redraw = () => current?.redraw();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
matchMedia("print").addEventListener("change", redraw);

unpack("jobs").then((titles) => {
  addEventListener("hashchange", () => open(titles, readHash(location.hash)));
  return open(titles, readHash(location.hash));
}, (/** @type {Error} */ error) => {
  fill(/** @type {HTMLElement} */ (document.getElementById("page")), h("p", { role: "alert" }, `This page cannot be unpacked: ${error.message}`));
});
