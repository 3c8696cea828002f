// Labelling, blind: a statement, its source, three keys. It knows texts and ids, and neither scores nor metrics nor gold.

import { csv, download, fileName, jsonl, parsed } from "./exporting.js";
import { fill, h } from "./dom.js";

/**
 * @typedef {object} Item what is labelled
 * @property {string} id
 * @property {string} statementId
 * @property {string} statement
 * @property {string} group what shares a group is not independent
 * @property {string} sourceId
 * @property {string} source
 * @property {string} [question] that was answered
 * @property {string} [before] the sentence before the statement
 * @property {string} [after] the sentence behind it
 * @property {Record<string, string | number>} [design] how the item was drawn: further columns of the CSV
 */

/**
 * @typedef {object} Question what is asked about an item: a column of the CSV, and its choices
 * @property {string} column
 * @property {string} words
 * @property {{key: string, value: string, words: string}[]} choices
 */

/** @type {Question[]} */
const SUPPORT = [
  {
    column: "level",
    words: "How far does the source support the statement?",
    choices: [
      { key: "3", value: "full", words: "full support" },
      { key: "2", value: "partial", words: "partial support" },
      { key: "1", value: "none", words: "no support" },
    ],
  },
];

const MEANING = "Full: the source says all of the statement. Partial: it says a part. None: it says nothing of it, or the opposite.";

/** @typedef {Record<string, Record<string, string>>} Labels the values of an item's columns, and a comment, by id */

const COMMENT = "comment";

/** Whether every question has an answer. @param {Question[]} form @param {Record<string, string> | undefined} values */
const whole = (form, values) => form.every(({ column }) => values?.[column]);

/**
 * The answers among some cells that the form knows; null where there is none. A text alone answers the first question.
 * @param {Question[]} form @param {unknown} found
 */
function answers(form, found) {
  const cells = /** @type {Record<string, unknown>} */ (typeof found === "string" ? { [form[0].column]: found } : (found ?? {}));
  /** @type {Record<string, string>} */
  const values = {};
  for (const { column, choices } of form) {
    const choice = choices.find(({ value }) => value === cells[column]);
    if (choice) values[column] = choice.value;
  }
  const comment = cells[COMMENT];
  if (typeof comment === "string" && comment) values[COMMENT] = comment;
  return Object.keys(values).length ? values : null;
}

/**
 * The panel. Labels stay in this browser under `name`, where it lets a page keep anything, those of each annotator apart;
 * `items` may be exchanged.
 * @param {string} name of what is labelled @param {Item[]} items @param {Question[]} form
 */
