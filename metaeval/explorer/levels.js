// How a level of support looks: a colour, a shape and a word, never a colour alone.

import { h, svg } from "./dom.js";

/** Names of style variables by level; the last is for a level that is not known. */
export const LEVEL_COLOURS = ["none", "partial", "full", "unknown"];

/** Dashes of a level's line. */
export const LEVEL_DASHES = [[1.5, 2], [5, 2], []];

/** @typedef {import("./model.js").Job} Job */

/** @param {Job} job @param {number} level */
export function nameOf(job, level) {
  return job.levels[level] || "not known";
}

/** The levels that rows of a job can have, the highest first. @param {Job} job */
export function levelsOf(job) {
  return [2, 1, 0].filter((level) => job.levels[level]);
}

/** The shape as an icon: full a filled square, partial a triangle, none a ring. @param {number} level */
export function shape(level) {
  const paths = ["M8 3a5 5 0 1 0 .01 0z", "M8 2.5 14 13H2z", "M3 3h10v10H3z", "M3 8h10"];
  const number = level < 0 ? 3 : level;
  const hollow = number === 0 || number === 3;
  const drawn = svg("path", {
    d: paths[number],
    fill: hollow ? "none" : "currentColor",
    stroke: "currentColor",
    "stroke-width": 2,
  });
  return svg("svg", { viewBox: "0 0 16 16", class: `shape level-${LEVEL_COLOURS[number]}`, "aria-hidden": "true" }, drawn);
}

/** @param {Job} job @param {number} level */
export function badge(job, level) {
  return h("span", { class: "badge" }, shape(level), nameOf(job, level));
}

/** Draw a level's shape on a canvas. @param {CanvasRenderingContext2D} pen @param {number} level @param {number} x @param {number} y */
export function drawShape(pen, level, x, y) {
  pen.beginPath();
  if (level === 2) pen.rect(x - 3, y - 3, 6, 6);
  else if (level === 1) {
    pen.moveTo(x, y - 4);
    pen.lineTo(x + 3.7, y + 3);
    pen.lineTo(x - 3.7, y + 3);
    pen.closePath();
  } else pen.arc(x, y, 2.8, 0, 7);
  if (level === 2 || level === 1) pen.fill();
  else pen.stroke();
}
