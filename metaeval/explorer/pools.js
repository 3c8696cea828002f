// A pool, of a statement or of a group of ratings, in each metric's order, with the gains beside, and the NDCG that comes of it.

import { fill, h } from "./dom.js";
import { shape, nameOf } from "./levels.js";
import { ndcg } from "./measures.js";
import { printed, sourcesOf, statementOf } from "./model.js";

/** @typedef {import("./state.js").App} App */

const MOST = 50; // candidates of a pool that are shown

/** @param {App} app */
export function makePools(app) {
  const element = h("section", { class: "pools", "aria-label": "Retrieval pools" });
  const { job } = app;
  const { rows } = job;
  const k = rows.rating ? 5 : 10;
  const gains = rows.rating ?? rows.level;
  const ranked = gains.every((gain) => gain >= (rows.rating ? 0 : -1)); // a gain is not negative

  /** Rows of a known level by pool; only pools in which metrics can differ. */
  const pools = () => {
    /** @type {Map<number, number[]>} */
    const of = new Map();
    rows.pool.forEach((pool, row) => {
      if (ranked && gains[row] >= 0) of.set(pool, [...(of.get(pool) ?? []), row]);
    });
    return [...of].filter(([, own]) => new Set(own.map((row) => gains[row])).size > 1);
  };
  const whole = pools();

  /** What the candidates of a pool have in common. @param {number} row */
  const titleOf = (row) => (rows.rating ? sourcesOf(job, row)[0] || job.groups[rows.group[row]] : statementOf(job, row));

  /** @param {import("./model.js").Metric} metric @param {number[]} own */
  const value = (metric, own) => {
    const scores = own.map((row) => metric.scores[row]);
    if (scores.some((score) => score === null)) return null;
    return ndcg(/** @type {number[]} */ (scores), own.map((row) => gains[row]), k);
  };

  const update = () => {
    const metrics = job.metrics.filter((metric) => !metric.control);
    const { a, b } = app.axes();
    if (!whole.length) {
      fill(element, h("p", { class: "soft" }, `No ${rows.rating ? "group" : "statement"} here has candidates of two levels: there is nothing to rank.`));
      return;
    }
    // The gap is undefined where either metric has no score for a candidate: such pools come last.
    const sorted = whole.map(([pool, own]) => {
      const [ours, theirs] = [value(a, own), value(b, own)];
      return { pool, own, gap: ours === null || theirs === null ? null : ours - theirs };
    });
    const distance = (/** @type {{gap: number | null}} */ { gap }) => (gap === null ? -1 : Math.abs(gap));
    sorted.sort((one, other) => distance(other) - distance(one));
    const chosen = app.state.pair ? rows.pool[app.row()] : sorted[0].pool;
    const { own } = sorted.find(({ pool }) => pool === chosen) ?? sorted[0];
    const choices = sorted.map(({ own: some, gap }) =>
      h(
        "li",
        { "aria-current": String(some === own) },
        h(
          "button",
          { type: "button", class: "pool", onclick: () => app.set({ pair: rows.id[some[0]] }) },
          h("b", {}, gap === null ? "–" : (100 * gap).toFixed(0)),
          ` ${titleOf(some[0])} `,
          h("span", { class: "soft" }, `${some.length} candidates`),
        ),
      ),
    );
    const top = element.querySelector(".answer-list")?.scrollTop ?? 0;
    const list = h("ul", { class: "answer-list", "aria-label": rows.rating ? "Groups" : "Statements" }, choices);
    fill(
      element,
      h("p", { class: "soft" }, `${rows.rating ? "Groups" : "Statements"} by how far apart NDCG@${k} of A (${a.name}) and B (${b.name}) are, A minus B. Tied candidates share their gains.`),
      list,
      h("p", { class: "text statement", dir: "auto" }, titleOf(own[0])),
      h(
        "div",
        { class: "orders" },
        metrics.map((metric) => {
          const found = value(metric, own);
          const order = [...own].sort((x, y) => (metric.scores[y] ?? -Infinity) - (metric.scores[x] ?? -Infinity));
          return h(
            "section",
            { class: "order" },
            h("h3", {}, metric.name, h("small", {}, ` NDCG@${k} ${found === null ? "–" : (100 * found).toFixed(1)}`)),
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
                    h("span", { class: "hidden" }, nameOf(job, rows.level[row])),
                    ` gain ${gains[row]}, ${rows.rating ? job.systems[rows.system[row]] || rows.id[row] : `chunk ${rows.chunk[row] + 1}`}`,
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
    list.scrollTop = top;
  };
  return { element, update };
}
