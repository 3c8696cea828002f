"use strict";
// The page of the reference results. Elements are made here alone, of attributes and text nodes: no text is markup.

/** @typedef {Record<string, string>} Cell a row of cells.csv, by heading */
/** @typedef {Record<string, any>} Properties */
/** @typedef {{ task: string, language: string, budget: string, metrics: string[], headline: string, why: string[], limits: string[] }} Answer */
/** @typedef {{ metrics: Cell[], sets: string[], alone: Set<string>, controls: Cell[], untimed: number }} Chosen */

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const data = JSON.parse(byId("data").textContent ?? "");
/** @type {Cell[]} */
const cells = data.cells.map((/** @type {string[]} */ row) => Object.fromEntries(data.fields.map((/** @type {string} */ name, /** @type {number} */ at) => [name, row[at]])));
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const NEEDS = Object.keys(data.budgets);
/** @type {Record<string, string>} */
const IN_NEEDS = { cpu: "nothing but the package", model: "a small model on a CPU", gpu: "a GPU", api: "a paid chat model" };
const QUESTIONS = ["task", "language", "budget"];
/** Sets whose data are not for commercial use: their controls, which have no licence of their own, say so. */
const RESTRICTED = new Set(cells.filter((cell) => cell.kind === "control" && cell.commercial === "no").map((cell) => cell.set));
/** @type {Record<string, string>} */
const state = { task: "", language: Object.keys(data.languages)[0] ?? "", budget: "", name: "", licence: "", needs: "", time: "", sort: "", order: "descending" };
/** The questions that a person has answered; the others follow the data. */
const asked = new Set();

// ---- Elements ----

/** @template {Element} T @param {T} element @param {Properties} properties @param {any[]} children @returns {T} */
function furnish(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") Object.assign(element, { value });
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : shown(value));
  }
  for (const child of children.flat(3)) {
    if (child instanceof Node) element.append(child);
    else if (child != null && child !== false && child !== "") element.append(shown(child));
  }
  return element;
}

/** @param {unknown} text */
function shown(text) {
  return String(text).replace(UNSEEN, " ");
}

/** @param {string} tag @param {Properties} [properties] @param {...any} children */
function h(tag, properties = {}, ...children) {
  return furnish(document.createElement(tag), properties, children);
}

