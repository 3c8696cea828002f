// A citation pipeline's result: answers with their marks, sentences and citations coloured by each backend's verdict.

import { choice, fill, h } from "./dom.js";
import { printed } from "./model.js";

/** @typedef {import("./state.js").State} State */

/**
 * @typedef {object} Line a citation of a claim, or a claim without one
 * @property {string} claim
 * @property {number | null} sentence_start
 * @property {number | null} sentence_end
 * @property {number | null} citation
 * @property {number | null} start of the mark
 * @property {number | null} end
 * @property {boolean | null} joint whether the claim's passages together support it
 * @property {boolean | null} alone
 * @property {boolean | null} rest
 * @property {number | null} score
 * @property {number | null} recall
 * @property {number | null} precision
 * @property {string} state
 * @property {string} reason
 * @property {boolean} cut
 */

/**
 * @typedef {object} Answer
 * @property {string} id
 * @property {string} system
 * @property {string} question
 * @property {string} text
 * @property {number[]} passages
 * @property {number} first the number that the first passage goes by
 * @property {[number, number, number | null][]} marks start, end and passage of each mark
 * @property {string[]} replies what the judge answered, as text
 */

/**
 * @typedef {object} Cited
 * @property {number} number
 * @property {"answers"} kind
 * @property {string} title
 * @property {string[]} notes
 * @property {string} report the address of the job's report page; empty where there is none below this one
 * @property {[string, string][]} tables
 * @property {[string, string][]} passages title and text
 * @property {Answer[]} answers
 * @property {{name: string, fields: string[], lines: any[][][]}[]} backends lines by answer
 */

/** What a claim is, and how it looks. */
const CLAIM = {
  supported: ["✓", "supported"],
  not: ["✗", "not supported"],
  uncited: ["○", "without a citation"],
  open: ["?", "not judged"],
};