export function makeLabelling(name, items, form = SUPPORT) {
  const ofForm = form === SUPPORT || form[0].column === "level" ? "" : ` (${form.map(({ column }) => column).join(", ")})`;
  const place = `metaeval labels of ${name}${ofForm}`;
  const { everyone, last } = kept(place, form);
  let who = last;
  let labels = own(everyone, who);
  let current = 0;
  let said = "";
  /** @type {Item | undefined} */
  let shown;
  /** @type {{who: string, id: string, values: Record<string, string> | undefined}[]} the labels before each change */
  const before = [];
  const known = new Map(items.map((item) => [item.id, item]));
  const columns = form.map(({ column }) => column);

  const next = () => Math.max(0, items.findIndex((item) => !whole(form, labels[item.id])));

  /** Answer a question, or take all answers back where there is none. */
  const put = (/** @type {Question} */ question, /** @type {string} */ value) => {
    const item = items[current];
    if (!item) return;
    before.push({ who, id: item.id, values: labels[item.id] });
    const { [COMMENT]: text } = labels[item.id] ?? {};
    set(item.id, value ? { ...labels[item.id], [question.column]: value } : text ? { [COMMENT]: text } : undefined);
    if (value && whole(form, labels[item.id]) && current + 1 < items.length) current++;
    update();
  };

  /** The question that keys answer: the first that is open. */
  const open = () => form.find(({ column }) => !labels[items[current]?.id]?.[column]) ?? form[0];

  const set = (/** @type {string} */ id, /** @type {Record<string, string> | undefined} */ values) => {
    if (values) labels[id] = values;
    else delete labels[id];
    keep(place, everyone, who);
  };

  /** Take back the last change of whoever labels now, and go to where it was made. */
  const undo = () => {
    const at = before.findLastIndex((change) => change.who === who);
    if (at < 0) return;
    const [{ id, values }] = before.splice(at, 1);
    set(id, values);
    current = Math.max(0, items.findIndex((item) => item.id === id));
    update();
  };

  const move = (/** @type {number} */ step) => {
    current = Math.max(0, Math.min(items.length - 1, current + step));
    update();
  };

  /** Another annotator labels, blind to the first; labels that were made under no name become those of the first name. */
  const rename = () => {
    const now = nameField.value.trim();
    if (now === who) return;
    if (!who && !everyone.has(now)) {
      everyone.set(now, labels);
      everyone.delete("");
      for (const change of before) change.who = now;
    }
    who = now;
    labels = own(everyone, who);
    keep(place, everyone, who);
    current = next();
    update();
  };

  const panel = h("div");
  const choices = h("div", { class: "choices" });
  const comment = /** @type {HTMLInputElement} */ (h("input", { onchange: () => remark() }));
  const remark = () => {
    const item = items[current];
    if (!item) return;
    const { [COMMENT]: _, ...values } = labels[item.id] ?? {};
    const text = comment.value.trim();
    if (text) values[COMMENT] = text;
    set(item.id, Object.keys(values).length ? values : undefined);
    enable();  // not update: it would exchange the button that was clicked to leave the field
  };
  const nameField = /** @type {HTMLInputElement} */ (h("input", { value: who, onchange: rename }));
  const saveJsonl = h("button", { type: "button", onclick: () => save("jsonl") }, "Save labels as JSONL");
  const saveCsv = h("button", { type: "button", onclick: () => save("csv") }, "Save labels as CSV");
  const undoLast = h("button", { type: "button", onclick: undo }, h("kbd", {}, "u"), " Undo");
  const file = /** @type {HTMLInputElement} */ (h("input", { type: "file", accept: ".csv", onchange: () => load() }));
  const element = h(
    "section",
    { class: "labelling", "aria-label": "Labelling" },
    panel,
    // What is typed in and clicked stays where it is when the panel is redrawn.
    h("label", { class: "field wide" }, h("span", {}, "Comment (optional)"), comment),
    h(
      "div",
      { class: "bar" },
      choices,
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => move(-1) }, "Previous"),
        h("button", { type: "button", onclick: () => move(1) }, "Next"),
        undoLast,
      ),
    ),
    h(
      "div",
      { class: "buttons" },
      h("label", { class: "field" }, h("span", {}, "Your name"), nameField),
      form[0].column === "level" && saveJsonl,
      saveCsv,
      h("label", { class: "field" }, h("span", {}, "Load saved CSV"), file),
    ),
  );

  const buttonsOf = (/** @type {Question} */ question, /** @type {Item} */ item) => [
    form.length > 1 && h("h3", {}, question.words),
    h(
      "div",
      { class: "buttons", role: "group", "aria-label": question.words },
      question.choices.map(({ key, value, words }) => {
        const pressed = String(labels[item.id]?.[question.column] === value);
        return h("button", { type: "button", "aria-pressed": pressed, onclick: () => put(question, value) }, h("kbd", {}, key), ` ${words}`);
      }),
    ),
  ];

  const update = () => {
    const item = items[current];
    const done = items.filter((one) => whole(form, labels[one.id])).length;
    const every = Object.values(labels).filter((values) => whole(form, values)).length;
    const keys = form.length > 1 ? "the numbers answer the first open question" : form[0].choices.map((one) => `${one.key} ${one.value}`).join(", ");
    fill(
      panel,
      h(
        "p",
        { class: "soft", role: "status" },
        `Pair ${items.length ? current + 1 : 0} of ${items.length}, ${done} labelled`,
        every > done && `; ${every - done} more outside this selection`,
        `. Keys: ${keys}, 0 takes a label back, u undoes, j next, k previous.`,
      ),
      h("progress", { max: items.length || 1, value: done, "aria-label": "Labelled" }),
      form[0].column === "level" && h("p", { class: "soft" }, MEANING),
      agreements(everyone, who, items, form).map((text) => h("p", { class: "soft agreement" }, text)),
      said && h("p", { class: "soft", role: "alert" }, said),
      item && [
        item.question && [h("h3", {}, "Question"), h("p", { class: "text", dir: "auto" }, item.question)],
        h("h3", {}, "Statement"),
        item.before && h("p", { class: "text soft", dir: "auto" }, item.before),
        h("p", { class: "text statement", dir: "auto" }, item.statement),
        item.after && h("p", { class: "text soft", dir: "auto" }, item.after),
        h("h3", {}, "Source"),
        h("p", { class: "text", dir: "auto" }, item.source),
      ],
    );
    const isDone = items.length > 0 && done === items.length;
    comment.value = labels[item?.id]?.[COMMENT] ?? "";
    fill(
      choices,
      item && form.map((question) => buttonsOf(question, item)),
      isDone && h("p", { class: "done", role: "status" }, `Done: all ${done} are labelled. `, h("button", { type: "button", onclick: () => save("csv") }, "Save the CSV")),
    );
    enable();
    // The next item is read from its beginning, wherever the one before was left.
    if (shown !== item && element.getBoundingClientRect().top < 0) element.scrollIntoView();
    shown = item;
  };

  const enable = () => {
    for (const button of [saveJsonl, saveCsv]) button.toggleAttribute("disabled", Object.keys(labels).length === 0);
    undoLast.toggleAttribute("disabled", !before.some((change) => change.who === who));
  };

  /** Labels of a CSV that this page, or the same page elsewhere, saved: of each annotator that it names. */
  const load = async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    const [header = [], ...rows] = parsed(await chosen.text());
    const [id, by] = ["pair_id", "labelled_by"].map((heading) => header.indexOf(heading));
    let read = 0;
    for (const row of id < 0 ? [] : rows) {
      const item = known.get(row[id]) ?? known.get(row[id]?.replace(/^'/, ""));
      const values = answers(form, Object.fromEntries(header.map((heading, number) => [heading, heading === COMMENT ? row[number]?.replace(/^'/, "") : row[number]])));
      if (!item || !values) continue;
      own(everyone, (row[by] ?? "").replace(/^'/, ""))[item.id] = values;
      read++;
    }
    said = read
      ? `Loaded: ${read} labels of ${chosen.name}.`
      : `${chosen.name} holds no label of these items: give a CSV that this page saved (columns pair_id, ${columns.join(", ")}, labelled_by).`;
    file.value = "";
    keep(place, everyone, who);
    current = next();
    update();
  };

  /** Every label that is kept: pairs that a filter hides now are saved too, as long as their texts were seen. */
  const save = (/** @type {"jsonl" | "csv"} */ kind) => {
    const labelled = [...known.values()].filter((item) => whole(form, labels[item.id]));
    const to = fileName(`labels-${name}${who && `-${who}`}.${kind}`);
    if (kind === "jsonl") {
      download(to, "application/jsonl", jsonl(asCorpus(name, labelled, labels, who)));
      return;
    }
    const design = Object.keys(items[0]?.design ?? {});
    const remarks = [...everyone.values()].some((all) => Object.values(all).some((values) => values[COMMENT])) ? [COMMENT] : [];
    const row = (/** @type {Item} */ item, /** @type {Record<string, string>} */ values, /** @type {string} */ by) => [
      ...[item.id, ...columns.map((column) => values[column] ?? ""), by, ...remarks.map((name) => values[name] ?? ""), item.statement, item.source],
      ...Object.values(item.design ?? {}),
    ];
    const rows = [...everyone].flatMap(([by, all]) =>
      [...known.values()].filter((item) => item.id in all).map((item) => row(item, all[item.id], by)),
    );
    // Of items that were drawn, those without a label are written too: they say that some were not judged.
    const judged = new Set(rows.map(([id]) => id));
    for (const item of items) if (item.design && !judged.has(item.id)) rows.push(row(item, {}, ""));
    download(to, "text/csv", csv([["pair_id", ...columns, "labelled_by", ...remarks, "statement", "source", ...design], ...rows]));
  };

  current = next();
  return {
    element,
    update,
    /** @param {Item[]} others */
    exchange(others) {
      if (others.length === items.length && others.every((item, number) => item.id === items[number].id)) return;
      items = others;
      for (const item of others) known.set(item.id, item);
      current = next();
    },
    /** Whether the key was one of the panel's. @param {string} key */
    key(key) {
      const choice = open().choices.find((one) => one.key === key);
      if (choice) put(open(), choice.value);
      else if (key === "0") put(form[0], "");
      else if (key === "u") undo();
      else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
      else return false;
      return true;
    },
  };
}

/**
 * How far the one who labels agrees with each other annotator; told once all that both were shown is labelled, for who
 * judges is blind to what others said.
 * @param {Map<string, Labels>} everyone @param {string} who @param {Item[]} items @param {Question[]} form
 */
function agreements(everyone, who, items, form) {
  const labels = own(everyone, who);
  if (!items.length || items.some((item) => !whole(form, labels[item.id]))) return [];
  return [...everyone].flatMap(([other, theirs]) => {
    const both = items.filter((item) => whole(form, theirs[item.id]));
    if (other === who || !both.length) return [];
    const alike = both.filter((item) => form.every(({ column }) => labels[item.id][column] === theirs[item.id][column])).length;
    const share = Math.round((100 * alike) / both.length);
    return [`${who || "You"} and ${other || "somebody"} agree on ${alike} of ${both.length} (${share} %).`];
  });
}

/** The labels of an annotator. @param {Map<string, Labels>} everyone @param {string} who @returns {Labels} */
function own(everyone, who) {
  const found = everyone.get(who) ?? Object.create(null);
  everyone.set(who, found);
  return found;
}

/**
 * Labelled pairs in the corpus format: each source a document, so that `metaeval run -d jsonl` takes the file.
 * @param {string} name @param {Item[]} items @param {Labels} labels @param {string} who
 */
export function asCorpus(name, items, labels, who) {
  const documents = new Map(items.map((item) => [item.sourceId, { type: "document", id: item.sourceId, text: item.source }]));
  const statements = new Map(
    items.map(({ statementId, statement, group }) => [
      statementId,
      { type: "statement", id: statementId, text: statement, group },
    ]),
  );
  const citations = items.map((item) => ({
    ...{ type: "citation", id: item.id, statement: item.statementId, document: item.sourceId, level: labels[item.id].level },
    meta: { ...(who && { labelled_by: who }), ...(labels[item.id][COMMENT] && { comment: labels[item.id][COMMENT] }) },
  }));
  const head = { type: "corpus", format: "metaeval-corpus/1", name: `labels of ${name}` };
  return [head, ...documents.values(), ...statements.values(), ...citations];
}

/** @param {string} place @param {Question[]} form @returns {{everyone: Map<string, Labels>, last: string}} */
function kept(place, form) {
  /** @type {Map<string, Labels>} */
  const everyone = new Map();
  let last = "";
  const take = (/** @type {string} */ who, /** @type {object} */ found) => {
    // Before there were several questions, a label was a text.
    for (const [id, cells] of Object.entries(found)) {
      const values = answers(form, cells);
      if (values) own(everyone, who)[id] = values;
    }
  };
  try {
    const found = JSON.parse(localStorage.getItem(`${place}, by annotator`) ?? "null");
    // Before there were several annotators, labels stood by themselves.
    if (found === null) take("", JSON.parse(localStorage.getItem(place) ?? "{}"));
    else {
      for (const [who, labels] of Object.entries(found.labels)) take(who, /** @type {object} */ (labels));
      last = String(found.last);
    }
  } catch {
    // Where a page from disk may keep nothing, labels last as long as the page.
  }
  return { everyone, last };
}

/** @param {string} place @param {Map<string, Labels>} everyone @param {string} last */
function keep(place, everyone, last) {
  try {
    const labels = Object.fromEntries([...everyone].filter(([, own]) => Object.keys(own).length));
    localStorage.setItem(`${place}, by annotator`, JSON.stringify({ last, labels }));
  } catch {
    // As above.
  }
}
