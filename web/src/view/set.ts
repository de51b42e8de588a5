// One set: who ran when, how many at once, and how many cores they kept busy.

import { assign, COLOURS } from "../colour.ts";
import { cut, h, long, text, type Child } from "../dom.ts";
import { amount, count, endWord, number, zone } from "../format.ts";
import { figure, value } from "../chart/frame.ts";
import { gantt } from "../chart/gantt.ts";
import { timeline, type Timeline } from "../chart/timeline.ts";
import { link, toAttempt, toAttempts, toCategory } from "../link.ts";
import { asked, bars, cutNote, ends, hours, lines } from "./lines.ts";
import { table, type Column } from "../table.ts";
import type { SetRow, TaskSet } from "../types.ts";
import { fact, labels, part, type Place, type View } from "./place.ts";

/** When the first of them was told to run, and when the last one ended; in milliseconds. */
export function span(rows: SetRow[]): [number, number] {
  let [from, to] = [Infinity, -Infinity];
  for (const row of rows) {
    from = Math.min(from, row.submitted ?? row.began, row.began);
    to = Math.max(to, row.ended);
  }
  return to > from ? [from, to] : [from, from + 1];
}

/** The view. */
export async function set(place: Place, name: string): Promise<View> {
  const of = await place.source.set(name, place.signal);
  const most = (all: number[]) => all.reduce((a, b) => Math.max(a, b), 0);
  const [from, to] = span(of.rows);
  const busiest = of.cores.busy.length === 0 ? null : most(of.cores.busy);
  return {
    title: `${cut(name, 60)} – set`,
    body: [
      h("p", { class: "kind" }, "Set"),
      h("h1", {}, h("bdi", { title: cut(name, 2000) }, cut(name, 160))),
      of.description ? h("p", {}, long(of.description)) : null,
      labels(of.labels),
      h(
        "dl",
        { class: "facts" },
        fact("attempts", h("a", { href: toAttempts({ set: name }) }, count(of.attempts))),
        ends(of.total, of.name),
        hours(of.total),
        of.rows.length === 0
          ? null
          : [
              fact("began", amount(from, "ms")),
              fact("took", amount((to - from) * 1e6, "ns"), `${to - from} ms`),
            ],
        of.counts.running.length === 0
          ? null
          : fact("most at once", count(most(of.counts.running))),
        busiest === null ? null : fact("most cores busy", number(busiest)),
      ),
      of.rows.length === 0
        ? h(
            "p",
            { class: "empty" },
            "Of none of them is known when it ran, so there is nothing to draw over time.",
          )
        : overTime(of, [from, to], place),
      categories(of, place.source.isFile),
    ],
  };
}

function overTime(of: TaskSet, range: [number, number], place: Place): Child {
  const { signal } = place;
  const colours = assign(of.rows.map((row) => row.category));
  const bars = gantt(of.rows, colours, range, signal);
  const allTime: [number, number] = [range[0] / 1000, range[1] / 1000];
  const shared = { isTime: true, range: allTime, isStepped: true, group: "set", height: 150 };
  const seconds = (all: number[]) => all.map((ms) => ms / 1000);
  const whole = h("button", { type: "button", disabled: true }, "Whole time");
  const drawn: { show(from: number, to: number): void }[] = [];
  const zoomed = (from: number, to: number) => {
    whole.disabled = from * 1000 <= range[0] + 1 && to * 1000 >= range[1] - 1;
    bars.show(from * 1000, to * 1000);
    for (const one of drawn) one.show(from, to);
  };
  const curves: Timeline["curves"] = [
    { name: "running", values: of.counts.running, colour: "--c0" },
  ];
  if (of.counts.queued !== null)
    curves.push({ name: "queued", values: of.counts.queued, colour: "--c1", isDashed: true });
  const running =
    of.counts.at.length === 0
      ? null
      : timeline({ ...shared, at: seconds(of.counts.at), unit: "count", curves, zoomed }, signal);
  const cores =
    of.cores.at.length === 0
      ? null
      : timeline(
          {
            ...shared,
            height: 120,
            at: seconds(of.cores.at),
            unit: "cores",
            curves: [{ name: "cores busy", values: of.cores.busy, colour: "--c2" }],
            zoomed,
          },
          signal,
        );
  for (const one of [running, cores]) if (one !== null) drawn.push(one);
  whole.addEventListener("click", () => zoomed(...allTime));
  const left = of.rows_of - of.rows.length;
  const notes = [
    of.without_times === 0
      ? ""
      : `${count(of.without_times)} attempts without times are not drawn.`,
    left <= 0 ? "" : `${count(of.rows.length)} of ${count(of.rows_of)} attempts are drawn.`,
  ].filter((one) => one !== "");
  return part(
    "Over time",
    h(
      "p",
      { class: "soft small" },
      `Times of ${zone()}. Drag across a curve to look closer. ${notes.join(" ")}`,
    ),
    h("div", { class: "tools" }, whole, bars.fit),
    running === null
      ? null
      : figure("Running and queued", countsSummary(of), running.plot, () =>
          steps(of.counts.at, [
            ["running", of.counts.running],
            ["queued", of.counts.queued],
          ]),
        ),
    cores === null
      ? null
      : figure(
          "Cores busy",
          `Cores busy over time, at most ${number(Math.max(0, ...of.cores.busy))}.`,
          cores.plot,
          () => steps(of.cores.at, [["cores", of.cores.busy]]),
        ),
    chart(of, colours, bars.plot),
  );
}

