// Two metrics against each other: a point a pair, brushing, thresholds that can be moved, and what they mean.

import { colour, fill, h } from "./dom.js";
import { LEVEL_COLOURS, LEVEL_DASHES, drawShape, levelsOf, nameOf } from "./levels.js";
import { aucs, confusion } from "./measures.js";
import { printed, rowsOf, ticks } from "./model.js";
import { boxOf } from "./picking.js";

/** @typedef {import("./state.js").App} App */
/** @typedef {import("./model.js").Metric} Metric */

const EDGE = { left: 46, right: 34, top: 34, bottom: 40 };
const REACH = 7; // pixels from a threshold's line from which it is taken
const BINS = 40;

/** @param {App} app */
export function makeScatter(app) {
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "scatter", role: "img" }));
  const panel = h("div", { class: "scatter-panel" });
  const said = h("p", { class: "soft", "aria-live": "polite" });
  const sliders = h("div", { class: "sliders" });
  const tables = h("div", { class: "confusions" });
  panel.append(canvas, said, sliders, tables);
  /** @type {{kind: "box" | "a" | "b", x: number, y: number} | null} */
  let drag = null;
  /** @type {number[] | null} the box while it is drawn, in pixels */
  let drawn = null;

  const plot = () => {
    const { a, b } = app.axes();
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const across = width - EDGE.left - EDGE.right;
    const down = height - EDGE.top - EDGE.bottom;
    const x = (/** @type {number} */ v) => EDGE.left + ((v - a.range[0]) / (a.range[1] - a.range[0])) * across;
    const y = (/** @type {number} */ v) => EDGE.top + down - ((v - b.range[0]) / (b.range[1] - b.range[0])) * down;
    const fromX = (/** @type {number} */ p) => a.range[0] + ((p - EDGE.left) / across) * (a.range[1] - a.range[0]);
    const fromY = (/** @type {number} */ p) => b.range[0] + ((EDGE.top + down - p) / down) * (b.range[1] - b.range[0]);
    return { a, b, width, height, across, down, x, y, fromX, fromY };
  };

  const draw = () => {
    const at = plot();
    const { a, b, width, height } = at;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.scale(ratio, ratio);
    const [ink, soft, rule, accent] = ["ink", "soft", "rule", "accent"].map(colour);
    const colours = LEVEL_COLOURS.map(colour);
    pen.font = "12px system-ui, sans-serif";
    pen.strokeStyle = rule;
    pen.strokeRect(EDGE.left, EDGE.top, at.across, at.down);
    pen.fillStyle = soft;
    for (const [part, [value, text]] of ticks(a.range).entries()) {
      pen.textAlign = part === 0 ? "left" : part === 4 ? "right" : "center";
      pen.fillText(text, at.x(value), EDGE.top + at.down + 15);
    }
    pen.textAlign = "right";
    for (const [value, text] of ticks(b.range)) pen.fillText(text, EDGE.left - 5, at.y(value) + 4);
    pen.fillStyle = ink;
    pen.textAlign = "center";
    pen.fillText(`A: ${a.name}`, EDGE.left + at.across / 2, height - 6);
    pen.save();
    pen.translate(11, EDGE.top + at.down / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(`B: ${b.name}`, 0, 0);
    pen.restore();

    const box = boxOf(app);
    const level = app.job.rows.level;
    const shown = app.unboxed.filter((row) => a.scores[row] !== null && b.scores[row] !== null);
    // Rare levels are drawn last, so that the common one does not hide them.
    const inside = new Set(app.picked);
    for (const wanted of [-1, 0, 1, 2]) {
      pen.fillStyle = pen.strokeStyle = colours[wanted < 0 ? 3 : wanted];
      for (const row of shown) {
        if (level[row] !== wanted) continue;
        pen.globalAlpha = box && !inside.has(row) ? 0.12 : 0.6;
        drawShape(pen, wanted, at.x(Number(a.scores[row])), at.y(Number(b.scores[row])));
      }
    }
    pen.globalAlpha = 1;
    margins(pen, app, at, shown, colours);
    pen.setLineDash([5, 3]);
    pen.strokeStyle = ink;
    pen.lineWidth = 1.5;
    const [cutA, cutB] = [app.threshold(a), app.threshold(b)];
    if (cutA !== null) line(pen, at.x(cutA), EDGE.top - 26, at.x(cutA), EDGE.top + at.down);
    if (cutB !== null) line(pen, EDGE.left, at.y(cutB), EDGE.left + at.across + 26, at.y(cutB));
    pen.setLineDash([]);
    pen.strokeStyle = accent;
    if (drawn) pen.strokeRect(drawn[0], drawn[1], drawn[2] - drawn[0], drawn[3] - drawn[1]);
    else if (box) pen.strokeRect(at.x(box[0]), at.y(box[3]), at.x(box[1]) - at.x(box[0]), at.y(box[2]) - at.y(box[3]));
    const row = app.row();
    if (row >= 0 && a.scores[row] !== null && b.scores[row] !== null) {
      pen.lineWidth = 2.5;
      pen.strokeStyle = ink;
      pen.beginPath();
      pen.arc(at.x(Number(a.scores[row])), at.y(Number(b.scores[row])), 9, 0, 7);
      pen.stroke();
    }
    canvas.setAttribute("aria-label", `${shown.length} ${rowsOf(app.job)} by ${a.name} and ${b.name}; the list holds the same.`);
  };

  const point = (/** @type {PointerEvent} */ event) => {
    const frame = canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };

  /** The threshold's line below the pointer. @param {{x: number, y: number}} here @returns {"a" | "b" | null} */
  const grabbed = (here) => {
    const at = plot();
    const [cutA, cutB] = [app.threshold(at.a), app.threshold(at.b)];
    if (cutA !== null && Math.abs(here.x - at.x(cutA)) < REACH && here.y < EDGE.top) return "a";
    if (cutB !== null && Math.abs(here.y - at.y(cutB)) < REACH && here.x > EDGE.left + at.across) return "b";
    if (cutA !== null && Math.abs(here.x - at.x(cutA)) < REACH / 2) return "a";
    if (cutB !== null && Math.abs(here.y - at.y(cutB)) < REACH / 2) return "b";
    return null;
  };

  canvas.addEventListener("pointerdown", (event) => {
    const here = point(event);
    drag = { kind: grabbed(here) ?? "box", ...here };
    canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = point(event);
    if (!drag) {
      const line = grabbed(here);
      canvas.style.cursor = line === "a" ? "ew-resize" : line === "b" ? "ns-resize" : "crosshair";
      return;
    }
    const at = plot();
    const clip = (/** @type {number} */ v, /** @type {number[]} */ range) => Math.max(range[0], Math.min(range[1], v));
    if (drag.kind === "a") app.moveThreshold(at.a, clip(at.fromX(here.x), at.a.range));
    else if (drag.kind === "b") app.moveThreshold(at.b, clip(at.fromY(here.y), at.b.range));
    else {
      drawn = [Math.min(drag.x, here.x), Math.min(drag.y, here.y), Math.max(drag.x, here.x), Math.max(drag.y, here.y)];
      draw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const here = point(event);
    const at = plot();
    if (drag?.kind === "box") {
      const moved = drawn && Math.hypot(here.x - drag.x, here.y - drag.y) > 5;
      const box = drawn;
      drawn = null;
      if (moved && box) {
        const ends = [at.fromX(box[0]), at.fromX(box[2]), at.fromY(box[3]), at.fromY(box[1])];
        app.set({ box: ends.map((end) => Number(end.toPrecision(5))).join(",") });
      } else if (app.state.box) app.set({ box: "" });
      else nearest(here, at);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => {
    drag = drawn = null;
    draw();
  });

  /** Read the pair whose point is nearest. @param {{x: number, y: number}} here @param {ReturnType<typeof plot>} at */
  const nearest = (here, at) => {
    let best = -1;
    let distance = 12;
    for (const row of app.picked) {
      const [one, other] = [at.a.scores[row], at.b.scores[row]];
      if (one === null || other === null) continue;
      const away = Math.hypot(at.x(one) - here.x, at.y(other) - here.y);
      if (away < distance) [best, distance] = [row, away];
    }
    if (best >= 0) app.set({ pair: app.job.rows.id[best] });
  };

  const update = () => {
    const { a, b } = app.axes();
    draw();
    const bare = app.unboxed.filter((row) => a.scores[row] === null || b.scores[row] === null).length;
    fill(
      said,
      `${app.picked.length.toLocaleString("en")} of ${app.job.pairs.toLocaleString("en")} ${rowsOf(app.job)}. `,
      bare > 0 && `${bare.toLocaleString("en")} have no score of both and are not drawn. `,
      app.state.box
        ? h("button", { type: "button", onclick: () => app.set({ box: "" }) }, "Clear the box")
        : `Drag a box to select. Lines beyond the axes: ${levelsOf(app.job).map((level) => `${nameOf(app.job, level)} ${["dotted", "dashed", "solid"][level]}`).join(", ")}.`,
    );
    // What the human said has no threshold, and is not measured against itself.
    const measured = a === b || b.name === app.job.against ? [a] : [a, b];
    slidersOf(app, sliders, measured);
    fill(tables, measured.map((metric, number) => readings(app, "AB"[number], metric)));
  };
  new ResizeObserver(draw).observe(canvas);
  return { element: panel, update, draw };
}

/** @param {CanvasRenderingContext2D} pen @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

/**
 * Histograms beyond both axes, one line a level, each adding up to its level.
 * @param {CanvasRenderingContext2D} pen @param {App} app @param {any} at @param {number[]} rows @param {string[]} colours
 */
function margins(pen, app, at, rows, colours) {
  for (const level of [0, 1, 2]) {
    const own = rows.filter((row) => app.job.rows.level[row] === level);
    if (!own.length) continue;
    pen.strokeStyle = colours[level];
    pen.setLineDash(LEVEL_DASHES[level]);
    pen.lineWidth = 1.5;
    for (const [metric, upward] of /** @type {[Metric, boolean][]} */ ([[at.a, true], [at.b, false]])) {
      const bins = new Array(BINS).fill(0);
      const [low, high] = metric.range;
      for (const row of own) {
        const place = Math.floor(((Number(metric.scores[row]) - low) / (high - low)) * BINS);
        bins[Math.max(0, Math.min(BINS - 1, place))]++;
      }
      const most = Math.max(...bins);
      pen.beginPath();
      bins.forEach((count, bin) => {
        const along = (bin + 0.5) / BINS;
        const size = (count / most) * 24;
        if (upward) pen.lineTo(EDGE.left + along * at.across, EDGE.top - 4 - size);
        else pen.lineTo(EDGE.left + at.across + 4 + size, EDGE.top + at.down - along * at.down);
      });
      pen.stroke();
    }
  }
}

/** The thresholds as sliders, for the keyboard and for fingers. @param {App} app @param {HTMLElement} place @param {Metric[]} metrics */
function slidersOf(app, place, metrics) {
  const wanted = metrics.map((metric) => metric.index).join();
  if (place.dataset.of !== wanted) {
    place.dataset.of = wanted;
    fill(
      place,
      metrics.filter((metric, number) => metrics.indexOf(metric) === number).map((metric, number) => {
        const [low, high] = metric.range;
        const input = h("input", {
          ...{ type: "range", min: low, max: high, step: (high - low) / 500 },
          oninput: (/** @type {Event} */ event) => {
            app.moveThreshold(metric, Number(/** @type {HTMLInputElement} */ (event.target).value));
          },
        });
        return h("label", { class: "field" }, h("span", {}, `Threshold of ${"AB"[number]}`), input, h("output", {}));
      }),
    );
  }
  [...place.children].forEach((field, number) => {
    const metric = metrics[number];
    const threshold = app.threshold(metric);
    const input = /** @type {HTMLInputElement} */ (field.querySelector("input"));
    if (document.activeElement !== input) input.value = String(threshold ?? (metric.range[0] + metric.range[1]) / 2);
    const source = app.sourceOf(metric) && ` (${app.sourceOf(metric)})`;
    fill(/** @type {Element} */ (field.querySelector("output")), threshold === null ? "not set" : printed(threshold) + source);
  });
}

/** The confusion matrix at the threshold, and the slice's AUC. @param {App} app @param {string} letter @param {Metric} metric */
function readings(app, letter, metric) {
  const threshold = app.threshold(metric);
  const { level } = app.job.rows;
  const values = aucs(metric, app.job.levels, level, app.picked);
  const target = app.state.target;
  const [none, partial, full] = app.job.levels;
  const labelled = target === 2 ? full : `${full} or ${partial}`;
  const counts = threshold === null ? null : confusion(metric, threshold, level, target, app.picked);
  const cells = counts?.map((count) => h("td", {}, count.toLocaleString("en")));
  return h(
    "div",
    { class: "reading", "data-metric": metric.name },
    cells &&
      h(
        "table",
        { class: "confusion" },
        h("caption", {}, `${letter}: ${metric.name}`),
        h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, `label: ${labelled}`), h("th", { scope: "col" }, target === 2 ? `less` : none))),
        h(
          "tbody",
          {},
          h("tr", {}, h("th", { scope: "row" }, `from ${printed(threshold)}`), cells[0], cells[1]),
          h("tr", {}, h("th", { scope: "row" }, "below"), cells[2], cells[3]),
        ),
      ),
    h(
      "p",
      { class: "soft" },
      `${cells ? "" : `${letter}: ${metric.name}. `}AUC of this selection: `,
      values.map(([name, value]) => `${name} ${value === null ? "–" : (100 * value).toFixed(1)}`).join(", "),
    ),
  );
}
