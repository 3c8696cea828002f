"use strict";
// Headings sort the rows below them, block by block: first the highest number, then the lowest, then as they stood.
for (const table of document.querySelectorAll("table")) {
  const headings = [...table.querySelectorAll("thead tr:last-child th")];
  const before = new Map([...table.tBodies].map((body) => [body, [...body.rows]]));
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const order = { none: "descending", descending: "ascending", ascending: "none" }[heading.ariaSort ?? "none"];
      for (const other of headings) other.ariaSort = "none";
      heading.ariaSort = order;
      for (const [body, rows] of before) {
        body.append(...(order === "none" ? rows : sorted(rows, column, order === "ascending" ? 1 : -1)));
      }
    });
  });
}

// Titles of blocks stay first; cells without a number stay last.
function sorted(rows, column, sign) {
  const titles = rows.filter((row) => row.cells.length === 1);
  const keyed = rows.filter((row) => row.cells.length > 1).map((row) => [key(row.cells[column]), row]);
  keyed.sort(([one], [other]) => {
    if (one === null || other === null) return (one === null) - (other === null);
    return sign * (typeof one === "number" ? one - other : other.localeCompare(one));
  });
  return [...titles, ...keyed.map(([, row]) => row)];
}

// A cell's number stands before its marks and its interval; a name is sorted as text, from a to z at first.
function key(cell) {
  if (cell.tagName === "TH") return cell.textContent;
  const shown = (cell.querySelector("strong, u") ?? cell).firstChild?.textContent ?? "";
  const number = parseFloat(shown.replaceAll(/[,<+]/g, ""));
  return Number.isNaN(number) ? null : number;
}
