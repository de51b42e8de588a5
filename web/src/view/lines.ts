// Lines of categories and of sets: as bars, as a table, and in a word.

import { h, long, type Child } from "../dom.ts";
import { amount, count, number, UNKNOWN } from "../format.ts";
import { value } from "../chart/frame.ts";
import { link, toAttempts } from "../link.ts";
import { table, type Column } from "../table.ts";
import type { Line, Spread } from "../types.ts";
import { fact } from "./place.ts";

/** So many categories have a bar. */
const BARS = 12;

const ENDS = ["done", "failed", "limit", "cancelled", "unknown"] as const;

/** How many ended how. */
export type Ends = Record<(typeof ENDS)[number], number>;

/** The sum of what is known; null where nothing is. */
export function sum(lines: Line[], of: (line: Line) => number | null): number | null {
  const known = lines.map(of).filter((one): one is number => one !== null);
  return known.length === 0 ? null : known.reduce((all, one) => all + one, 0);
}

/** How attempts ended, of a set or of all. */
export function ends(of: Ends, set: string | null): HTMLElement[] {
  return ENDS.filter((end) => of[end] > 0 || end === "failed" || end === "limit").map((end) => {
    const to = toAttempts(set === null ? { end } : { set, end });
    return fact(
      end === "limit" ? "ended by a limit" : end,
      of[end] === 0 ? "0" : h("a", { href: to }, count(of[end])),
    );
  });
}

/** CPU time and memory together. */
export function hours(of: Pick<Line, "core_hours" | "gib_hours">): HTMLElement[] {
  const { core_hours: cores, gib_hours: held } = of;
  return [
    fact(
      "core hours",
      cores === null ? UNKNOWN : number(cores),
      cores === null ? null : `${cores} h of CPU time`,
    ),
    fact(
      "GiB hours",
      held === null ? UNKNOWN : number(held),
      held === null ? null : `${held} GiB.h: peak memory × wall time`,
    ),
  ];
}

/** That there are more than are shown. */
export function cutNote(shown: number, of: number | undefined): Child {
  return of === undefined || of <= shown
    ? null
    : h("p", { class: "soft" }, `${count(shown)} of ${count(of)} are shown.`);
}

/** What was asked for, and what those used who did. */
interface Asked {
  requested: number;
  used: number;
  /** All did. */
  isAll: boolean;
}

/** What was asked for by those of a line who did. */
export function asked(line: Line): Asked | null {
  const [requested, used] = [line.gib_hours_requested, line.gib_hours_of_requested];
  if (requested === null || used === null) return null;
  // Sums of the same numbers may differ in their last digit.
  return { requested, used, isAll: used >= (line.gib_hours ?? 0) * (1 - 1e-9) };
}

/** Bars in a table: they are its own text. */
export function bars(
  caption: string,
  lines: Line[],
  of: (line: Line) => number | null,
  asked: ((line: Line) => Asked | null) | null,
  unit: string,
  to: (name: string) => string,
): HTMLElement {
  const known = lines
    .filter((line) => (of(line) ?? 0) > 0)
    .sort((a, b) => (of(b) ?? 0) - (of(a) ?? 0));
  const shown = known.slice(0, BARS);
  const rest = sum(known.slice(BARS), of);
  const most = Math.max(
    rest ?? 0,
    ...shown.map((line) => {
      const ofAll = asked?.(line);
      return Math.max(of(line) ?? 0, ofAll?.isAll ? ofAll.requested : 0);
    }),
  );
  const row = (name: Child, used: number, asked: Asked | null) => {
    const bar = h("div", { class: "meter", "aria-hidden": "true" });
    const add = (kind: string, amount: number) => {
      const part = h("span", { class: kind });
      part.style.width = `${(100 * amount) / most}%`;
      bar.append(part);
    };
    if (asked?.isAll) add("wanted", asked.requested);
    add("used", used);
    const told =
      asked === null
        ? `${used} ${unit}`
        : asked.isAll
          ? `${used} ${unit} used, ${asked.requested} ${unit} asked for`
          : `${used} ${unit} used; ${asked.requested} ${unit} asked for by attempts that used ${asked.used}`;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td", { class: "bar" }, bar),
      h(
        "td",
        { class: "number", title: told },
        number(used),
        asked === null ? null : h("span", { class: "soft" }, askedWords(asked)),
      ),
    );
  };
  const body = h(
    "tbody",
    {},
    shown.map((line) =>
      row(link(to(line.name), line.name, 40), of(line) ?? 0, asked?.(line) ?? null),
    ),
    rest === null || rest === 0
      ? null
      : row(h("span", { class: "soft" }, `${count(known.length - BARS)} more`), rest, null),
  );
  return h(
    "section",
    { class: "bars" },
    h("h2", {}, caption),
    known.length === 0
      ? h("p", { class: "empty" }, "Not known of any.")
      : h("table", { "aria-label": caption }, body),
    shown.some((line) => asked?.(line)?.isAll === false)
      ? h(
          "p",
          { class: "soft" },
          "In brackets: the share used of what was asked for, by the attempts that asked.",
        )
      : null,
  );
}

