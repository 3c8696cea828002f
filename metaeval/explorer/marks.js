// A text with stretches of it marked: what the human marked as evidence, and what a metric looked at.

import { h } from "./dom.js";

/** @typedef {{start: number, end: number, weight: number, link: number}} Mark */

/**
 * Spans of a pair, from the block's numbers: [side, start, length, weight in %, link] each.
 * @param {number[]} numbers @param {number} side 0: the statement, 1: the source
 * @returns {Mark[]}
 */
export function marksOf(numbers, side) {
  const marks = [];
  for (let place = 0; place < numbers.length; place += 5) {
    const [of, start, length, weight, link] = numbers.slice(place, place + 5);
    if (of === side) marks.push({ start, end: start + length, weight: weight / 100, link });
  }
  return marks;
}

/**
 * The text in pieces. Places count characters, of which some take two places of a string.
 * @param {string} text @param {number[]} evidence start and end in turn @param {Mark[]} marks
 */
export function marked(text, evidence, marks) {
  const letters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const cut = (/** @type {number} */ start, /** @type {number} */ end) =>
    letters ? letters.slice(start, end).join("") : text.slice(start, end);
  const length = letters ? letters.length : text.length;
  const ends = new Set([0, length]);
  for (const end of evidence) ends.add(Math.min(end, length));
  for (const { start, end } of marks) ends.add(Math.min(start, length)).add(Math.min(end, length));
  const order = [...ends].sort((one, other) => one - other);
  const starting = [...marks].sort((one, other) => one.start - other.start);
  /** @type {Mark[]} */
  let open = [];
  let next = 0;
  const pieces = [];
  for (let place = 0; place + 1 < order.length; place++) {
    const [start, end] = [order[place], order[place + 1]];
    while (next < starting.length && starting[next].start <= start) open.push(starting[next++]);
    open = open.filter((mark) => mark.end > start);
    const words = cut(start, end);
    const seen = evidence.some((from, number) => number % 2 === 0 && from <= start && end <= evidence[number + 1]);
    if (!open.length && !seen) {
      pieces.push(words);
      continue;
    }
    const weight = open.reduce((most, mark) => (Math.abs(mark.weight) > Math.abs(most) ? mark.weight : most), 0);
    const kind = !open.length ? "" : weight > 0.05 ? "used" : weight < -0.05 ? "against" : "missed";
    const links = [...new Set(open.filter((mark) => mark.link >= 0).map((mark) => mark.link))];
    pieces.push(
      h(
        seen ? "u" : "span",
        {
          class: [seen && "evidence", kind].filter(Boolean).join(" "),
          css: kind ? { "--weight": `${Math.round(Math.abs(weight) ** 1.5 * 70)}%` } : {},
          "data-links": links.length > 0 && ` ${links.join(" ")} `,
          title: kind ? weight.toFixed(2) : null,
        },
        words,
      ),
    );
  }
  return pieces;
}

/** The words that the other text lacks are marked; if none, all between equal ends. @param {string} text @param {string} other */
export function changed(text, other) {
  const [mine, theirs] = [text, other].map((one) => one.match(/\s+|\S+/g) ?? []);
  let [start, end] = [0, 0];
  while (start < mine.length && mine[start] === theirs[start]) start++;
  while (end < Math.min(mine.length, theirs.length) - start && mine.at(-1 - end) === theirs.at(-1 - end)) end++;
  const known = new Set(theirs.slice(start, theirs.length - end));
  const between = mine.slice(start, mine.length - end);
  const lacking = between.some((word) => !known.has(word));
  const shown = between.map((word) => (lacking && known.has(word) ? word : h("mark", {}, word)));
  return [mine.slice(0, start).join(""), shown, mine.slice(mine.length - end).join("")];
}

/** Show what belongs together: the stretches that share a link with the one below the pointer. @param {HTMLElement} place */
export function linkOnHover(place) {
  const of = (/** @type {Event} */ event) =>
    event.target instanceof Element ? event.target.closest("[data-links]")?.getAttribute("data-links") : null;
  place.addEventListener("pointerover", (event) => {
    const links = (of(event) ?? "").split(" ").filter(Boolean);
    for (const one of place.querySelectorAll("[data-links]")) {
      const own = one.getAttribute("data-links") ?? "";
      one.classList.toggle("linked", links.some((link) => own.includes(` ${link} `)));
    }
  });
}
