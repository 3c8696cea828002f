"use strict";
// The page of the reference results. Elements are made here alone, of attributes and text nodes: no text is markup.

const data = JSON.parse(document.getElementById("data").textContent);
const cells = data.cells.map((row) => Object.fromEntries(data.fields.map((name, at) => [name, row[at]])));
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const NEEDS = Object.keys(data.budgets);
const IN_NEEDS = { cpu: "nothing but the package", model: "a small model on a CPU", gpu: "a GPU", api: "a paid chat model" };
const state = { task: Object.keys(data.tasks)[0], language: "", budget: NEEDS.at(-1), name: "", licence: "", sort: "", order: "descending" };

// ---- Elements ----

function furnish(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : shown(value));
  }
  for (const child of children.flat()) {
    if (child instanceof Node) element.append(child);
    else if (child != null && child !== false) element.append(shown(child));
  }
  return element;
}

function shown(text) {
  return String(text).replace(UNSEEN, " ");
}

function h(tag, properties = {}, ...children) {
  return furnish(document.createElement(tag), properties, children);
}

function svg(tag, properties = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.flat().filter(Boolean).map((child) => (child instanceof Node ? child : shown(child))));
}

// ---- Numbers ----

function number(text, measure = state.task) {
  if (text === "" || text == null) return "";
  return data.percent.includes(measure) ? (100 * text).toFixed(1) : Number(text).toFixed(3);
}

function interval(cell) {
  return cell.low === "" ? "without an interval" : `95 % ${number(cell.low, cell.measure)} to ${number(cell.high, cell.measure)}`;
}

function known(text) {
  return text !== "" && text !== "unknown";
}

function seconds(cell) {
  return known(cell.seconds_per_1000) ? `${cell.seconds_per_1000} s` : "unknown time";
}

function money(cell) {
  return known(cell.usd_per_1000) ? `${cell.usd_per_1000} USD` : "unknown money";
}

/** All that is known of a value, as one text. */
function details(cell) {
  const set = data.sets[cell.set];
  const parts = [`${cell.metric} on ${set.title}: ${number(cell.value, cell.measure)} (${interval(cell)}), ${cell.n} rows, ${cell.groups} groups`];
  if (cell.kind === "control") return `${parts[0]}. It is a control.`;
  if (cell.stale) parts.push(`stale: ${cell.stale}, and not ranked`);
  if (cell.alone === "yes") parts.push("the only metric here, and not ranked");
  if (cell.rank_low) parts.push(`rank ${ranks(cell)} on the ${cell.common_rows} rows that all metrics scored${other(cell)}`);
  if (cell.above_controls) parts.push(`${cell.above_controls === "yes" ? "" : "not "}significantly better than every control`);
  if (cell.commercial === "no") parts.push("not for commercial use");
  parts.push(`needs ${IN_NEEDS[cell.needs]}; 1,000 pairs: ${seconds(cell)}, ${money(cell)}`);
  parts.push(`pack ${cell.pack}, version ${cell.version}, ${cell.date}, ${cell.licence}`);
  parts.push(`${set.dataset}/${set.split}, ${set.unit}, data ${cell.data.slice(0, 12)} (${set.data_licence}), metaeval ${cell.metaeval}`);
  return `${parts.join("; ")}.`;
}

function ranks(cell) {
  return cell.rank_low === cell.rank_high ? cell.rank_low : `${cell.rank_low} to ${cell.rank_high}`;
}

function other(cell) {
  return cell.common_rows === cell.n ? "" : ` (there ${number(cell.common_value, cell.measure)})`;
}

// ---- The three questions ----

function select(label, name, options, then) {
  const values = Object.entries(options).map(([value, text]) => h("option", { value }, text));
  const chosen = h("select", { id: name, onchange: (event) => then(event.target.value) }, values);
  chosen.value = state[name];
  return h("label", {}, label, chosen);
}

function change(name) {
  return (value) => {
    state[name] = value;
    draw();
  };
}

function questions() {
  const tasks = Object.fromEntries(Object.entries(data.tasks).map(([key, { task }]) => [key, task]));
  fill(
    "questions",
    select("I want to", "task", tasks, change("task")),
    select("in", "language", data.languages, change("language")),
    select("with", "budget", data.budgets, change("budget")),
  );
}

function answer() {
  const found = data.answers.find((one) => ["task", "language", "budget"].every((name) => one[name] === state[name]));
  if (!found) return;
  const [why, ...more] = found.why;
  fill(
    "answer",
    h("p", { class: "headline" }, found.headline),
    h("p", { id: "why" }, why),
    more.length > 0 && h("details", {}, h("summary", {}, "Data set by data set"), h("ul", {}, more.map((text) => h("li", {}, text)))),
    found.limits.length > 0 &&
      h("details", { id: "limits" }, h("summary", {}, "What the data cannot tell"), h("ul", {}, found.limits.map((text) => h("li", {}, text)))),
  );
}

// ---- The table ----