function askedWords({ requested, used, isAll }: Asked): string {
  return isAll || requested === 0
    ? ` of ${number(requested)}`
    : ` (${number((100 * used) / requested)} %)`;
}

/** A table of lines. */
export function lines(caption: string, all: Line[], to: (name: string) => string): HTMLElement {
  const spread = (
    name: string,
    unit: string,
    of: (line: Line) => Spread | null,
  ): Column<Line>[] => [
    {
      name: `${name} 95 %`,
      title: `95 of 100 attempts stay below`,
      isNumber: true,
      cell: (line) => value(of(line)?.p95, unit),
      key: (line) => of(line)?.p95 ?? null,
    },
    {
      name: "most",
      title: `the most ${name} of any attempt`,
      isNumber: true,
      cell: (line) => value(of(line)?.max, unit),
      key: (line) => of(line)?.max ?? null,
    },
  ];
  const columns: Column<Line>[] = [
    {
      name: "name",
      cell: (line) => [
        link(to(line.name), line.name),
        line.description ? h("div", { class: "soft small" }, long(line.description, 100)) : null,
      ],
      key: (line) => line.name,
    },
    {
      name: "attempts",
      isNumber: true,
      cell: (line) => count(line.attempts),
      key: (line) => line.attempts,
    },
    {
      name: "failed",
      title: "by themselves",
      isNumber: true,
      cell: (line) => bad(line.failed),
      key: (line) => line.failed,
    },
    {
      name: "limit",
      title: "ended by a limit",
      isNumber: true,
      cell: (line) => bad(line.limit),
      key: (line) => line.limit,
    },
    ...spread("memory", "bytes", (line) => line.memory),
    ...spread("wall", "ns", (line) => line.wall),
    {
      name: "core h",
      title: "hours of CPU time",
      isNumber: true,
      cell: (line) => value(line.core_hours, "h"),
      key: (line) => line.core_hours,
    },
    {
      name: "GiB.h",
      title: "peak memory × wall time",
      isNumber: true,
      cell: (line) => value(line.gib_hours, "h"),
      key: (line) => line.gib_hours,
    },
    {
      name: "last",
      isNumber: true,
      cell: (line) =>
        h(
          "span",
          {
            class: "value",
            title: line.last === null ? "not known" : new Date(line.last).toISOString(),
          },
          amount(line.last, "ms").slice(0, 16),
        ),
      key: (line) => line.last,
    },
  ];
  return table({
    caption,
    columns,
    rows: all,
    text: (line) =>
      `${line.name} ${line.description ?? ""} ${Object.values(line.labels ?? {}).join(" ")}`,
  });
}

/** A number of those that went wrong, which stands out when there are any. */
function bad(n: number): Child {
  return n === 0 ? h("span", { class: "soft" }, "0") : h("strong", { class: "bad" }, count(n));
}
