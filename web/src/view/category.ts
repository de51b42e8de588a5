// One category: what its attempts used and asked for, and what the next one should.

import { cut, h, type Child } from "../dom.ts";
import { amount, count, endWord, exact, number } from "../format.ts";
import { figure, value } from "../chart/frame.ts";
import { bars, histogram } from "../chart/histogram.ts";
import { points, type Dot } from "../chart/points.ts";
import { link, toAttempt, toAttempts, toCategory, toSet } from "../link.ts";
import { quantile } from "../scale.ts";
import { table } from "../table.ts";
import type { Category, Statistics, Strip } from "../types.ts";
import { advice } from "./advice.ts";
import { part, type Place, type View } from "./place.ts";

const ORDER = ["memory", "wall", "cores"];
const NAMES: Record<string, string> = { memory: "Memory", wall: "Wall time", cores: "Cores" };

/** The view. */
export async function category(place: Place, name: string, set: string | null): Promise<View> {
  const of = await place.source.category(name, set, place.signal);
  const marks = h(
    "p",
    { class: "key soft small" },
    "○ done  ✕ failed  ▲ ended by a limit  □ other  ",
    h("span", { class: "asked" }, "▬"),
    " asked for; the line between is what was held and not used.",
  );
  const strips = ORDER.filter((one) => (of.strips[one]?.points.length ?? 0) > 0);
  return {
    title: `${cut(name, 60)} – category`,
    body: [
      h(
        "p",
        { class: "kind" },
        "Category",
        set === null ? null : [" in the set ", link(toSet(set), set)],
      ),
      h("h1", {}, h("bdi", { title: cut(name, 2000) }, cut(name, 160))),
      h(
        "p",
        {},
        h(
          "a",
          { href: toAttempts({ category: name, set: set ?? "" }) },
          `${count(of.attempts)} ${of.attempts === 1 ? "attempt" : "attempts"}`,
        ),
        set === null ? null : [" · ", h("a", { href: toCategory(name) }, "in all sets")],
      ),
      of.advice === null ? null : advice(of.advice),
      part(
        "Used against asked for",
        strips.length === 0
          ? h("p", { class: "empty" }, "Neither memory nor time is known of any.")
          : [
              marks,
              h(
                "div",
                { class: "columns" },
                strips.map((one) => strip(one, of.strips[one] as Strip, place.signal)),
              ),
            ],
      ),
      distributions(of, place.signal),
      inputs(of, place.signal),
      statistics(of.resource),
    ],
  };
}

function strip(name: string, of: Strip, signal: AbortSignal): HTMLElement {
  const dots: Dot[] = of.points.map((one, n) => ({
    id: one.id,
    x: n,
    y: one.used,
    requested: one.requested,
    end: one.end,
  }));
  const plot = points(dots, { unit: of.unit, xUnit: null, fit: null }, signal);
  const numbers = () =>
    table({
      caption: `${NAMES[name] ?? name} of each attempt`,
      rows: of.points,
      columns: [
        {
          name: "attempt",
          cell: (one) => link(toAttempt(one.id), one.id, 12),
          key: (one) => one.id,
        },
        { name: "end", cell: (one) => endWord(one.end), key: (one) => one.end },
        {
          name: "used",
          isNumber: true,
          cell: (one) => value(one.used, of.unit),
          key: (one) => one.used,
        },
        {
          name: "asked for",
          isNumber: true,
          cell: (one) => value(one.requested, of.unit),
          key: (one) => one.requested,
        },
        { name: "ended", isNumber: true, cell: (one) => value(one.at, "ms"), key: (one) => one.at },
      ],
    });
  const part =
    of.points.length < of.of ? `${count(of.points.length)} of ${count(of.of)} attempts, ` : "";
  return figure(
    `${NAMES[name] ?? name}`,
    stripSummary(name, of),
    plot,
    numbers,
    h("p", { class: "soft small" }, `${part}in the order of their ends`),
  );
}

/** What a strip shows, in a sentence. */
export function stripSummary(name: string, of: Strip): string {
  const used = of.points.map((one) => one.used).sort((a, b) => a - b);
  const asked = of.points
    .map((one) => one.requested)
    .filter((one): one is number => one !== null)
    .sort((a, b) => a - b);
  const bad = of.points.filter((one) => one.end === "failed" || one.end === "limit").length;
  const tell = (all: number[]) =>
    `${amount(all[0], of.unit)} to ${amount(all.at(-1), of.unit)}, half below ${amount(quantile(all, 0.5), of.unit)}`;
  const request = asked.length === 0 ? "Nothing was asked for." : `Asked for: ${tell(asked)}.`;
  return `${NAMES[name] ?? name} of ${used.length} attempts, used: ${tell(used)}. ${request} ${bad} failed or were ended by a limit.`;
}

