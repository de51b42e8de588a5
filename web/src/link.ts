// Addresses within the page, and links to them.

import { h, text } from "./dom.ts";
import { askedForAll, type Asked } from "./rows.ts";

const word = encodeURIComponent;

/** The address of a category, in all sets or in one. */
export function toCategory(name: string, set: string | null = null): string {
  return `#/category/${word(name)}${set === null ? "" : `?set=${word(set)}`}`;
}

/** The address of a set. */
export function toSet(name: string): string {
  return `#/set/${word(name)}`;
}

/** The address of an attempt. */
export function toAttempt(id: string): string {
  return `#/attempt/${word(id)}`;
}

/** The address of a table of attempts. */
export function toAttempts(asked: Partial<Asked>, offset = 0): string {
  const all: Asked = { ...askedForAll(), ...asked };
  const words = new URLSearchParams();
  for (const name of ["set", "category", "end", "text"] as const)
    if (all[name] !== "") words.set(name, all[name]);
  for (const one of all.where) words.append("where", one);
  if (all.sort !== "") words.set("sort", all.sort);
  if (all.sort !== "" && all.isDescending) words.set("descending", "1");
  if (offset > 0) words.set("offset", String(offset));
  const line = words.toString();
  return `#/attempts${line === "" ? "" : `?${line}`}`;
}

/** A link with a text of the archive. */
export function link(to: string, name: string, most = 60): HTMLElement {
  return h("a", { href: to }, text(name, most));
}
