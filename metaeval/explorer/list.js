// The pairs picked, as a list of which only what is in sight is in the page.

import { fill, h } from "./dom.js";
import { nameOf, shape } from "./levels.js";
import { placeOf, printed, statementOf } from "./model.js";

/** @typedef {import("./state.js").App} App */

const HEIGHT = 58; // pixels of a row, as the style sheet has it
const AROUND = 6; // rows made above and below those in sight

/** @param {App} app */
export function makeList(app) {
  const rows = h("div", { class: "rows", role: "presentation" });
  const grid = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": "Pairs" }, rows);
  const empty = h("p", { class: "empty soft" }, "No pair is left: take back a filter.");
  /** @type {number[]} */
  let shown = [];
  let read = -2;

  const draw = () => {
    const first = Math.max(0, Math.floor(grid.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(shown.length, Math.ceil((grid.scrollTop + grid.clientHeight) / HEIGHT) + AROUND);
    const { a, b } = app.axes();
    const chosen = app.row();
    const made = [];
    for (let place = first; place < last; place++) {
      const row = shown[place];
      const score = (/** @type {import("./model.js").Metric} */ metric) =>
        metric.scores[row] === null ? metric.missing[row] || "no score" : printed(metric.scores[row]);
      const level = app.job.rows.level[row];
      const chunk = placeOf(app.job, row);
      made.push(
        h(
          "div",
          {
            ...{ class: "row", role: "option", id: `pair-${row}`, css: { top: `${place * HEIGHT}px` } },
            ...{ "aria-selected": String(row === chosen), "aria-setsize": shown.length, "aria-posinset": place + 1 },
            onclick: () => app.set({ pair: app.job.rows.id[row] }),
          },
          shape(level),
          h("span", { class: "hidden" }, `${nameOf(app.job, level)}: `),
          h("span", { class: "words" }, chunk && h("small", {}, `${chunk}: `), statementOf(app.job, row) || app.job.rows.id[row]),
          h("span", { class: "numbers" }, `A ${score(a)}`, h("br"), `B ${score(b)}`),
        ),
      );
    }
    fill(rows, made);
    if (chosen >= 0) grid.setAttribute("aria-activedescendant", `pair-${chosen}`);
  };

  const update = () => {
    const fresh = shown !== app.picked;
    shown = app.picked;
    rows.style.height = `${shown.length * HEIGHT}px`;
    empty.hidden = shown.length > 0;
    const place = shown.indexOf(app.row());
    if (app.row() !== read || fresh) {
      read = app.row();
      const top = place * HEIGHT;
      if (place >= 0 && (top < grid.scrollTop || top + HEIGHT > grid.scrollTop + grid.clientHeight)) {
        grid.scrollTop = top - grid.clientHeight / 3;
      } else if (place < 0 && fresh) grid.scrollTop = 0;
    }
    draw();
  };
  grid.addEventListener("scroll", () => requestAnimationFrame(draw));
  grid.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(grid.clientHeight / HEIGHT) - 1);
    const far = shown.length;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -far, End: far };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step === undefined) return;
    event.preventDefault();
    app.step(step);
  });
  new ResizeObserver(draw).observe(grid);
  return { element: h("div", { class: "list-panel" }, empty, grid), update };
}
