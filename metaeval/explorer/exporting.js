// Files that the reader takes away: JSONL, and CSV that no spreadsheet runs.

import { h, visible } from "./dom.js";

/** @param {string} name @param {string} type @param {string} text */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** @param {object[]} lines */
export function jsonl(lines) {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** @param {unknown[][]} rows */
export function csv(rows) {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** The rows of a CSV with commas, quotes and line breaks as `csv` writes them. @param {string} text */
export function parsed(text) {
  const rows = [[""]];
  for (const [, quoted, plain, mark] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    const row = rows[rows.length - 1];
    row[row.length - 1] = quoted === undefined ? plain : quoted.replace(/""/g, '"');
    if (!mark) break;
    if (mark === ",") row.push("");
    else rows.push([""]);
  }
  return rows.filter((row) => row.length > 1);
}

/** A text that a spreadsheet would take as a formula gets an apostrophe before it. @param {unknown} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = visible((/^[=+@\t\r\n＝＋－＠-]/.test(String(value)) ? "'" : "") + String(value));
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** A name for a file, of free text. @param {string} text */
export function fileName(text) {
  return text.replace(/[^\p{L}\p{N}.-]+/gu, "_").slice(0, 80) || "metaeval";
}
