// Choosing and sorting the rows that the file brought along, as the server does with all of them.

import { allHold, parseCondition, type Condition } from "./condition.ts";
import type { Row } from "./types.ts";

/** Which attempts are wanted, in which order. */
export interface Asked {
  set: string;
  category: string;
  end: string;
  text: string;
  where: string[];
  sort: string;
  isDescending: boolean;
}

/** The columns of a row that it can be sorted by. */
export const COLUMNS = [
  "id",
  "set",
  "category",
  "task",
  "host",
  "end",
  "ended",
  "memory",
  "memory_requested",
  "wall",
  "wall_requested",
  "cores",
  "cores_requested",
  "cpu",
  "disk",
  "input_size",
  "cause",
] as const;

/** What is asked for where nothing is. */
export function askedForAll(): Asked {
  return { set: "", category: "", end: "", text: "", where: [], sort: "", isDescending: false };
}

/** Reads it from the words behind the `?` of the address. */
export function readAsked(words: URLSearchParams): Asked {
  const sort = words.get("sort") ?? "";
  return {
    set: words.get("set") ?? "",
    category: words.get("category") ?? "",
    end: words.get("end") ?? "",
    text: words.get("text") ?? "",
    where: words.getAll("where"),
    sort: (COLUMNS as readonly string[]).includes(sort) ? sort : "",
    isDescending: words.get("descending") === "1",
  };
}

/** Orders two values; what is not known comes last in either direction. */
export function order(
  a: string | number | null | undefined,
  b: string | number | null | undefined,
  isDescending: boolean,
): number {
  const [isA, isB] = [a !== null && a !== undefined, b !== null && b !== undefined];
  if (!isA || !isB) return Number(isB) - Number(isA);
  const way = isDescending ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return way * (a - b);
  const [left, right] = [String(a), String(b)];
  return left === right ? 0 : left < right ? -way : way;
}

/** The rows for which all of it holds, sorted; without an order the last to end comes first.
 * Throws what is wrong with a condition. */
export function select(rows: Row[], asked: Asked): Row[] {
  const conditions: Condition[] = asked.where.map((text) => {
    const one = parseCondition(text);
    if (typeof one === "string") throw new Error(one);
    return one;
  });
  const text = asked.text.toLowerCase();
  const wanted = rows.filter(
    (row) =>
      (asked.set === "" || row.set === asked.set) &&
      (asked.category === "" || row.category === asked.category) &&
      (asked.end === "" || row.end === asked.end) &&
      allHold(row, conditions) &&
      (text === "" || hasText(row, text)),
  );
  const column = (asked.sort === "" ? "ended" : asked.sort) as keyof Row;
  const isDescending = asked.sort === "" ? true : asked.isDescending;
  return wanted.sort(
    (a, b) => order(a[column], b[column], isDescending) || order(a.id, b.id, false),
  );
}

function hasText(row: Row, text: string): boolean {
  return [row.category, row.task, row.host].some(
    (one) => one !== null && one !== undefined && one.toLowerCase().includes(text),
  );
}
