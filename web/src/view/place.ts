// What a view is given: where answers come from, and until when it is shown.

import { cut, h, type Child } from "../dom.ts";
import type { Overview } from "../types.ts";
import type { Source } from "../data.ts";

/** The surroundings of a view. */
export interface Place {
  source: Source;
  overview: Overview;
  /** Aborts when another view takes the place of this one. */
  signal: AbortSignal;
}

/** A view that is ready: its title and what is in it. */
export interface View {
  title: string;
  body: Child[];
}

/** A figure of the row at the top. */
export function fact(name: string, value: Child, title: string | null = null): HTMLElement {
  return h("div", { class: "fact" }, h("dt", {}, name), h("dd", { title }, value));
}

/** A part of a view under its heading. */
export function part(name: string, ...children: Child[]): HTMLElement {
  return h("section", {}, h("h2", {}, name), children);
}

/** Labels, as given by whoever ran it. */
export function labels(of: Record<string, string> | null | undefined): Child {
  const all = Object.entries(of ?? {});
  if (all.length === 0) return null;
  return h(
    "ul",
    { class: "labels", "aria-label": "Labels" },
    all.slice(0, 50).map(([name, value]) => h("li", {}, cutPair(name, value))),
  );
}

function cutPair(name: string, value: string): Child {
  return [
    h("bdi", { class: "soft", title: cut(name, 2000) }, cut(name, 40)),
    " ",
    h("bdi", { title: cut(value, 2000) }, cut(value, 60)),
  ];
}