/** @param {string} tag @param {Properties} [properties] @param {...any} children */
function svg(tag, properties = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

/** @param {string} id @param {...any} children */
function fill(id, ...children) {
  byId(id).replaceChildren();
  furnish(byId(id), {}, children);
}

// ---- Numbers ----

/** @param {string | number} text */
function number(text, measure = state.task) {
  if (text === "" || text == null) return "";
  return data.percent.includes(measure) ? (100 * Number(text)).toFixed(1) : Number(text).toFixed(3);
}

const COUNTS = new Intl.NumberFormat("en");
/** @param {string} text */
const counted = (text) => COUNTS.format(Number(text));

/** @param {Cell} cell */
function interval(cell) {
  return cell.low === "" ? "without an interval" : `95 % ${number(cell.low, cell.measure)} to ${number(cell.high, cell.measure)}`;
}

/** @param {string} text */
const known = (text) => text !== "" && text !== "unknown";
/** @param {Cell} cell */
const timed = (cell) => known(cell.seconds_per_1000);

/** What a value is, as one text. @param {Cell} cell */
function summary(cell) {
  const effective = cell.effective ? ` (${Math.round(Number(cell.effective))} effective)` : "";
  const value = `${cell.metric} on ${data.sets[cell.set].title}: ${number(cell.value, cell.measure)} (${interval(cell)})`;
  return `${value}, ${counted(cell.n)} rows, ${counted(cell.groups)} groups${effective}`;
}

/** All else that is known of a value, as one text. @param {Cell} cell */
function details(cell) {
  const set = data.sets[cell.set];
  const restricted = RESTRICTED.has(cell.set) && `the data are not for commercial use (${set.data_licence})`;
  if (cell.kind === "control") return ["it is a control", restricted].filter(Boolean).join("; ");
  const parts = [
    cell.stale && `stale: ${cell.stale}, and not ranked`,
    cell.alone === "yes" && "the only metric here, and not ranked",
    cell.rank_low && `rank ${ranks(cell)} on the ${counted(cell.common_rows)} rows that all metrics scored${onCommon(cell)}`,
    cell.above_controls && `${cell.above_controls === "yes" ? "" : "not "}significantly better than every control`,
    restricted,
    cell.commercial === "no" && !restricted && `the metric is not for commercial use (${cell.licence})`,
    cell.fitted_on && `fitted on ${cell.fitted_on}`,
    `needs ${IN_NEEDS[cell.needs]}`,
    `1,000 pairs: ${timed(cell) ? `${cell.seconds_per_1000} s` : "unknown time"}, ${known(cell.usd_per_1000) ? `${cell.usd_per_1000} USD` : "unknown money"}`,
    `pack ${cell.pack}, version ${cell.version}, ${cell.date}, ${cell.licence}`,
    `${set.dataset}/${set.split}, ${set.unit}, data ${cell.data.slice(0, 12)} (${set.data_licence}), metaeval ${cell.metaeval}`,
  ];
  return parts.filter(Boolean).join("; ");
}

/** @param {Cell} cell */
function ranks(cell) {
  return cell.rank_low === cell.rank_high ? cell.rank_low : `${cell.rank_low} to ${cell.rank_high}`;
}

/** @param {Cell} cell */
function onCommon(cell) {
  return cell.common_rows === cell.n ? "" : ` (there ${number(cell.common_value, cell.measure)})`;
}

/** The address of a value's pack, "" where none is published beside this page. @param {Cell} cell */
function address(cell) {
  const { packs } = document.documentElement.dataset;
  if (!packs || !cell.pack || cell.shipped !== "yes") return "";
  return `${packs}${encodeURIComponent(cell.pack)}/${location.protocol === "file:" ? "" : "card.yaml"}`;
}

/** Show all that is known of a value at the foot of the screen. @param {Cell} cell */
function tell(cell) {
  const folder = cell.shipped === "yes" ? `The pack is in results/reference/packs/${cell.pack}.` : "The pack is not published: its licence does not allow it.";
  const link = address(cell) ? h("a", { href: address(cell), target: "_blank", rel: "noopener" }, "Open the pack") : cell.pack && folder;
  fill(
    "detail",
    h("button", { type: "button", "aria-label": "Close", onclick: () => fill("detail") }, "×"),
    h("p", {}, h("strong", {}, summary(cell))),
    h("p", {}, `${details(cell)}. `, link),
  );
}

/** The cells that elements draw. @type {WeakMap<Node, Cell>} */
const about = new WeakMap();

/** @template {Element} T @param {Cell} cell @param {T} element */
function drawing(cell, element) {
  about.set(element, cell);
  return element;
}

/** Hover, focus and touch show a value's details; a click of the mouse and Enter open its pack. @param {Event} event */
function point(event) {
  let node = /** @type {Node | null} */ (event.target);
  while (node && !about.has(node)) node = node.parentNode;
  const cell = node && about.get(node);
  if (!cell) return;
  const opens = event.type === "keydown" ? /** @type {KeyboardEvent} */ (event).key === "Enter" : /** @type {PointerEvent} */ (event).pointerType === "mouse";
  if (!opens) return event.type !== "keydown" && tell(cell);
  if (address(cell)) window.open(address(cell), "_blank", "noopener");
}

// ---- The three questions ----

/** @param {string} label @param {string} name @param {Record<string, string>} options */
function select(label, name, options) {
  const onchange = (/** @type {Event} */ event) => choose(name, /** @type {HTMLSelectElement} */ (event.target).value);
  const values = Object.entries(options).map(([value, text]) => h("option", { value }, text));
  const chosen = h("select", { id: name, onchange }, values);
  Object.assign(chosen, { value: state[name] });
  return h("label", {}, label, chosen);
}

/** @param {string} name @param {string} value */
function choose(name, value) {
  state[name] = value;
  if (QUESTIONS.includes(name)) asked.add(name);
  settle();
  draw();
}

/** Give the questions that nobody has answered the first task and language, and the widest budget, that names metrics. */
function settle() {
  const fits = data.answers.filter((/** @type {Answer & Cell} */ one) => one.metrics.length && [...asked].every((name) => one[name] === state[name]));
  const first = fits[0] ?? { task: state.task || Object.keys(data.tasks)[0], language: state.language, budget: state.budget || NEEDS.at(-1) };
  const widest = fits.findLast((/** @type {Answer} */ one) => one.task === first.task && one.language === first.language) ?? first;
  for (const name of QUESTIONS) {
    if (!asked.has(name)) state[name] = widest[name];
    const shownAs = document.getElementById(name);
    if (shownAs) Object.assign(shownAs, { value: state[name] });
  }
}

function questions() {
  const tasks = Object.fromEntries(Object.entries(data.tasks).map(([key, { task }]) => [key, task]));
  fill("questions", select("I want to", "task", tasks), select("in", "language", data.languages), select("with", "budget", data.budgets));
}

/** The tasks that the data answer in this language, as buttons. */
function elsewhere() {
  const has = (/** @type {string} */ task) =>
    data.answers.some((/** @type {Answer} */ one) => one.task === task && one.language === state.language && one.metrics.length);
  const tasks = Object.keys(data.tasks).filter(has);
  if (!tasks.length || tasks.includes(state.task)) return false;
  const button = (/** @type {string} */ task) => h("button", { type: "button", onclick: () => choose("task", task) }, data.tasks[task].task);
  return h("p", {}, `In ${data.languages[state.language]}, the data answer: `, tasks.map(button));
}

function answer() {
  const of = data.answers.find((/** @type {any} */ one) => QUESTIONS.every((name) => one[name] === state[name]));
  if (!of) return;
  const [why, ...more] = of.why;
  const list = (/** @type {string} */ id, /** @type {string} */ title, /** @type {string[]} */ texts) =>
    texts.length > 0 && h("details", { id }, h("summary", {}, title), h("ul", {}, texts.map((text) => h("li", {}, text))));
  fill(
    "answer",
    h("p", { class: "headline" }, of.headline),
    h("p", { id: "why" }, why),
    !of.metrics.length && elsewhere(),
    list("by-set", "Data set by data set", more),
    list("limits", `What the data cannot tell (${of.limits.length})`, of.limits),
  );
}

// ---- The table ----

function filters() {
  const oninput = (/** @type {Event} */ event) => choose("name", /** @type {HTMLInputElement} */ (event.target).value);
  fill(
    "filters",
    h("label", {}, "Metric or data set", h("input", { id: "name", type: "search", oninput })),
    select("Licence", "licence", { "": "any", yes: "commercial use allowed" }),
    select("Needs", "needs", { "": "anything within the budget", ...IN_NEEDS }),
    select("Time for 1,000 pairs", "time", { "": "any", 1: "at most a second", 60: "at most a minute", 3600: "at most an hour" }),
  );
}

/** The metrics' cells that the questions and filters leave, and the controls of their sets. @returns {Chosen} */
function chosen() {
  const allowed = NEEDS.slice(0, NEEDS.indexOf(state.budget) + 1);
  const wanted = state.name.toLowerCase();
  const named = (/** @type {Cell} */ cell) => `${cell.metric} ${data.sets[cell.set].title}`.toLowerCase().includes(wanted);
  const here = cells.filter((cell) => cell.measure === state.task && data.sets[cell.set].language === state.language);
  const left = here
    .filter((cell) => cell.kind === "metric" && allowed.includes(cell.needs) && named(cell))
    .filter((cell) => (!state.licence || cell.commercial === "yes") && (!state.needs || cell.needs === state.needs));
  const metrics = left.filter((cell) => !state.time || (timed(cell) && Number(cell.seconds_per_1000) <= Number(state.time)));
  const untimed = state.time ? new Set(left.filter((cell) => !timed(cell)).map((cell) => cell.metric)).size : 0;
  const sets = [...new Set(metrics.map((cell) => cell.set))];
  const alone = new Set(metrics.filter((cell) => cell.alone === "yes").map((cell) => cell.set));
  sets.sort((one, two) => Number(alone.has(one)) - Number(alone.has(two)));
  return { metrics, sets, alone, untimed, controls: here.filter((cell) => cell.kind === "control" && sets.includes(cell.set)) };
}

/** @param {Cell[]} of */
const highest = (of) => of.toSorted((one, two) => Number(two.value) - Number(one.value));

/** @param {Cell[]} controls @param {string} set @returns {Cell | undefined} */
function best(controls, set) {
  return highest(controls.filter((cell) => cell.set === set))[0];
}

/** The row of each metric, in the order that the heading says: metrics without a value come last. @param {Cell[]} metrics */
function rows(metrics) {
  /** @type {Map<string, Record<string, Cell>>} */
  const of = new Map();
  for (const cell of metrics) of.set(cell.metric, { ...of.get(cell.metric), [cell.set]: cell });
  const sign = state.order === "ascending" ? 1 : -1;
  return [...of].sort(([one, first], [two, second]) => {
    const [a, b] = [first[state.sort], second[state.sort]];
    if (!a || !b) return Number(Boolean(b)) - Number(Boolean(a)) || one.localeCompare(two);
    return sign * (Number(a.value) - Number(b.value)) || one.localeCompare(two);
  });
}

/** @param {string} set @param {Set<string>} alone */
function heading(set, alone) {
  const sort = () => {
    state.order = state.sort === set && state.order === "descending" ? "ascending" : "descending";
    state.sort = set;
    draw();
    document.getElementById(`sort-${set}`)?.focus();
  };
  const sorted = state.sort === set ? state.order : "none";
  const attributes = { scope: "col", "aria-sort": sorted, class: alone.has(set) && "alone" };
  const mark = RESTRICTED.has(set) && h("sup", { title: "not for commercial use" }, "NC");
  return h("th", attributes, h("button", { type: "button", id: `sort-${set}`, onclick: sort }, data.sets[set].title, mark));
}

/** @param {Cell | undefined} cell @param {Set<string>} alone */
function value(cell, alone) {
  if (!cell) return h("td", {});
  const kind = cell.stale ? "stale" : alone.has(cell.set) ? "alone" : cell.best === "yes" ? "best" : false;
  const marks = [cell.commercial === "no" && "NC", cell.alone !== "yes" && cell.common_rows && cell.common_rows !== cell.n && "†"];
  const ranked = cell.rank_low ? `, rank ${ranks(cell)}` : "";
  const attributes = { class: kind, tabindex: -1, "aria-label": `${summary(cell)}${ranked}` };
  return drawing(cell, h("td", attributes, number(cell.value), marks.map((mark) => mark && h("sup", {}, mark))));
}

/** @param {Chosen} of */
function table({ metrics, sets, alone, controls, untimed }) {
  if (!sets.includes(state.sort)) state.sort = sets[0] ?? "";
  const several = (/** @type {number} */ count, /** @type {string} */ noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const left = untimed ? `; ${several(untimed, "metric")} of unknown time left out` : "";
  fill("count", `${several(new Set(metrics.map((cell) => cell.metric)).size, "metric")}, ${several(sets.length, "data column")}${left}.`);
  if (!sets.length) return fill("table", h("p", {}, "No value fits these questions and filters."));
  const head = h("tr", {}, h("th", { scope: "col" }, "metric"), sets.map((set) => heading(set, alone)));
  const body = rows(metrics).map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), sets.map((set) => value(of[set], alone))));
  const foot = h("tr", {}, h("th", { scope: "row" }, "best control"), sets.map((set) => value(best(controls, set), alone)));
  const drawn = h("table", { onkeydown: walk }, h("thead", {}, head), h("tbody", {}, body), h("tfoot", {}, foot));
  drawn.querySelector("td[aria-label]")?.setAttribute("tabindex", "0");
  fill("table", drawn);
}

