// A statement's pool in each metric's order, with the gains beside, and the NDCG that comes of it.

import { fill, h } from "./dom.js";
import { shape, nameOf } from "./levels.js";
import { ndcg } from "./measures.js";
import { printed } from "./model.js";

/** @typedef {import("./state.js").App} App */

const K = 10;
const MOST = 50; // candidates of a pool that are shown

/** @param {App} app */
export function makePools(app) {
  const element = h("section", { class: "pools", "aria-label": "Retrieval pools" });
  const { rows } = app.job;

  /** Rows of a known level by statement; only pools in which metrics can differ. */
  const pools = () => {
    /** @type {Map<number, number[]>} */
    const of = new Map();
    rows.statement.forEach((statement, row) => {
      if (rows.level[row] >= 0) of.set(statement, [...(of.get(statement) ?? []), row]);
    });
    return [...of].filter(([, own]) => new Set(own.map((row) => rows.level[row])).size > 1);
  };
  const whole = pools();

  /** @param {import("./model.js").Metric} metric @param {number[]} own */
  const value = (metric, own) => {
    const scores = own.map((row) => metric.scores[row]);
    if (scores.some((score) => score === null)) return null;
    return ndcg(/** @type {number[]} */ (scores), own.map((row) => rows.level[row]), K);
  };

  const update = () => {
    const metrics = app.job.metrics.filter((metric) => !metric.control);
    const { a, b } = app.axes();
    if (!whole.length) {
      fill(element, h("p", { class: "soft" }, "No statement here has candidates of two levels: there is nothing to rank."));
      return;
    }
    // Where one of both has no score for a candidate there is no gap: such statements stand last.
    const sorted = whole.map(([statement, own]) => {
      const [ours, theirs] = [value(a, own), value(b, own)];
      return { statement, own, gap: ours === null || theirs === null ? null : ours - theirs };
    });
    const distance = (/** @type {{gap: number | null}} */ { gap }) => (gap === null ? -1 : Math.abs(gap));
    sorted.sort((one, other) => distance(other) - distance(one));
    const chosen = app.state.pair ? rows.statement[app.row()] : sorted[0].statement;
    const { own } = sorted.find(({ statement }) => statement === chosen) ?? sorted[0];
    const select = h(
      "select",
      {
        "aria-label": "Statement",
        onchange: (/** @type {Event} */ event) => app.set({ pair: /** @type {HTMLSelectElement} */ (event.target).value }),
      },
      sorted.map(({ statement, own: some, gap }) =>
        h(
          "option",
          { value: rows.id[some[0]], selected: some === own },
          `${(gap === null ? "–" : (100 * gap).toFixed(0)).padStart(4)}  ${app.job.statementTexts[statement].slice(0, 110)}`,
        ),
      ),
    );
    fill(
      element,
      h("p", { class: "soft" }, `Statements by how far apart NDCG@${K} of A (${a.name}) and B (${b.name}) are, A less B. Tied candidates share their gains.`),
      select,
      h("p", { class: "text statement", dir: "auto" }, app.job.statementTexts[rows.statement[own[0]]]),
      h(
        "div",
        { class: "orders" },
        metrics.map((metric) => {
          const found = value(metric, own);
          const order = [...own].sort((x, y) => (metric.scores[y] ?? -Infinity) - (metric.scores[x] ?? -Infinity));
          return h(
            "section",
            { class: "order" },
            h("h3", {}, metric.name, h("small", {}, ` NDCG@${K} ${found === null ? "–" : (100 * found).toFixed(1)}`)),
            h(
              "ol",
              {},
              order.slice(0, MOST).map((row) =>
                h(
                  "li",
                  {},
                  h(
                    "button",
                    { type: "button", class: "link", onclick: () => app.set({ view: "pairs", pair: rows.id[row] }) },
                    shape(rows.level[row]),
                    h("span", { class: "hidden" }, nameOf(rows.level[row])),
                    ` gain ${rows.level[row]}, chunk ${rows.chunk[row] + 1}`,
                    !rows.cited[row] && " (added)",
                  ),
                  h("span", { class: "soft" }, printed(metric.scores[row])),
                ),
              ),
            ),
            order.length > MOST && h("p", { class: "soft" }, `and ${order.length - MOST} more`),
          );
        }),
      ),
    );
  };
  return { element, update };
}
