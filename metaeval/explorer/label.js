// The page of citations that were drawn to be labelled: the panel of labels, and nothing else.

import { fill, h, isTyping } from "./dom.js";
import { makeLabelling } from "./labelling.js";
import { unpack } from "./unpack.js";

const page = () => /** @type {HTMLElement} */ (document.getElementById("page"));

unpack("items").then(
  (/** @type {{name: string, items: import("./labelling.js").Item[], form: import("./labelling.js").Question[], notes: string[]}} */ read) => {
    const { name, items, form, notes } = read;
    const panel = makeLabelling(name, items, form);
    const readBy = form[0].column === "level" ? ": the file is what metaeval estimate reads" : "";
    const said = `Labels stay in this browser until you save them as CSV${readBy}.`;
    fill(page(), h("header", { class: "top" }, h("h1", {}, name)), h("p", { class: "note" }, said), h("p", { class: "soft" }, notes.join("; ")), h("main", {}, panel.element));
    panel.update();
    document.addEventListener("keydown", (event) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (panel.key(event.key)) event.preventDefault();
    });
  },
  (/** @type {Error} */ error) => {
    fill(page(), h("p", { role: "alert" }, `This page cannot be unpacked: ${error.message}`));
  },
);