/** The Gantt chart is scrolled and so is no single image; its caption and its table tell it. */
function chart(of: TaskSet, colours: Map<string, number>, plot: HTMLElement): HTMLElement {
  const numbers = h("div", {});
  const fold = h("details", { class: "numbers" }, h("summary", {}, "Numbers"), numbers);
  fold.addEventListener("toggle", () => {
    if (fold.open && numbers.childElementCount === 0) numbers.append(rows(of.rows));
  });
  return h(
    "figure",
    {},
    h("figcaption", {}, `Attempts, ${count(of.rows.length)} in the order of their beginnings`),
    legend(of.rows, colours),
    plot,
    fold,
  );
}

function legend(rows: SetRow[], colours: Map<string, number>): HTMLElement {
  const others = new Set(rows.map((row) => row.category).filter((name) => !colours.has(name))).size;
  const key = (at: number | null) => {
    const box = h("span", { class: "swatch", "aria-hidden": "true" });
    box.style.background = at === null ? "var(--rest)" : `var(--c${at})`;
    return box;
  };
  return h(
    "ul",
    { class: "legend", "aria-label": `Colours of the ${COLOURS} most frequent categories` },
    [...colours].map(([name, at]) => h("li", {}, key(at), link(toCategory(name), name, 30))),
    others === 0 ? null : h("li", {}, key(null), `${count(others)} others`),
    h(
      "li",
      { class: "soft" },
      h("span", { class: "swatch queued", "aria-hidden": "true" }),
      "waited",
    ),
    h(
      "li",
      { class: "soft" },
      h("span", { class: "swatch notch", "aria-hidden": "true" }),
      "did not end well",
    ),
  );
}

function rows(all: SetRow[]): HTMLElement {
  return table({
    caption: "Attempts by their beginnings",
    rows: all,
    text: (row) => `${row.task ?? ""} ${row.category} ${row.host ?? ""}`,
    columns: [
      {
        name: "task",
        cell: (row) => link(toAttempt(row.id), row.task ?? row.id, 40),
        key: (row) => row.task,
      },
      { name: "category", cell: (row) => text(row.category, 30), key: (row) => row.category },
      {
        name: "host",
        cell: (row) => (row.host === null ? "–" : text(row.host, 30)),
        key: (row) => row.host,
      },
      { name: "end", cell: (row) => endWord(row.end), key: (row) => row.end },
      {
        name: "waited",
        isNumber: true,
        cell: (row) =>
          value(row.submitted === null ? null : (row.began - row.submitted) * 1e6, "ns"),
        key: (row) => (row.submitted === null ? null : row.began - row.submitted),
      },
      {
        name: "began",
        isNumber: true,
        cell: (row) => value(row.began, "ms"),
        key: (row) => row.began,
      },
      {
        name: "took",
        isNumber: true,
        cell: (row) => value((row.ended - row.began) * 1e6, "ns"),
        key: (row) => row.ended - row.began,
      },
      {
        name: "after",
        cell: (row) => text(row.parents.slice(0, 20).join(", "), 60),
        key: () => null,
      },
    ],
  });
}

interface Step {
  ms: number;
  values: (number | null)[];
}

function steps(at: number[], columns: [string, number[] | null][]): HTMLElement {
  const known = columns.filter((pair): pair is [string, number[]] => pair[1] !== null);
  return table<Step>({
    caption: "Over time",
    rows: at.map((ms, n) => ({ ms, values: known.map(([, all]) => all[n] ?? null) })),
    columns: [
      { name: "from", isNumber: true, cell: (row) => value(row.ms, "ms"), key: (row) => row.ms },
      ...known.map(([name], n): Column<Step> => ({
        name,
        isNumber: true,
        cell: (row) => amount(row.values[n], "count"),
        key: (row) => row.values[n] ?? null,
      })),
    ],
  });
}

/** What the counts show, in a sentence. */
export function countsSummary(of: TaskSet): string {
  const most = (all: number[]) => count(all.reduce((a, b) => Math.max(a, b), 0));
  const queued =
    of.counts.queued === null
      ? "How many waited is not known."
      : `At most ${most(of.counts.queued)} waited.`;
  return `Attempts running over time, at most ${most(of.counts.running)}. ${queued}`;
}

/** What went into it, and which tasks they were. */
function categories(of: TaskSet, isFile: boolean): Child {
  // The file knows a category in all sets alone.
  const to = (name: string) => toCategory(name, isFile ? null : of.name);
  return [
    h(
      "div",
      { class: "columns" },
      bars("Core hours by category", of.categories, (line) => line.core_hours, null, "h", to),
      bars("GiB hours by category", of.categories, (line) => line.gib_hours, asked, "GiB.h", to),
    ),
    part(
      "Categories in this set",
      cutNote(of.categories.length, of.categories_of),
      lines("Categories in this set", of.categories, to),
    ),
  ];
}