/** @param {Cited} job @param {State} state @param {(change: Partial<State>) => void} set */
export function makeAnswers(job, state, set) {
  const lines = job.backends.map(({ fields, lines: of }) =>
    of.map((own) => own.map((values) => /** @type {Line} */ (Object.fromEntries(fields.map((field, at) => [field, values[at]]))))),
  );
  const answers = job.answers.map((answer, number) => ({ ...answer, number, split: splitOf(lines, number) }));
  const systems = [...new Set(answers.map((answer) => answer.system))].sort();
  const reader = h("article", { class: "reader", tabindex: -1, "aria-label": "The answer that is read" });
  const list = h("ul", { class: "answer-list" });
  const said = h("p", { class: "soft", "aria-live": "polite" });
  const backend = choice("Verdicts of", job.backends.map(({ name }) => [name, name]), state.a || job.backends[0].name, (a) => set({ a }));
  const system = choice("System", [["", "all"], ...systems.map((name) => /** @type {[string, string]} */ ([name, name]))], state.system, (name) => set({ system: name, pair: "" }));
  const presets = /** @type {[string, string][]} */ ([["all", "All answers"], ["apart", "Backends disagree most"], ["worst", "Fewest claims supported"]]);
  const show = choice("Show", presets, state.preset, (preset) => set({ preset, pair: "" }));
  const search = /** @type {HTMLInputElement} */ (
    h("input", { type: "search", value: state.q, placeholder: "words of question or answer", oninput: () => set({ q: search.value }) })
  );
  const element = h(
    "section",
    { class: "answers", "aria-label": "Answers" },
    h("form", { class: "filters", onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, backend.element, system.element, show.element, h("label", { class: "field wide" }, h("span", {}, "Search"), search)),
    h("div", { class: "list-panel" }, said, list),
    reader,
  );
  /** @type {typeof answers} */
  let picked = [];
  const chosen = () => picked.find((answer) => answer.id === state.pair) ?? picked[0];

  const update = () => {
    const at = Math.max(0, job.backends.findIndex(({ name }) => name === state.a));
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    picked = answers.filter(
      (answer) =>
        (!state.system || answer.system === state.system) &&
        words.every((word) => `${answer.question}\n${answer.text}\n${answer.id}`.toLowerCase().includes(word)),
    );
    const share = (/** @type {number} */ number) => shareOf(lines[at][number]) ?? 2;
    if (state.preset === "apart") picked = [...picked].sort((one, other) => other.split - one.split);
    if (state.preset === "worst") picked = [...picked].sort((one, other) => share(one.number) - share(other.number));
    backend.select.value = job.backends[at].name;
    fill(said, `${picked.length.toLocaleString("en")} of ${answers.length.toLocaleString("en")} answers`);
    fill(list, picked.map((answer) => listed(answer, lines, job, answer === chosen(), set)));
    list.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
    const answer = chosen();
    fill(reader, answer ? read(job, answer, lines, at) : h("p", { class: "soft" }, "No answer is left: take back a filter."));
  };
  /** @param {number} step */
  const move = (step) => {
    const place = picked.indexOf(chosen()) + step;
    if (picked[place]) set({ pair: picked[place].id });
  };
  return { element, update, move };
}

/** The number of claims on which the backends' verdicts differ. @param {Line[][][]} lines @param {number} number */
function splitOf(lines, number) {
  const verdicts = lines.map((of) => claimsOf(of[number]).map(verdictOf));
  return verdicts[0].filter((_, claim) => new Set(verdicts.map((of) => of[claim])).size > 1).length;
}

/** The lines of each claim. @param {Line[]} lines @returns {Line[][]} */
function claimsOf(lines) {
  /** @type {Map<string, Line[]>} */
  const of = new Map();
  for (const line of lines) {
    if (!line.claim) continue;
    const key = `${line.sentence_start} ${line.claim}`;
    of.set(key, [...(of.get(key) ?? []), line]);
  }
  return [...of.values()];
}

/** @param {Line[]} claim @returns {keyof typeof CLAIM} */
function verdictOf(claim) {
  if (claim.every((line) => line.state === "uncited")) return "uncited";
  const { recall } = claim[0];
  return recall === 1 ? "supported" : recall === 0 ? "not" : "open";
}

/** The share of claims that are supported. @param {Line[]} lines */
function shareOf(lines) {
  const claims = claimsOf(lines).filter((claim) => claim[0].recall !== null);
  return claims.length ? claims.filter((claim) => claim[0].recall === 1).length / claims.length : null;
}

/** @param {Answer & {number: number}} answer @param {Line[][][]} lines @param {Cited} job @param {boolean} current @param {(change: Partial<State>) => void} set */
function listed(answer, lines, job, current, set) {
  const shares = job.backends.map(({ name }, at) => {
    const share = shareOf(lines[at][answer.number]);
    return `${name} ${share === null ? "–" : Math.round(100 * share)}`;
  });
  return h(
    "li",
    { "aria-current": String(current) },
    h("button", { type: "button", onclick: () => set({ pair: answer.id }) }, h("b", {}, answer.system), ` ${answer.question || answer.text.slice(0, 120)}`, h("small", {}, shares.join(", "))),
  );
}

/** @param {Cited} job @param {Answer & {number: number}} answer @param {Line[][][]} lines @param {number} at the backend whose verdicts colour the text */
function read(job, answer, lines, at) {
  const own = lines[at][answer.number];
  const claims = claimsOf(own);
  const all = job.backends.map((_, number) => claimsOf(lines[number][answer.number]));
  return [
    h("header", {}, h("b", {}, answer.system), h("code", {}, answer.id)),
    answer.question && [h("h3", {}, "Question"), h("p", { class: "text", dir: "auto" }, answer.question)],
    h("h3", {}, "Answer"),
    h("p", { class: "text", dir: "auto" }, coloured(answer, own, claims)),
    h(
      "div",
      { class: "legend soft" },
      h("span", { class: "claim-supported" }, "✓ supported"),
      h("span", { class: "claim-not" }, "✗ not supported"),
      h("span", { class: "claim-uncited" }, "○ without a citation"),
      own.some((line) => line.precision !== null) && [
        h("span", { class: "mark precise" }, "[1]"), " needed",
        h("span", { class: "mark imprecise" }, "[1]"), " not precise",
      ],
    ),
    h("h3", {}, "Claims"),
    h(
      "div",
      { class: "frame" },
      h(
        "table",
        { class: "claims" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "claim"), h("th", { scope: "col" }, "cites"), job.backends.map(({ name }) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          {},
          claims.map((claim, number) => {
            const verdicts = all.map((of) => (of[number] ? verdictOf(of[number]) : "open"));
            const cites = claim.map((line) => line.citation).filter((one) => one !== null);
            return h(
              "tr",
              { class: new Set(verdicts).size > 1 ? "differs" : "" },
              h("th", { scope: "row", dir: "auto" }, claim[0].claim),
              h("td", {}, cites.map((one) => `[${Number(one) - 1 + answer.first}]`).join(" ")),
              verdicts.map((verdict, which) => {
                const first = all[which][number]?.[0];
                return h("td", {}, h("span", { class: `claim-${verdict}` }, CLAIM[verdict].join(" ")), first && h("small", {}, first.score === null ? first.reason : [printed(first.score), first.reason && `, ${first.reason}`], claim.some((_, line) => all[which][number][line]?.cut) && ", cut"));
              }),
            );
          }),
        ),
      ),
    ),
    answer.replies.length > 0 && [
      h("h3", {}, "What the judge replied"),
      answer.replies.map((reply, number) => h("details", { open: answer.replies.length === 1 }, h("summary", {}, `reply ${number + 1} of ${answer.replies.length}`), h("pre", { class: "reply" }, reply))),
    ],
    h("h3", {}, "Passages"),
    answer.passages.map((passage, number) =>
      h(
        "details",
        { id: `passage-${number + 1}` },
        h("summary", {}, `[${number + answer.first}] `, job.passages[passage][0] || job.passages[passage][1].slice(0, 80)),
        h("p", { class: "text", dir: "auto" }, job.passages[passage][1]),
      ),
    ),
  ];
}

/** The answer's text: each sentence by the verdict on its claims, each mark by whether it is needed. @param {Answer} answer @param {Line[]} lines @param {Line[][]} claims */
function coloured(answer, lines, claims) {
  const letters = Array.from(answer.text);
  /** @type {{start: number, end: number, verdicts: (keyof typeof CLAIM)[]}[]} */
  const sentences = [];
  for (const claim of claims) {
    const { sentence_start: start, sentence_end: end } = claim[0];
    if (start === null || end === null) continue;
    const known = sentences.find((sentence) => sentence.start === start);
    if (known) known.verdicts.push(verdictOf(claim));
    else sentences.push({ start, end, verdicts: [verdictOf(claim)] });
  }
  /** @type {Pick<Line, "start" | "end" | "citation" | "precision" | "state">[]} */
  let marks = lines.filter((line) => line.start !== null);
  // A pipeline that judges facts or statements says nothing of a single mark: it leads to its passage all the same.
  if (!marks.length) marks = answer.marks.map(([start, end, citation]) => ({ start, end, citation, precision: null, state: "cited" }));
  const ends = new Set([0, letters.length]);
  for (const { start, end } of [...sentences, ...marks]) ends.add(Number(start)).add(Number(end));
  const order = [...ends].filter((end) => end <= letters.length).sort((one, other) => one - other);
  return order.slice(0, -1).map((start, place) => {
    const end = order[place + 1];
    const words = letters.slice(start, end).join("");
    const mark = marks.filter((line) => Number(line.start) <= start && end <= Number(line.end));
    if (mark.length) {
      const kind = mark.some((line) => line.precision === 0) ? "imprecise" : mark.some((line) => line.precision === 1) ? "precise" : "unjudged";
      const open = () => {
        const passage = /** @type {HTMLDetailsElement | null} */ (document.getElementById(`passage-${mark[0].citation}`));
        if (!passage) return;
        passage.open = true;
        passage.scrollIntoView({ block: "center" });
      };
      const title = `${mark[0].state}${mark[0].precision === null ? "" : mark[0].precision ? ", needed" : ", not precise"}`;
      return h("button", { type: "button", class: `mark ${kind}`, title, onclick: open }, words);
    }
    const sentence = sentences.find((one) => one.start <= start && end <= one.end);
    if (!sentence) return words;
    const kinds = new Set(sentence.verdicts);
    const kind = kinds.size === 1 ? sentence.verdicts[0] : "mixed";
    const count = sentence.verdicts.filter((one) => one === "supported").length;
    const title = kind === "mixed" ? `${count} of ${sentence.verdicts.length} claims supported` : CLAIM[kind][1];
    return h("span", { class: `claim-${kind}`, title }, words);
  });
}

/** @param {Cited} job */
export function makeTables(job) {
  const element = h(
    "section",
    { class: "overview", "aria-label": "Tables" },
    job.tables.map(([name, text], number) =>
      h("details", { open: number < 2 || name === "flips" }, h("summary", {}, h("h2", {}, name.replace(/-/g, " "))), h("div", { class: "frame" }, h("pre", {}, text))),
    ),
  );
  return { element, update() {} };
}
