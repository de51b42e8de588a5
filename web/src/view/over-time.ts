// What one attempt used over time: what has one unit and belongs together is one picture.

import { cut, type Child } from "../dom.ts";
import { amount } from "../format.ts";
import { figure, value } from "../chart/frame.ts";
import { timeline, type Curve } from "../chart/timeline.ts";
import { table } from "../table.ts";
import type { AttemptAnswer } from "../types.ts";
import { part } from "./place.ts";

type Series = NonNullable<AttemptAnswer["series"]>;
type Column = Series["columns"][number];

/** What a picture shows, the most wanted first; what is not named here has one of its own. */
const PICTURES: [title: string, columns: string[], asked?: string][] = [
  ["Memory", ["memory", "rss", "swap"], "memory"],
  ["Cores", ["cores"], "cores"],
  ["Processes and threads", ["processes", "threads"]],
  ["Read and written so far", ["read", "written", "disk_read", "disk_written"]],
  ["Disk", ["footprint"], "disk"],
];
/** Address space says little, and CPU time is what cores are over time. */
const LEFT_OUT = new Set(["virtual", "cpu"]);
/** A request that is so many times what was used would leave nothing to see of that. */
const FAR = 5;

/** The pictures. `asked` is what was asked for, by resource. */
export function overTime(of: Series, asked: Map<string, number>, signal: AbortSignal): Child {
  const told = of.columns.filter(
    (column) => !LEFT_OUT.has(column.name) && column.values.some((one) => one !== null),
  );
  const named = new Set(PICTURES.flatMap(([, columns]) => columns));
  const rest = told
    .filter((column) => !named.has(column.name))
    .map((column): (typeof PICTURES)[number] => [label(column), [column.name]]);
  const pictures = [...PICTURES, ...rest].map(([title, names, resource]) => {
    const columns = names.flatMap((name) => told.filter((column) => column.name === name));
    const request = resource === undefined ? undefined : asked.get(resource);
    return columns.length === 0 ? null : picture(of.at, title, columns, request, signal);
  });
  return part("Over time", pictures);
}

function label(column: Column): string {
  return cut(column.name.replaceAll("_", " "), 60);
}

function picture(
  at: number[],
  title: string,
  columns: Column[],
  request: number | undefined,
  signal: AbortSignal,
): Child {
  const unit = columns[0]?.unit ?? "";
  const most = (column: Column) =>
    column.values.reduce<number>((most, one) => Math.max(most, one ?? 0), 0);
  const highest = Math.max(...columns.map(most));
  const curves = columns.map((column, n): Curve => ({
    name: label(column),
    values: column.values,
    colour: `--c${n % 8}`,
  }));
  if (request !== undefined && request <= FAR * highest)
    curves.push({
      name: "asked for",
      values: at.map(() => request),
      colour: "--soft",
      isDashed: true,
    });
  const drawn = {
    at,
    isTime: false,
    isStepped: false,
    unit,
    curves,
    group: "attempt",
    height: 170,
  };
  const said = columns.map((column) => `${label(column)} at most ${amount(most(column), unit)}`);
  return figure(
    title,
    `${at.length} readings; each shows the most since the one before. ${said.join(", ")}.`,
    timeline(drawn, signal).plot,
    () => numbers(at, title, columns),
  );
}

function numbers(at: number[], title: string, columns: Column[]) {
  return table({
    caption: `${title} over time`,
    rows: at.map((_, k) => k),
    columns: [
      {
        name: "since the start",
        isNumber: true,
        cell: (k) => value((at[k] ?? 0) * 1e9, "ns"),
        key: (k) => at[k] ?? 0,
      },
      ...columns.map((column) => ({
        name: label(column),
        isNumber: true,
        cell: (k: number) => value(column.values[k] ?? null, column.unit),
        key: (k: number) => column.values[k] ?? null,
      })),
    ],
  });
}
