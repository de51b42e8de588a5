// One attempt: everything that is known of it.

import { cut, h, long, text, type Child } from "../dom.ts";
import { amount, count, exact } from "../format.ts";
import { Refusal } from "../data.ts";
import { value } from "../chart/frame.ts";
import { link, toCategory, toSet } from "../link.ts";
import { pairs, table } from "../table.ts";
import type { Amount, AttemptAnswer, Row, Why } from "../types.ts";
import { paste } from "./advice.ts";
import { end } from "./attempts.ts";
import { overTime } from "./over-time.ts";
import { labels, part, type Place, type View } from "./place.ts";

const UNITS: Record<string, string> = { wall: "ns", cpu: "ns", cores: "cores", processes: "count" };
const INSTANTS = ["submitted", "began", "ended"];
/** What has a place of its own. */
const TOLD = new Set([
  "id",
  "requested",
  "used",
  "labels",
  "command",
  "cause",
  "end",
  "category",
  "set",
  ...INSTANTS,
]);

/** The view. */
export async function attempt(place: Place, id: string): Promise<View> {
  let answer: AttemptAnswer;
  try {
    answer = await place.source.attempt(id, place.signal);
  } catch (error) {
    const row = place.source.row(id);
    if (row === null || !(error instanceof Refusal)) throw error;
    return ofRow(row);
  }
  const of = answer.attempt;
  const name = word(of["task"]) ?? word(of["description"]) ?? id;
  return {
    title: `${cut(name, 60)} – attempt`,
    body: [
      ...head(
        name,
        String(of["end"] ?? "unknown"),
        word(of["cause"]),
        word(of["category"]),
        word(of["set"]),
      ),
      answer.why === null ? null : why(answer.why),
      command(of["command"]),
      part("Used and asked for", amounts(place, of)),
      answer.series === null ? null : overTime(answer.series, asked(of), place.signal),
      part("What is known", known(of), labels(of["labels"] as Record<string, string> | null)),
    ],
  };
}

/** What was asked for, by resource. */
function asked(of: Record<string, unknown>): Map<string, number> {
  const all = Object.entries((of["requested"] ?? {}) as Record<string, Amount>);
  return new Map(all.map(([name, one]) => [name, one.value]));
}

function word(of: unknown): string | null {
  return typeof of === "string" && of !== "" ? of : null;
}

function head(
  name: string,
  ended: string,
  cause: string | null,
  category: string | null,
  set: string | null,
): Child[] {
  return [
    h(
      "p",
      { class: "kind" },
      "Attempt",
      category === null ? null : [" of ", link(toCategory(category), category)],
      set === null ? null : [" in ", link(toSet(set), set)],
    ),
    h("h1", {}, h("bdi", { title: cut(name, 2000) }, cut(name, 160))),
    h("p", {}, end(ended), cause === null ? null : [": ", long(cause)]),
  ];
}

/** What a row alone tells, where the file has no more. */
function ofRow(row: Row): View {
  const units: [keyof Row, string][] = [
    ["memory", "bytes"],
    ["wall", "ns"],
    ["cores", "cores"],
    ["cpu", "ns"],
    ["disk", "bytes"],
    ["input_size", "bytes"],
  ];
  const request = (name: string) =>
    (row as unknown as Record<string, number | null>)[`${name}_requested`];
  return {
    title: `${cut(row.task ?? row.id, 60)} – attempt`,
    body: [
      ...head(row.task ?? row.id, row.end, row.cause, row.category, row.set),
      h(
        "p",
        { class: "note" },
        "This file has only the row of this attempt; ",
        h("code", {}, "plimsoll archive show"),
        " tells the rest.",
      ),
      pairs("What is known", [
        ["id", text(row.id)],
        ["host", row.host === null ? "–" : text(row.host)],
        ["ended", value(row.ended, "ms")],
        ...units.map(([name, unit]): [Child, Child] => [
          name.replace("_", " "),
          [
            value(row[name] as number | null, unit),
            request(name) == null ? null : [" of ", value(request(name), unit)],
          ],
        ]),
      ]),
    ],
  };
}