function filters() {
  const narrow = (name) => (event) => {
    state[name] = event.target.value;
    draw();
  };
  fill(
    "filters",
    h("label", {}, "Metric or data set", h("input", { id: "name", type: "search", oninput: narrow("name") })),
    select("Licence", "licence", { "": "any", yes: "commercial use allowed" }, change("licence")),
  );
}

/** The metrics' cells that the questions and filters leave, and the controls of their sets. */
function chosen() {
  const allowed = NEEDS.slice(0, NEEDS.indexOf(state.budget) + 1);
  const wanted = state.name.toLowerCase();
  const named = (cell) => `${cell.metric} ${data.sets[cell.set].title}`.toLowerCase().includes(wanted);
  const here = cells.filter((cell) => cell.measure === state.task && data.sets[cell.set].language === state.language);
  const metrics = here.filter(
    (cell) => cell.kind === "metric" && allowed.includes(cell.needs) && (!state.licence || cell.commercial === "yes") && named(cell),
  );
  const sets = [...new Set(metrics.map((cell) => cell.set))];
  const alone = new Set(metrics.filter((cell) => cell.alone === "yes").map((cell) => cell.set));
  sets.sort((one, two) => alone.has(one) - alone.has(two));
  return { metrics, sets, alone, controls: here.filter((cell) => cell.kind === "control" && sets.includes(cell.set)) };
}

function best(controls, set) {
  return controls.filter((cell) => cell.set === set).sort((one, two) => two.value - one.value)[0];
}

/** The row of each metric, in the order that the heading says: metrics without a value come last. */
function rows(metrics) {
  const of = new Map();
  for (const cell of metrics) of.set(cell.metric, { ...of.get(cell.metric), [cell.set]: cell });
  const sign = state.order === "ascending" ? 1 : -1;
  return [...of].sort(([one, first], [two, second]) => {
    const [a, b] = [first[state.sort], second[state.sort]];
    if (!a || !b) return Boolean(b) - Boolean(a) || one.localeCompare(two);
    return sign * (a.value - b.value) || one.localeCompare(two);
  });
}

function heading(set, alone) {
  const sort = () => {
    state.order = state.sort === set && state.order === "descending" ? "ascending" : "descending";
    state.sort = set;
    draw();
    document.getElementById(`sort-${set}`)?.focus();
  };
  const sorted = state.sort === set ? state.order : "none";
  const attributes = { scope: "col", "aria-sort": sorted, class: alone.has(set) && "alone" };
  return h("th", attributes, h("button", { type: "button", id: `sort-${set}`, onclick: sort }, data.sets[set].title));
}

function value(cell, alone) {
  if (!cell) return h("td", {});
  const say = () => fill("detail", details(cell));
  const kind = cell.stale ? "stale" : alone.has(cell.set) ? "alone" : cell.best === "yes" ? "best" : false;
  const marks = [cell.commercial === "no" && "NC", cell.alone !== "yes" && cell.common_rows && cell.common_rows !== cell.n && "†"];
  const listeners = { onfocus: say, onmouseenter: say, onclick: (event) => event.currentTarget.focus() };
  const label = details(cell);
  return h("td", { class: kind, tabindex: -1, "aria-label": label, ...listeners }, number(cell.value), marks.map((mark) => mark && h("sup", {}, mark)));
}

function table() {
  const { metrics, sets, alone, controls } = chosen();
  if (!sets.includes(state.sort)) state.sort = sets[0] ?? "";
  if (!sets.length) {
    fill("table", h("p", {}, "No value fits these questions and filters."));
    return { metrics, controls };
  }
  const head = h("tr", {}, h("th", { scope: "col" }, "metric"), sets.map((set) => heading(set, alone)));
  const body = rows(metrics).map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), sets.map((set) => value(of[set], alone))));
  const foot = h("tr", {}, h("th", { scope: "row" }, "best control"), sets.map((set) => value(best(controls, set), alone)));
  const drawn = h("table", { onkeydown: walk }, h("thead", {}, head), h("tbody", {}, body), h("tfoot", {}, foot));
  drawn.querySelector("td[aria-label]")?.setAttribute("tabindex", "0");
  fill("table", drawn);
  return { metrics, controls };
}

/** Arrow keys move between the values of the table. */
function walk(event) {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const cell = event.target.closest("td");
  if (!cell || !steps[event.key]) return;
  event.preventDefault();
  const lines = [...event.currentTarget.rows];
  let [row, column] = [lines.indexOf(cell.parentElement), cell.cellIndex];
  const [down, right] = steps[event.key];
  do {
    row += down;
    column += right;
  } while (lines[row]?.cells[column] && !lines[row].cells[column].hasAttribute("aria-label"));
  const next = lines[row]?.cells[column];
  if (next?.tagName !== "TD") return;
  cell.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// ---- Drawings ----

const WIDE = 720;
const LEFT = 190;
const RIGHT = 640;

function scale(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => LEFT + ((RIGHT - LEFT) * (value - low)) / (high - low || 1);
}

function axis(x, y, low, high, text) {
  return [
    svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: y, y2: y }),
    svg("text", { class: "soft", x: LEFT, y: y + 15 }, text(low)),
    svg("text", { class: "soft", x: RIGHT, y: y + 15, "text-anchor": "end" }, text(high)),
  ];
}