function distributions(of: Category, signal: AbortSignal): Child {
  const known = ORDER.map((name) => [name, of.resource[name]] as const).filter(
    (pair): pair is [string, Statistics] => (pair[1]?.histogram.length ?? 0) > 0,
  );
  if (known.length === 0) return null;
  const one = ([name, of]: [string, Statistics]) => {
    const plot = histogram(of, signal);
    const { isLog, buckets, without } = bars(of);
    const summary = `How often which ${NAMES[name] ?? name}: ${of.count} attempts from ${amount(of.min, of.unit)} to ${amount(of.max, of.unit)}, mean ${amount(of.mean, of.unit)}, median ${amount(of.quantiles["0.5"], of.unit)}.`;
    const numbers = () =>
      table({
        caption: "Bars",
        rows: buckets,
        columns: [
          {
            name: "from",
            isNumber: true,
            cell: (bar) => value(bar.from, of.unit),
            key: (bar) => bar.from,
          },
          {
            name: "to",
            isNumber: true,
            cell: (bar) => value(bar.to, of.unit),
            key: (bar) => bar.to,
          },
          {
            name: "attempts",
            isNumber: true,
            cell: (bar) => count(bar.count),
            key: (bar) => bar.count,
          },
        ],
      });
    const how = isLog ? [h("p", { class: "soft small" }, logWords(without))] : [];
    return figure(`${NAMES[name] ?? name}, attempts`, summary, plot, numbers, ...how);
  };
  return part(
    "How often",
    h("p", { class: "soft small" }, "Of attempts that did what they were to do."),
    h("div", { class: "columns" }, known.map(one)),
  );
}

/** What is to be known of bars of the logarithm. */
export function logWords(without: number): string {
  const told =
    "The axis is of the logarithm: every bar ends at the same multiple of where it begins.";
  return without === 0 ? told : `${told} ${count(without)} of 0 or less have no bar.`;
}

function inputs(of: Category, signal: AbortSignal): Child {
  const all = of.input;
  if (all === null || all.points.length === 0) return null;
  const one = (name: "memory" | "wall", unit: string) => {
    const dots: Dot[] = all.points.flatMap((point) => {
      const y = point[name];
      return y === null
        ? []
        : [{ id: point.id, x: point.size, y, requested: null, end: point.end }];
    });
    if (dots.length === 0) return null;
    const fit = all.fit[name];
    const plot = points(dots, { unit, xUnit: "bytes", fit }, signal);
    const told = fit === null ? "No line was fitted." : `Line: ${fitted(fit, unit)}.`;
    const sizes = dots.map((dot) => dot.x).sort((a, b) => a - b);
    const summary = `${NAMES[name]} against the size of the input, ${dots.length} attempts, inputs from ${amount(sizes[0], "bytes")} to ${amount(sizes.at(-1), "bytes")}. ${told}`;
    const numbers = () =>
      table({
        caption: `${NAMES[name]} by input`,
        rows: dots,
        columns: [
          {
            name: "attempt",
            cell: (dot) => link(toAttempt(dot.id), dot.id, 12),
            key: (dot) => dot.id,
          },
          { name: "end", cell: (dot) => endWord(dot.end), key: (dot) => dot.end },
          {
            name: "input",
            isNumber: true,
            cell: (dot) => value(dot.x, "bytes"),
            key: (dot) => dot.x,
          },
          { name: name, isNumber: true, cell: (dot) => value(dot.y, unit), key: (dot) => dot.y },
        ],
      });
    return figure(
      `${NAMES[name]} by input`,
      summary,
      plot,
      numbers,
      h("p", { class: "soft small" }, told),
    );
  };
  return part(
    "Size of the input",
    h("div", { class: "columns" }, one("memory", "bytes"), one("wall", "ns")),
  );
}

function fitted(
  fit: { slope: number; intercept: number; correlation: number | null; count: number },
  unit: string,
): string {
  const per =
    unit === "ns"
      ? `${amount(fit.slope * 1024 ** 3, unit)} for each GiB`
      : `${number(fit.slope)} B for each byte`;
  const r = fit.correlation === null ? "" : `, correlation ${fit.correlation.toFixed(3)}`;
  return `${amount(fit.intercept, unit)} and ${per} of input, from ${count(fit.count)} attempts${r}`;
}

function statistics(of: Record<string, Statistics>): Child {
  const rows = Object.entries(of).filter(([, one]) => one.count > 0);
  if (rows.length === 0) return null;
  type Entry = [string, Statistics];
  const column = (
    name: string,
    get: (one: Statistics) => number | null | undefined,
    isBare = false,
  ) => ({
    name,
    isNumber: true,
    cell: ([, one]: Entry) =>
      isBare
        ? h("span", { class: "value", title: exact(get(one), "") }, amount(get(one), ""))
        : value(get(one), one.unit),
    key: ([, one]: Entry) => get(one) ?? null,
  });
  return part(
    "Statistics",
    table<Entry>({
      caption: "Statistics of what was used",
      rows,
      columns: [
        { name: "resource", cell: ([name]) => cut(name, 40), key: ([name]) => name },
        column("count", (one) => one.count, true),
        column("min", (one) => one.min),
        column("5 %", (one) => one.quantiles["0.05"]),
        column("median", (one) => one.quantiles["0.5"]),
        column("mean", (one) => one.mean),
        column("95 %", (one) => one.quantiles["0.95"]),
        column("99 %", (one) => one.quantiles["0.99"]),
        column("max", (one) => one.max),
        column("deviation", (one) => one.sd),
        column("skewness", (one) => one.skewness, true),
        column("excess kurtosis", (one) => one.excess_kurtosis, true),
        {
          name: "known",
          cell: ([, one]) =>
            h(
              "span",
              { class: "value" },
              Object.entries(one.known ?? {})
                .map(([how, n]) => `${cut(how, 20)} ${count(n)}`)
                .join(", "),
            ),
          key: () => null,
        },
      ],
    }),
  );
}
