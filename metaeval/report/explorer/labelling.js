// Labelling, blind: a statement, its source, three keys. It knows texts and ids, and neither scores nor metrics nor gold.

import { download, csv, fileName, jsonl } from "./exporting.js";
import { fill, h } from "./dom.js";

/**
 * @typedef {object} Item what is labelled
 * @property {string} id
 * @property {string} statementId
 * @property {string} statement
 * @property {string} group what shares a group is not independent
 * @property {string} sourceId
 * @property {string} source
 * @property {Record<string, string | number>} [design] how the item was drawn: further columns of the CSV
 */

const LABELS = [
  { key: "3", level: "full", words: "full support" },
  { key: "2", level: "partial", words: "partial support" },
  { key: "1", level: "none", words: "no support" },
];

/**
 * The panel. Labels stay in this browser under `name`, where it lets a page keep anything; `items` may be exchanged.
 * @param {string} name of what is labelled @param {Item[]} items
 */
export function makeLabelling(name, items) {
  const place = `metaeval labels of ${name}`;
  const labels = kept(place);
  let current = Math.max(0, items.findIndex((item) => !(item.id in labels)));
  let who = "";
  const element = h("section", { class: "labelling", "aria-label": "Labelling" });

  const put = (/** @type {string} */ level) => {
    const item = items[current];
    if (!item) return;
    if (level) labels[item.id] = level;
    else delete labels[item.id];
    keep(place, labels);
    if (level && current + 1 < items.length) current++;
    update();
  };

  const move = (/** @type {number} */ step) => {
    current = Math.max(0, Math.min(items.length - 1, current + step));
    update();
  };

  const update = () => {
    const item = items[current];
    const done = items.filter((one) => one.id in labels).length;
    const whole = Object.keys(labels).length;
    fill(
      element,
      h(
        "p",
        { class: "soft", role: "status" },
        `Pair ${items.length ? current + 1 : 0} of ${items.length}, ${done} labelled`,
        whole > done && `; ${whole - done} more outside this selection`,
        ". Keys: 3 full, 2 partial, 1 none, 0 takes a label back, j on, k back.",
      ),
      h("progress", { max: items.length || 1, value: done, "aria-label": "Labelled" }),
      item && [
        h("h3", {}, "Statement"),
        h("p", { class: "text statement", dir: "auto" }, item.statement),
        h("h3", {}, "Source"),
        h("p", { class: "text", dir: "auto" }, item.source),
        h(
          "div",
          { class: "buttons", role: "group", "aria-label": "How far does the source support the statement?" },
          LABELS.map(({ key, level, words }) =>
            h(
              "button",
              { type: "button", "aria-pressed": String(labels[item.id] === level), onclick: () => put(level) },
              h("kbd", {}, key),
              ` ${words}`,
            ),
          ),
        ),
      ],
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => move(-1) }, "Back"),
        h("button", { type: "button", onclick: () => move(1) }, "On"),
        h(
          "label",
          { class: "field" },
          h("span", {}, "Your name"),
          h("input", { value: who, oninput: (/** @type {Event} */ e) => (who = /** @type {HTMLInputElement} */ (e.target).value) }),
        ),
        h("button", { type: "button", disabled: whole === 0, onclick: () => save("jsonl") }, "Save labels as JSONL"),
        h("button", { type: "button", disabled: whole === 0, onclick: () => save("csv") }, "Save labels as CSV"),
      ),
    );
  };

  /** Every label that is kept: pairs that a filter hides now are saved too, as long as their texts were seen. */
  const save = (/** @type {"jsonl" | "csv"} */ kind) => {
    const labelled = [...known.values()].filter((item) => item.id in labels);
    const file = fileName(`labels-${name}${who && `-${who}`}.${kind}`);
    if (kind === "jsonl") download(file, "application/jsonl", jsonl(asCorpus(name, labelled, labels, who)));
    else {
      // Of items that were drawn, those without a label are written too: they say that some were not judged.
      const written = items.some((item) => item.design) ? items : labelled;
      const rows = written.map((item) => [
        ...[item.id, labels[item.id] ?? "", item.id in labels ? who : "", item.statement, item.source],
        ...Object.values(item.design ?? {}),
      ]);
      const design = Object.keys(written[0]?.design ?? {});
      download(file, "text/csv", csv([["pair_id", "level", "labelled_by", "statement", "source", ...design], ...rows]));
    }
  };
  const known = new Map(items.map((item) => [item.id, item]));

  return {
    element,
    update,
    /** @param {Item[]} others */
    exchange(others) {
      if (others.length === items.length && others.every((item, number) => item.id === items[number].id)) return;
      items = others;
      for (const item of others) known.set(item.id, item);
      current = Math.max(0, items.findIndex((item) => !(item.id in labels)));
    },
    /** Whether the key was one of the panel's. @param {string} key */
    key(key) {
      const label = LABELS.find((one) => one.key === key);
      if (label) put(label.level);
      else if (key === "0") put("");
      else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
      else return false;
      return true;
    },
  };
}

/**
 * Labelled pairs in the corpus format: each source a document, so that `metaeval run -d jsonl` takes the file.
 * @param {string} name @param {Item[]} items @param {Record<string, string>} labels @param {string} who
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
    ...{ type: "citation", id: item.id, statement: item.statementId, document: item.sourceId, level: labels[item.id] },
    meta: who ? { labelled_by: who } : {},
  }));
  const head = { type: "corpus", format: "metaeval-corpus/1", name: `labels of ${name}` };
  return [head, ...documents.values(), ...statements.values(), ...citations];
}

/** @param {string} place @returns {Record<string, string>} */
function kept(place) {
  const labels = Object.create(null);
  try {
    const found = JSON.parse(localStorage.getItem(place) ?? "{}");
    for (const [id, level] of Object.entries(found)) {
      if (LABELS.some((label) => label.level === level)) labels[id] = level;
    }
  } catch {
    // Where a page from disk may keep nothing, labels last as long as the page.
  }
  return labels;
}

/** @param {string} place @param {Record<string, string>} labels */
function keep(place, labels) {
  try {
    localStorage.setItem(place, JSON.stringify(labels));
  } catch {
    // As above.
  }
}
