// Making elements. Every text becomes a text node: what an archive says is never markup.

export type Child = Node | string | null | undefined | false | Child[];
type Listener = (event: never) => void;
type Attributes = Record<string, string | number | boolean | null | undefined | Listener>;

/** Control characters that could turn the direction of the text around them, or hide in it. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/g;

/** The most of a text that is shown in one place. */
export const SHOWN = 120;

function put<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (typeof child === "string") element.append(child);
  }
}

/** An element of HTML; a function among the attributes listens to the event of that name. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return put(document.createElement(name), attributes, children);
}

/** An element of SVG. */
export function s<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return put(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** The text with hidden characters made visible. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The text, cut to so many characters (never within one), with an ellipsis where it was cut. */
export function cut(text: string, most = SHOWN): string {
  // An emoji may be two units and a name a megabyte: only the beginning is looked at.
  const begin = Array.from(text.slice(0, most * 2 + 2));
  const isWhole = text.length <= most * 2 + 2 && begin.length <= most;
  return isWhole ? visible(text) : `${visible(begin.slice(0, most).join(""))}…`;
}

/** A text of the archive in a line, its whole in the title where it was cut. */
export function text(value: string, most = SHOWN): HTMLElement {
  const shown = cut(value, most);
  const isCut = shown.endsWith("…") && !value.endsWith("…");
  return h("bdi", { title: isCut ? cut(value, 2000) : null }, shown === "" ? "(empty)" : shown);
}

/** A text of the archive that may be long: its beginning, and all of it to be unfolded. */
export function long(value: string, most = 400): HTMLElement {
  if (value.length <= most) return h("bdi", {}, visible(value));
  const whole = h("pre", { class: "whole", tabindex: 0 });
  const fold = h("details", { class: "long" }, h("summary", {}, text(value, most)), whole);
  // A megabyte is laid out only for those who ask.
  fold.addEventListener("toggle", () => {
    if (fold.open && whole.textContent === "") whole.textContent = visible(value);
  });
  return fold;
}

/** Removes everything in an element and puts this there. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}