function why(of: Why): Child {
  const rows = of.evidence.map((one): [Child, Child] => [
    text(one.what),
    [text(one.value, 200), h("span", { class: "soft small" }, " ", text(one.source))],
  ]);
  return part(
    "Why",
    h("p", { class: "sentence" }, long(of.sentence, 600)),
    h("p", { class: "soft small" }, `How sure: ${cut(of.certainty, 40)}`),
    of.advice.length === 0
      ? null
      : h(
          "ul",
          {},
          of.advice.map((one) => h("li", {}, long(one, 400))),
        ),
    rows.length === 0 ? null : [h("h3", {}, "Evidence"), pairs("Evidence", rows)],
    paste(of.paste),
  );
}

function command(of: unknown): Child {
  const words = Array.isArray(of) ? of.map(String) : [];
  if (words.length === 0) return null;
  return part("Command", h("div", { class: "command" }, long(words.map(quote).join(" "), 600)));
}

/** A word as a shell would take it. */
export function quote(of: string): string {
  return /^[\w@%+=:,./-]+$/.test(of) ? of : `'${of.replaceAll("'", "'\\''")}'`;
}

function amounts(place: Place, of: Record<string, unknown>): Child {
  const used = (of["used"] ?? {}) as Record<string, Amount>;
  const requested = (of["requested"] ?? {}) as Record<string, Amount | number>;
  const names = [...new Set([...Object.keys(used), ...Object.keys(requested)])];
  if (names.length === 0) return h("p", { class: "empty" }, "Nothing is known of either.");
  const unit = (name: string) =>
    place.overview.resources.find((one) => one.name === name)?.unit ?? UNITS[name] ?? "bytes";
  const asked = (name: string) => {
    const one = requested[name];
    return one === undefined || one === null ? null : typeof one === "number" ? one : one.value;
  };
  return table({
    caption: "Used and asked for",
    rows: names,
    page: 50,
    columns: [
      {
        name: "resource",
        cell: (name) =>
          h(
            "span",
            { title: place.overview.resources.find((one) => one.name === name)?.doc },
            cut(name, 40),
          ),
        key: (name) => name,
      },
      {
        name: "used",
        isNumber: true,
        cell: (name) => value(used[name]?.value, unit(name)),
        key: (name) => used[name]?.value ?? null,
      },
      {
        name: "asked for",
        isNumber: true,
        cell: (name) => value(asked(name), unit(name)),
        key: asked,
      },
      {
        name: "of it",
        isNumber: true,
        cell: (name) => share(used[name]?.value, asked(name)),
        key: (name) => (used[name]?.value ?? 0) / (asked(name) ?? Infinity),
      },
      {
        name: "known",
        cell: (name) => certainty(used[name], unit(name)),
        key: (name) => used[name]?.known ?? null,
      },
    ],
  });
}

function certainty(of: Amount | undefined, unit: string): string {
  const known = cut(of?.known ?? "", 30).replace("_", " ");
  return of?.upper == null ? known : `${known}, at most ${amount(of.upper, unit)}`;
}

function share(used: number | null | undefined, asked: number | null): string {
  return used == null || asked === null || asked === 0 ? "–" : amount(used / asked, "share");
}

function known(of: Record<string, unknown>): HTMLElement {
  const rows: [Child, Child][] = [["id", text(String(of["id"] ?? ""))]];
  for (const name of INSTANTS) {
    const ns = of[name];
    if (typeof ns === "number") rows.push([name, value(ns / 1e6, "ms")]);
  }
  for (const [name, one] of Object.entries(of)) {
    if (
      TOLD.has(name) ||
      one === null ||
      one === undefined ||
      (Array.isArray(one) && one.length === 0)
    )
      continue;
    const shown: Child =
      name === "input_size" && typeof one === "number"
        ? value(one, "bytes")
        : typeof one === "number"
          ? h("span", { title: exact(one, "") }, count(one))
          : long(
              Array.isArray(one)
                ? one.map(String).join(", ")
                : typeof one === "string"
                  ? one
                  : JSON.stringify(one),
              300,
            );
    rows.push([cut(name.replaceAll("_", " "), 60), shown]);
  }
  return pairs("What is known", rows);
}
