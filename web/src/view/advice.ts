// What to ask for: the first request, those after it, why, and what makes it doubtful.

import { cut, h, long, type Child } from "../dom.ts";
import { amount, count, exact } from "../format.ts";
import type { Advice, AdviceOf, Paste } from "../types.ts";
import { part } from "./place.ts";

const NAMES: [keyof Omit<Advice, "paste">, string][] = [
  ["memory", "Memory"],
  ["cores", "Cores"],
  ["wall", "Wall time"],
  ["disk", "Disk"],
];

/** The part of a category that says what the next attempt should ask for. */
export function advice(of: Advice): Child {
  const known = NAMES.map(([key, name]) => [name, of[key]] as const).filter(
    (pair): pair is [string, AdviceOf] => pair[1] !== undefined && pair[1].first !== null,
  );
  if (known.length === 0) return null;
  return part(
    "What to ask for",
    h(
      "div",
      { class: "cards" },
      known.map(([name, one]) => card(name, one)),
    ),
    paste(of.paste),
  );
}

function card(name: string, of: AdviceOf): HTMLElement {
  const after = of.ladder.filter((one) => of.first !== null && one > of.first);
  const told = (share: number) =>
    share === 0
      ? "0\u00a0%"
      : share < 0.001
        ? "less than 0.1\u00a0%"
        : `${(share * 100).toFixed(1)}\u00a0%`;
  return h(
    "article",
    { class: "card" },
    h("h3", {}, name),
    h("p", { class: "first", title: exact(of.first, of.unit) }, amount(of.first, of.unit)),
    after.length === 0
      ? null
      : h(
          "div",
          { class: "ladder" },
          h("span", { class: "soft" }, "then "),
          h(
            "ol",
            { "aria-label": "After a failure" },
            after
              .slice(0, 6)
              .map((one) => h("li", { title: exact(one, of.unit) }, amount(one, of.unit))),
          ),
        ),
    h("p", { class: "small" }, long(of.why, 200)),
    h(
      "p",
      { class: "soft small" },
      `${count(of.runs)} ${of.runs === 1 ? "attempt" : "attempts"}`,
      of.max === null
        ? null
        : ` · half need ${amount(of.p50, of.unit)}, 95 of 100 ${amount(of.p95, of.unit)}, the most ${amount(of.max, of.unit)}`,
      of.retries_expected === null ? null : ` · ${told(of.retries_expected)} fail first`,
    ),
    of.warnings.length === 0
      ? null
      : h(
          "ul",
          { class: "warnings", "aria-label": "Doubts" },
          of.warnings.map((one) => h("li", {}, long(one, 200))),
        ),
  );
}

/** Lines to paste into a script, with where they go. */
export function paste(of: Paste | Paste[] | null | undefined): Child {
  const all = of === null || of === undefined ? [] : Array.isArray(of) ? of : [of];
  return all.map((one) => {
    const lines = h("pre", { tabindex: 0 }, one.lines.map((line) => cut(line, 1000)).join("\n"));
    return h(
      "div",
      { class: "paste" },
      h("p", { class: "soft small" }, `${cut(one.target, 40)}, ${cut(one.place, 80)}`),
      lines,
    );
  });
}
