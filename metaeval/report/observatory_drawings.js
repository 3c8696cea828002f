"use strict";
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
