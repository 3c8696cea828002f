// The controls above the pairs: the two metrics, presets, levels, search, groups, and taking the selection away.

import { choice, fill, h } from "./dom.js";
import { csv, download, fileName, jsonl } from "./exporting.js";
import { levelsOf, nameOf, shape } from "./levels.js";
import { sourcesOf, statementOf } from "./model.js";
import { presetsOf } from "./picking.js";
import { saveSlice } from "./slices.js";

/** @typedef {import("./state.js").App} App */

/** Presets that read thresholds. */
const THRESHOLDS = ["a-right", "b-right", "confident", "false-pass", "false-fail", "all-wrong"];

/** @param {App} app */
export function makeFilters(app) {
  const { job } = app;
  const isControl = (/** @type {import("./model.js").Metric} */ { control, name }) => control && name !== job.against;
  const named = job.metrics.map((metric) => /** @type {[string, string]} */ ([metric.name, isControl(metric) ? `control: ${metric.name}` : metric.name]));
  const { a, b } = app.axes();
  const first = choice("A", named, a.name, (name) => app.set({ a: name, box: "" }));
  const other = choice("B", named, b.name, (name) => app.set({ b: name, box: "" }));
  const [, partial, full] = job.levels;
  const targets = /** @type {[string, string][]} */ ([["2", job.rows.rating ? `rated ${full}` : `${full} support`]]);
  if (partial) targets.push(["1", `${job.rows.rating ? "rated " : ""}${full} or ${partial}`]);
  const target = choice("Supported means", targets, String(app.state.target), (value) => app.set({ target: Number(value) }));
  const all = presetsOf(job);
  const presets = choice("Show", all.map(([key, name]) => [key, name]), app.preset(), (preset) => app.set({ preset, pair: "" }));
  const about = h("small", { class: "soft" });
  const known = [...levelsOf(job), ...(job.rows.level.some((level) => level < 0) ? [-1] : [])];
  const levels = known.map((level) => {
    const digit = level < 0 ? "u" : String(level);
    const box = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "checkbox",
        onchange: () => {
          const rest = app.state.levels.replace(digit, "");
          app.set({ levels: box.checked ? rest + digit : rest || "-" });
        },
      })
    );
    return { digit, box, element: h("label", { class: "check" }, box, shape(level), nameOf(job, level)) };
  });
  const search = /** @type {HTMLInputElement} */ (
    h("input", { type: "search", placeholder: "words of statement, source or id", oninput: () => app.set({ q: search.value }) })
  );
  const field = (/** @type {string} */ label, /** @type {"group" | "system"} */ key, /** @type {string[]} */ values) => {
    const input = /** @type {HTMLInputElement} */ (
      h("input", { list: `known-${key}`, value: app.state[key], oninput: () => app.set({ [key]: input.value }) })
    );
    const list = h("datalist", { id: `known-${key}` }, values.map((value) => h("option", { value })));
    return { input, element: h("label", { class: "field" }, h("span", {}, label), input, list) };
  };
  const group = field("Group", "group", job.groups);
  const system = field("System", "system", job.systems);
  const words = /** @type {HTMLInputElement} */ (
    h("input", { type: "number", min: 1, value: app.state.words, oninput: () => app.set({ words: words.value }) })
  );
  const least = /** @type {HTMLInputElement} */ (
    h("input", { type: "number", min: 1, value: app.state.least, oninput: () => app.set({ least: least.value }) })
  );
  const name = /** @type {HTMLInputElement} */ (h("input", { placeholder: "long statements", maxlength: 80 }));
  const saved = h("small", { class: "soft", role: "status" });
  const saveNamed = () => {
    const named = name.value.trim();
    if (named) saveSlice(app, named);
    fill(saved, named ? `“${named}” is among the slices.` : "Give the slice a name.");
  };
  const element = h(
    "form",
    { class: "filters", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
    first.element,
    other.element,
    presets.element,
    h("label", { class: "field wide" }, h("span", {}, "Search"), search),
    h("fieldset", { class: "levels" }, h("legend", {}, job.rows.rating ? `Human rating${job.cuts ? ` (${job.cuts})` : ""}` : "Human level"), levels.map((one) => one.element)),
    h(
      "details",
      { open: Boolean(app.state.group || app.state.system || app.state.words || app.state.least) },
      h("summary", {}, "More"),
      h(
        "div",
        { class: "filters" },
        target.element,
        job.groups.length > 1 && group.element,
        job.systems.length > 1 && system.element,
        h("label", { class: "field" }, h("span", {}, "Most words of the source"), words),
        h("label", { class: "field" }, h("span", {}, "Fewest words of the statement"), least),
        h("label", { class: "field" }, h("span", {}, "Name of a slice"), name),
        h("button", { type: "button", onclick: saveNamed }, "Save as a slice"),
        saved,
        h("button", { type: "button", onclick: () => save(app, "csv") }, "Save the selection as CSV"),
        h("button", { type: "button", onclick: () => save(app, "jsonl") }, "as JSONL"),
      ),
    ),
    about,
  );
  const update = () => {
    const now = app.axes();
    first.select.value = now.a.name;
    other.select.value = now.b.name;
    target.select.value = String(app.state.target);
    presets.select.value = app.preset();
    const fitted = [now.a, now.b].filter((metric) => app.sourceOf(metric) && metric.threshold === null).map((metric) => metric.name);
    const said = fitted.length && THRESHOLDS.includes(app.preset()) ? `; that of ${[...new Set(fitted)].join(" and ")} is the one of best F1 on these data` : "";
    fill(about, all.find(([key]) => key === app.preset())?.[2] ?? "", said);
    for (const { digit, box } of levels) box.checked = app.state.levels.includes(digit);
    for (const [input, value] of /** @type {[HTMLInputElement, string][]} */ ([[search, app.state.q], [group.input, app.state.group], [system.input, app.state.system], [words, app.state.words], [least, app.state.least]])) {
      if (document.activeElement !== input) input.value = value;
    }
  };
  return { element, update };
}

/** @param {App} app @param {"csv" | "jsonl"} kind */
function save(app, kind) {
  const { job, picked } = app;
  const { rows } = job;
  const lines = picked.map((row) => ({
    pair_id: rows.id[row],
    level: rows.level[row] < 0 ? null : nameOf(job, rows.level[row]),
    ...(rows.rating && { rating: rows.rating[row] }),
    statement: statementOf(job, row),
    source: sourcesOf(job, row).join("\n"),
    group: job.groups[rows.group[row]],
    system: job.systems[rows.system[row]],
    ...Object.fromEntries(job.metrics.map((metric) => [`score: ${metric.name}`, metric.scores[row]])),
  }));
  const file = fileName(`${job.title}.${kind}`);
  if (kind === "jsonl") download(file, "application/jsonl", jsonl(lines));
  else if (lines.length) download(file, "text/csv", csv([Object.keys(lines[0]), ...lines.map(Object.values)]));
}