/** Arrow keys move between the values of the table. @param {KeyboardEvent} event */
function walk(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const cell = /** @type {Element} */ (event.target).closest("td");
  if (!cell || !step) return;
  event.preventDefault();
  const lines = [.../** @type {HTMLTableElement} */ (event.currentTarget).rows];
  let [row, column] = [lines.indexOf(/** @type {HTMLTableRowElement} */ (cell.parentElement)), cell.cellIndex];
  do {
    row += step[0];
    column += step[1];
  } while (lines[row]?.cells[column] && !lines[row].cells[column].hasAttribute("aria-label"));
  const next = lines[row]?.cells[column];
  if (next?.tagName !== "TD") return;
  cell.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

// ---- Drawings: a unit is a pixel, so that letters have their size on a phone ----

/** @typedef {(value: string | number) => number} Scale */

/** The width of a drawing, whether it is narrow, and where its values begin. */
function room() {
  const width = Math.min(byId("plot").clientWidth || 720, 900);
  return { width, narrow: width < 560, left: width < 560 ? 8 : 200 };
}

/** @param {number[]} values @param {number} from @param {number} to @returns {Scale} */
function scale(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => from + ((to - from) * (Number(value) - low)) / (high - low || 1);
}

/** Up to six round numbers between the lowest and highest value. @param {number[]} values */
function ticks(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const power = 10 ** Math.floor(Math.log10((high - low || 1) / 3));
  const step = power * ([1, 2, 5, 10].find((one) => (high - low) / (one * power) <= 5) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, at) => (first + at) * step);
}

