// The page of the reference results, in one script with observatory_drawings.js before it. Elements are made here alone, of attributes and text nodes: no text is markup.

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
    cell.control && "it is a control",
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

// ---- What is behind a value ----

/** The address of a file of a value's pack (of its folder without a file), "" where the pack is not published. @param {Cell} cell @param {string} file */
function address(cell, file) {
  const { packs } = document.documentElement.dataset;
  return packs && cell.shipped === "yes" ? `${packs}${encodeURIComponent(cell.pack)}/${encodeURIComponent(file)}` : "";
}

/** A word of a command. @param {string} word */
const quoted = (word) => (/^[\w./+-]+$/.test(word) ? word : `'${shown(word).replaceAll("'", "'\\''")}'`);

/** The commands behind a value, each with what it does. @param {Cell} cell @returns {string[][]} */
function commands(cell) {
  const { dataset, split, unit } = data.sets[cell.set];
  const hidden = cells.some((other) => other.set === cell.set && other.shipped === "no") ? " --packs FOLDER" : "";
  const again = ["Recompute it:", `metaeval results reference ${quoted(cell.set)}${hidden}`];
  if (!cell.file) return [again];
  const rows = `-d ${quoted(dataset)} --split ${quoted(split)}${unit === "rating" ? "" : ` -u ${unit}`}`;
  const file = quoted(`results/reference/packs/${cell.pack}/${cell.file}`);
  return [again, ["See its pairs:", `metaeval evaluate ${file} ${rows} && metaeval view --open`]];
}

/** Select a command, and copy it where the browser allows that. @param {Event} event */
async function copy(event) {
  const button = /** @type {HTMLElement} */ (event.currentTarget);
  const code = /** @type {HTMLElement} */ (button.parentElement?.querySelector("code"));
  getSelection()?.selectAllChildren(code);
  const copied = await navigator.clipboard?.writeText(code.textContent ?? "").then(() => true, () => false);
  button.textContent = copied ? "Copied" : "Selected";
}

/** The pack of a value and its commands. @param {Cell} cell */
function behind(cell) {
  const link = (/** @type {string} */ text, /** @type {string} */ file) =>
    cell.file && address(cell, file) && h("a", { href: address(cell, file), target: "_blank", rel: "noopener" }, text);
  // A browser lists a folder on a disk, where it would only download the card.
  const card = location.protocol === "file:" ? link("Folder of the pack", "") : link("Card of the pack", "card.yaml");
  const links = [card, " ", link("Scores", cell.file)];
  const lines = commands(cell).map(([what, text]) =>
    h("p", { class: "command" }, what, h("code", {}, text), h("button", { type: "button", onclick: copy }, "Copy")),
  );
  return [h("p", {}, cell.shipped === "no" ? "The pack is not published: its licence does not allow it." : links), lines];
}

/** The element whose value stays at the foot of the screen. @type {HTMLElement | SVGElement | null} */
let pinned = null;

/** Close what is shown of a value. */
function close() {
  pinned?.focus();
  pinned = null;
  fill("detail");
}

/** Show all that is known of a value at the foot of the screen, and what is behind it. @param {Cell} cell @param {boolean} all */
function tell(cell, all) {
  fill(
    "detail",
    h("button", { type: "button", "aria-label": "Close", onclick: close }, "×"),
    h("p", {}, h("strong", {}, summary(cell))),
    all && behind(cell),
    h("p", {}, `${details(cell)}.`),
  );
}

/** The cells that elements draw. @type {WeakMap<Node, Cell>} */
const about = new WeakMap();

/** @template {Element} T @param {Cell} cell @param {T} element */
function drawing(cell, element) {
  about.set(element, cell);
  return element;
}

/** Hover and focus show a value's details; a click, a touch and Enter also its pack and commands, until they are closed. @param {Event} event */
function point(event) {
  let node = /** @type {any} */ (event.target);
  while (node && !about.has(node)) node = node.parentNode;
  const cell = about.get(node);
  const entered = event.type === "keydown" && /** @type {KeyboardEvent} */ (event).key === "Enter";
  if (!cell || (event.type === "keydown" && !entered) || (pinned && (event.type === "mouseover" || node === pinned))) return;
  if (event.type === "focusin" && !node.matches(":focus-visible")) return; // a pointer's, which is about to click
  pinned = entered || event.type === "click" ? node : null;
  tell(cell, pinned !== null);
  if (entered) /** @type {HTMLElement | null} */ (byId("detail").querySelector("a, .command button"))?.focus();
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

/** The metrics' cells that the questions and filters leave, and the controls of their sets, metrics or not. @returns {Chosen} */
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
  return { metrics, sets, alone, untimed, controls: here.filter((cell) => (cell.control || cell.kind === "control") && sets.includes(cell.set)) };
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

// ---- The page ----

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
addEventListener("keydown", (event) => event.key === "Escape" && close());
settle();
questions();
filters();
draw();
