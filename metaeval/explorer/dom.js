// Elements are made here alone: attributes and text nodes, never markup, so that no text of the data is read as HTML.

// Control characters, line and paragraph separators, direction overrides: they would show another text than is there.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** The text with a space for every character that is not to be seen. @param {unknown} text */
export function visible(text) {
  return String(text).replace(UNSEEN, " ");
}

/** @typedef {Node | string | number | boolean | null | undefined | readonly any[]} Child lists hold children */
/** @typedef {Record<string, any>} Properties */

/**
 * An element. Properties that begin with `on` are listeners, `css` holds style properties, true and false set and leave
 * out an attribute.
 * @param {string} tag @param {Properties} [properties] @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  furnish(element, properties, children);
  return element;
}

/**
 * An element of a drawing.
 * @param {string} tag @param {Properties} [properties] @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  furnish(element, properties, children);
  return element;
}

/** @param {Element} element @param {Properties} properties @param {Child[]} children */
function furnish(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") {
      for (const [key, one] of Object.entries(value)) /** @type {HTMLElement} */ (element).style.setProperty(key, one);
    } else if (name === "value" || name === "checked") Object.assign(element, { [name]: value });
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, visible(value));
  }
  add(element, children);
}

/** @param {Element} element @param {Child[]} children */
function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && typeof child !== "boolean") element.append(visible(child));
  }
}

/** Put children in the place of all that an element holds. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

/**
 * A labelled choice. Options are [value, text].
 * @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} chosen
 */
export function choice(label, options, value, chosen) {
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { "aria-label": label, onchange: () => chosen(select.value) },
      options.map(([key, text]) => h("option", { value: key }, text)),
    )
  );
  select.value = value;
  return { element: h("label", { class: "field" }, h("span", {}, label), select), select };
}

/** The colour that a style variable has now, as the canvas takes it. @param {string} name */
export function colour(name) {
  const probe = h("i", { css: { color: `var(--${name})`, display: "none" } });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Whether somebody is typing where an event comes from. @param {Event} event */
export function isTyping(event) {
  return event.target instanceof Element && event.target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea");
}