/** @param {Scale} x @param {number[]} at @param {number} bottom @param {(value: number) => string} text */
function axis(x, at, bottom, text) {
  return at.map((one) => [
    svg("line", { class: "axis", x1: x(one), x2: x(one), y1: 20, y2: bottom }),
    svg("text", { class: "soft", x: x(one), y: bottom + 15, "text-anchor": "middle" }, text(one)),
  ]);
}

/** @param {string} name */
const short = (name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name);

/** The values of the sorted column with their intervals, the best control as a line, and the intervals of ranks. @param {Chosen} chosen */
function forest({ metrics, controls }) {
  const of = highest(metrics.filter((cell) => cell.set === state.sort));
  if (!of.length) return fill("plot");
  const control = best(controls, state.sort);
  const { width, narrow, left } = room();
  const middle = left + 0.64 * (width - left);
  const ends = [...of.flatMap((cell) => [cell.low || cell.value, cell.value, cell.high || cell.value]), control?.value ?? of[0].value].map(Number);
  const x = scale(ends, left + 12, middle - 12);
  const last = Math.max(2, ...cells.filter((cell) => cell.set === state.sort && cell.measure === state.task).map((cell) => Number(cell.rank_high)));
  const rank = scale([1, last], middle + 24, width - 14);
  const height = narrow ? 40 : 26;
  const y = (/** @type {number} */ at) => 24 + height * at + height / 2 + (narrow ? 8 : 0);
  const bottom = 24 + height * of.length + (narrow ? 8 : 4);
  const line = (/** @type {Cell} */ cell, /** @type {number} */ at) => {
    const mark = cell.best === "yes" ? " best" : "";
    const place = narrow ? { x: left, y: y(at) - 14 } : { x: left - 8, y: y(at) + 5, "text-anchor": "end" };
    const spot = { tabindex: 0, role: "img", "aria-label": `${summary(cell)}${cell.rank_low ? `, rank ${ranks(cell)}` : ""}`, class: "line" };
    const ranked = { class: `rank${mark}`, x1: rank(cell.rank_low), x2: rank(cell.rank_high), y1: y(at), y2: y(at) };
    const drawn = svg(
      "g",
      spot,
      svg("rect", { class: "hit", x: 0, y: y(at) - height / 2 - (narrow ? 8 : 0), width, height }),
      svg("text", place, short(cell.metric)),
      cell.low && svg("line", { class: `interval${mark}`, x1: x(cell.low), x2: x(cell.high), y1: y(at), y2: y(at) }),
      svg("circle", { class: `dot${mark}`, cx: x(cell.value), cy: y(at), r: 5 }),
      cell.rank_low ? svg("line", ranked) : svg("text", { class: "soft", x: middle + 20, y: y(at) + 4 }, "not ranked"),
    );
    return drawing(cell, drawn);
  };
  const dashed = control && svg("line", { class: "control", x1: x(control.value), x2: x(control.value), y1: 20, y2: bottom });
  const { title } = data.sets[state.sort];
  const measure = data.tasks[state.task].measure;
  const middling = last > 4 && last % 2 ? [1, (last + 1) / 2, last] : [1, last];
  fill(
    "plot",
    h("p", { class: "soft" }, `${title}: ${measure} with 95 % intervals; dashed: the best control${control ? ` (${control.metric}, ${number(control.value)})` : ""}. Right: ranks that hold together with 95 %. Blue: the highest value of the column, or not significantly worse.`),
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${bottom + 24}`, width, role: "group", "aria-label": `Values and 95 % intervals on ${title}, as in the table.` },
      svg("text", { class: "soft", x: left + 12, y: 13 }, measure),
      svg("text", { class: "soft", x: middle + 20, y: 13 }, "rank"),
      axis(x, ticks(ends).filter((_, at, all) => !narrow || all.length < 5 || at % 2 === 0), bottom, number),
      axis(rank, middling, bottom, String),
      dashed,
      of.map(line),
    ),
  );
}

/** The sorted column's values against seconds a 1,000 pairs, on a logarithmic axis; unknown costs stand below. @param {Chosen} chosen */
function costs({ metrics }) {
  const of = metrics.filter((cell) => cell.set === state.sort);
  const priced = highest(of.filter((cell) => timed(cell) && Number(cell.seconds_per_1000) > 0));
  const unknown = of.filter((cell) => !priced.includes(cell)).map((cell) => `${cell.metric} (${number(cell.value)}, needs ${IN_NEEDS[cell.needs]})`);
  const rest = unknown.length > 0 && h("p", { class: "soft" }, `Time unknown: ${unknown.join(", ")}.`);
  if (priced.length < 2) return fill("cost", rest || (of.length > 0 && h("p", { class: "soft" }, "Too few costs are known here.")));
  const { width } = room();
  const times = priced.map((cell) => Math.log10(Number(cell.seconds_per_1000)));
  const around = [Math.floor(Math.min(...times)), Math.ceil(Math.max(...times))];
  const x = scale(around, 52, width - 24);
  const values = priced.map((cell) => Number(cell.value));
  const y = scale(values, 216, 34);
  /** @type {{ x: number, y: number, wide: number }[]} */
  const labels = [];
  const dots = priced.map((cell, at) => {
    const mark = cell.best === "yes" ? "dot best" : "dot";
    const wide = 7.5 * cell.metric.length;
    const right = x(times[at]) + wide + 10 > width;
    const place = { x: right ? x(times[at]) - 8 - wide : x(times[at]) + 8, y: y(cell.value) - 5, wide };
    while (labels.some((one) => Math.abs(one.y - place.y) < 14 && place.x < one.x + one.wide && one.x < place.x + wide)) place.y += 1;
    labels.push(place);
    const spot = { tabindex: 0, role: "img", class: "line", "aria-label": `${summary(cell)}, ${cell.seconds_per_1000} s for 1,000 pairs` };
    const drawn = svg(
      "g",
      spot,
      svg("circle", { class: mark, cx: x(times[at]), cy: y(cell.value), r: 5 }),
      svg("text", { x: right ? x(times[at]) - 8 : place.x, y: place.y, "text-anchor": right ? "end" : "start" }, short(cell.metric)),
    );
    return drawing(cell, drawn);
  });
  const decades = Array.from({ length: around[1] - around[0] + 1 }, (_, at) => around[0] + at);
  const across = ticks(values).map((one) => [
    svg("line", { class: "axis", x1: 48, x2: width, y1: y(one), y2: y(one) }),
    svg("text", { class: "soft", x: 42, y: y(one) + 4, "text-anchor": "end" }, number(one)),
  ]);
  const { title } = data.sets[state.sort];
  fill(
    "cost",
    h("p", { class: "soft" }, `${title}: ${data.tasks[state.task].measure} (upwards) against seconds for 1,000 pairs (logarithmic).`),
    svg(
      "svg",
      { viewBox: `0 0 ${width} 264`, width, role: "group", "aria-label": `Quality on ${title} against seconds for 1,000 pairs.` },
      across,
      axis(x, decades, 236, (one) => `${Number((10 ** one).toPrecision(1))} s`),
      dots,
    ),
    rest,
  );
}

function draw() {
  const of = chosen();
  answer();
  table(of);
  fill("of-table", `Metrics and data sets: ${data.tasks[state.task].measure}`);
  fill("meaning", data.tasks[state.task].meaning);
  fill(
    "legend",
    "A heading sorts, and its column is drawn below. Bold: the highest value, or not significantly worse (Holm); bold and ranks are among " +
      "all metrics of a column, whatever is filtered. Struck out: stale. Last, in italics: one metric alone. " +
      "NC: not for commercial use. †: ranks and tests are from fewer rows than the value.",
  );
  forest(of);
  costs(of);
}

let before = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === before) return;
  before = innerWidth;
  forest(chosen());
  costs(chosen());
});
for (const type of ["mouseover", "focusin", "click", "keydown"]) addEventListener(type, point);
addEventListener("keydown", (event) => event.key === "Escape" && fill("detail"));
settle();
questions();
filters();
draw();