function short(name) {
  return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}

/** The values of the sorted column with their intervals, the best control as a line, and ranks as text. */
function forest(metrics, controls) {
  const set = state.sort;
  const of = metrics.filter((cell) => cell.set === set).sort((one, two) => two.value - one.value);
  if (!of.length) return fill("plot");
  const control = best(controls, set);
  const ends = [...of.flatMap((cell) => [cell.low || cell.value, cell.value, cell.high || cell.value]), control?.value ?? of[0].value].map(Number);
  const x = scale(ends);
  const y = (at) => 24 + 26 * at;
  const bottom = y(of.length);
  const lines = of.flatMap((cell, at) => [
    svg("text", { x: LEFT - 8, y: y(at) + 5, "text-anchor": "end" }, short(cell.metric), svg("title", {}, details(cell))),
    cell.low && svg("line", { class: cell.best === "yes" ? "interval best" : "interval", x1: x(cell.low), x2: x(cell.high), y1: y(at), y2: y(at) }),
    svg("circle", { class: cell.best === "yes" ? "dot best" : "dot", cx: x(cell.value), cy: y(at), r: 5 }, svg("title", {}, details(cell))),
    svg("text", { class: "soft", x: RIGHT + 10, y: y(at) + 4 }, cell.rank_low ? `rank ${ranks(cell)}` : "not ranked"),
  ]);
  const dashed = control && svg("line", { class: "control", x1: x(control.value), x2: x(control.value), y1: 8, y2: bottom }, svg("title", {}, details(control)));
  const label = `Values and 95 % intervals on ${data.sets[set].title}; the same numbers are in the table.`;
  fill(
    "plot",
    h("p", { class: "soft" }, `${data.sets[set].title}: ${data.tasks[state.task].measure} with 95 % intervals; dashed: the best control${control ? ` (${control.metric})` : ""}. Ranks hold together with 95 %.`),
    svg("svg", { viewBox: `0 0 ${WIDE} ${bottom + 24}`, role: "img", "aria-label": label }, ...[dashed, ...lines].filter(Boolean), ...axis(x, bottom, Math.min(...ends), Math.max(...ends), (one) => number(one))),
  );
}

/** The sorted column's values against seconds a 1,000 pairs, on a logarithmic axis; unknown costs stand at the right. */
function costs(metrics) {
  const of = metrics.filter((cell) => cell.set === state.sort);
  const timed = of.filter((cell) => known(cell.seconds_per_1000) && cell.seconds_per_1000 > 0);
  const unknown = of.filter((cell) => !timed.includes(cell)).map((cell) => `${cell.metric} (${number(cell.value)}, needs ${IN_NEEDS[cell.needs]})`);
  const rest = unknown.length > 0 && h("p", { class: "soft" }, `Time unknown: ${unknown.join(", ")}.`);
  if (timed.length < 2) return fill("cost", rest || h("p", { class: "soft" }, "Too few costs are known here."));
  const times = timed.map((cell) => Math.log10(cell.seconds_per_1000));
  const x = scale(times);
  const values = timed.map((cell) => Number(cell.value));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (one) => 220 - (190 * (one - low)) / (high - low || 1);
  const dots = timed.flatMap((cell, at) => [
    svg("circle", { class: cell.best === "yes" ? "dot best" : "dot", cx: x(times[at]), cy: y(cell.value), r: 5 }, svg("title", {}, details(cell))),
    svg("text", { x: x(times[at]) + (x(times[at]) > 560 ? -8 : 8), y: y(cell.value) - 7, "text-anchor": x(times[at]) > 560 ? "end" : "start" }, cell.metric),
  ]);
  const label = `Quality on ${data.sets[state.sort].title} against seconds for 1,000 pairs.`;
  fill(
    "cost",
    h("p", { class: "soft" }, `${data.sets[state.sort].title}: ${data.tasks[state.task].measure} (upwards, ${number(low)} to ${number(high)}) against seconds of CPU for 1,000 pairs (logarithmic).`),
    svg("svg", { viewBox: `0 0 ${WIDE} 264`, role: "img", "aria-label": label }, dots, ...axis(x, 236, Math.min(...times), Math.max(...times), (one) => `${(10 ** one).toPrecision(2)} s`)),
    rest,
  );
}

function draw() {
  answer();
  const { metrics, controls } = table();
  fill("of-table", `Metrics and data sets: ${data.tasks[state.task].measure}`);
  fill(
    "legend",
    "Bold: the highest value, or not significantly worse (Holm). Struck out: stale. Last, in italics: one metric alone. " +
      "NC: not for commercial use. †: ranks and tests are from fewer rows than the value.",
  );
  forest(metrics, controls);
  costs(metrics);
}

state.language = Object.keys(data.languages)[0] ?? "";
questions();
filters();
draw();
