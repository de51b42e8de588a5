// Conditions on what was used, as `plimsoll archive query --where` reads them.

import type { Row } from "./types.ts";

/** A condition on one column of the rows. */
export interface Condition {
  column: "memory" | "wall" | "cores" | "cpu" | "disk";
  holds(value: number | null): boolean;
}

const UNITS: Record<Condition["column"], string> = {
  memory: "bytes",
  wall: "ns",
  cores: "cores",
  cpu: "ns",
  disk: "bytes",
};

const TIMES: Record<string, number> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  min: 60e9,
  h: 3600e9,
  d: 86400e9,
};

/** Bytes with a unit: `4GiB` of 1024, `4GB` of 1000, `4G` and `4K` as GiB and KiB; or nothing. */
export function parseBytes(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(?:([kmgtpe])(i?b)?|b)?$/i.exec(text.trim());
  if (found === null) return null;
  const power = found[2] === undefined ? 0 : "kmgtpe".indexOf(found[2].toLowerCase()) + 1;
  const base = found[3]?.toLowerCase() === "b" ? 1000 : 1024;
  return Number(found[1]) * base ** power;
}

/** Nanoseconds: `2h`, `1h30m`, `90s`, a bare number of seconds; or nothing. */
export function parseDuration(text: string): number | null {
  const plain = text.trim();
  if (/^\d+(\.\d+)?$/.test(plain)) return Number(plain) * 1e9;
  if (!/^(\d+(\.\d+)?\s*(ns|us|µs|ms|min|[smhd])\s*)+$/.test(plain)) return null;
  let sum = 0;
  for (const [, value, unit] of plain.matchAll(/(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|min|[smhd])/g)) {
    sum += Number(value) * (TIMES[unit ?? ""] ?? Number.NaN);
  }
  return sum;
}

function parseAmount(text: string, unit: string): number | null {
  if (unit === "bytes") return parseBytes(text);
  if (unit === "ns") return parseDuration(text);
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

/** The condition, or what is wrong with it in words. */
export function parseCondition(text: string): Condition | string {
  const found = /^\s*([a-z_]+)\s*(<=|>=|<|>)\s*(.*?)\s*$/.exec(text);
  if (found === null) return `“${text}” has neither < nor >: memory>4GiB, wall<=2h`;
  const [, name = "", relation = "", amount = ""] = found;
  if (!Object.hasOwn(UNITS, name)) {
    return `The rows have no “${name}”: there is ${Object.keys(UNITS).join(", ")}`;
  }
  const column = name as Condition["column"];
  const bound = parseAmount(amount, UNITS[column]);
  if (bound === null) return `“${amount}” is no amount of ${name}`;
  const holds = (value: number | null): boolean => {
    if (value === null) return false;
    if (relation === ">") return value > bound;
    if (relation === ">=") return value >= bound;
    return relation === "<" ? value < bound : value <= bound;
  };
  return { column, holds };
}

/** Whether all conditions hold for this row. */
export function allHold(row: Row, conditions: Condition[]): boolean {
  return conditions.every((one) => one.holds(row[one.column]));
}

/** The conditions of a line: parted by blanks or commas. */
export function splitConditions(line: string): string[] {
  const tight = line.trim().replace(/\s*(<=|>=|<|>)\s*/g, "$1");
  return tight.split(/[\s,]+(?=[a-z_]+[<>])|,\s*$/).filter((part) => part !== "");
}
