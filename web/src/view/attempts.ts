// The table of attempts: from the server a part at a time, else from the rows of the file.

import { h, text, type Child } from "../dom.ts";
import { count, endWord } from "../format.ts";
import { value } from "../chart/frame.ts";
import { splitConditions } from "../condition.ts";
import { link, toAttempt, toAttempts, toCategory, toSet } from "../link.ts";
import { readAsked, type Asked } from "../rows.ts";
import { pager, scrolling, sortHead } from "../table.ts";
import type { Row } from "../types.ts";
import type { Place, View } from "./place.ts";

/** Rows of one page of the table. */
const PAGE = 100;

interface Column {
  by: keyof Row;
  name: string;
  isNumber: boolean;
  cell(row: Row): Child;
}

const used = (
  by: "memory" | "wall" | "cores" | "cpu" | "input_size" | "ended",
  name: string,
  unit: string,
): Column => {
  const asked =
    by === "memory" || by === "wall" || by === "cores" ? (`${by}_requested` as const) : null;
  return {
    by,
    name,
    isNumber: true,
    cell: (row) => {
      const request = asked === null ? null : row[asked];
      return [
        value(row[by], unit),
        request === null ? null : h("span", { class: "soft" }, " of ", value(request, unit)),
      ];
    },
  };
};

const COLUMNS: Column[] = [
  {
    by: "task",
    name: "task",
    isNumber: false,
    cell: (row) => link(toAttempt(row.id), row.task ?? row.id.slice(0, 12), 40),
  },
  {
    by: "category",
    name: "category",
    isNumber: false,
    cell: (row) => link(toCategory(row.category), row.category, 30),
  },
  {
    by: "set",
    name: "set",
    isNumber: false,
    cell: (row) => (row.set === null ? "–" : link(toSet(row.set), row.set, 30)),
  },
  {
    by: "end",
    name: "end",
    isNumber: false,
    cell: (row) => [
      end(row.end),
      row.cause === null ? null : h("div", { class: "soft small" }, text(row.cause, 60)),
    ],
  },
  used("memory", "memory", "bytes"),
  used("wall", "wall", "ns"),
  used("cores", "cores", "cores"),
  used("cpu", "CPU time", "ns"),
  used("input_size", "input", "bytes"),
  {
    by: "host",
    name: "host",
    isNumber: false,
    cell: (row) => (row.host === null ? "–" : text(row.host, 30)),
  },
  used("ended", "ended", "ms"),
];

/** How it ended, by sign and word. */
export function end(of: string): HTMLElement {
  const signs: Record<string, string> = { done: "○", failed: "✕", limit: "▲", cancelled: "□" };
  const known = Object.hasOwn(signs, of);
  return h(
    "span",
    { class: `end ${known && of !== "done" ? "bad" : ""}` },
    h("span", { "aria-hidden": "true" }, `${signs[of] ?? "?"} `),
    text(endWord(of), 30),
  );
}

/** The view. */
export async function attempts(place: Place, words: URLSearchParams): Promise<View> {
  const asked = readAsked(words);
  const offset = Math.max(0, Math.floor(Number(words.get("offset") ?? 0)) || 0);
  const form = filters(place, asked);
  const heading = [h("h1", {}, "Attempts"), partNote(place), form];
  let found;
  try {
    found = await place.source.attempts(asked, offset, PAGE, place.signal);
  } catch (error) {
    // The question is at fault only where it has conditions: there it is changed.
    if (place.signal.aborted || asked.where.length === 0) throw error;
    const told = error instanceof Error ? error.message : String(error);
    return {
      title: "Attempts",
      body: [heading, h("p", { class: "problem", role: "alert" }, text(told, 300))],
    };
  }
  const go = (change: Partial<Asked>, to = 0) =>
    (location.hash = toAttempts({ ...asked, ...change }, to));
  const head = COLUMNS.map((column) => {
    const isSorted = asked.sort === column.by;
    return sortHead(
      column.name,
      undefined,
      column.isNumber,
      !isSorted ? "" : asked.isDescending ? "descending" : "ascending",
      () => go({ sort: column.by, isDescending: isSorted ? !asked.isDescending : column.isNumber }),
    );
  });
  const body = found.rows.map((row) =>
    h(
      "tr",
      {},
      COLUMNS.map((column, n) =>
        h(
          n === 0 ? "th" : "td",
          { scope: n === 0 ? "row" : null, class: column.isNumber ? "number" : null },
          column.cell(row),
        ),
      ),
    ),
  );
  const none = h(
    "tr",
    {},
    h("td", { colspan: COLUMNS.length, class: "none" }, "No attempt is like that."),
  );
  const whole = h(
    "table",
    { class: "rows" },
    h("caption", { class: "unseen" }, "Attempts"),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, body.length === 0 ? none : body),
  );
  return {
    title: "Attempts",
    body: [
      heading,
      h(
        "p",
        { class: "soft", role: "status" },
        `${count(found.of)} ${found.of === 1 ? "matches" : "match"}.`,
      ),
      scrolling(whole, "Attempts"),
      pager("Attempts", found.of, found.offset, PAGE, (to) => go({}, to)),
    ],
  };
}

function partNote(place: Place): Child {
  const part = place.source.part;
  if (part === null || part.rows >= part.of) return null;
  return h(
    "p",
    { class: "note" },
    `${count(part.rows)} of ${count(part.of)} attempts are in this file; the table has no others. `,
    h("code", {}, "plimsoll serve"),
    " shows all.",
  );
}

/** The form over the table: what is asked for stands in the address, so that back and bookmarks work. */
function filters(place: Place, asked: Asked): HTMLElement {
  const field = (label: string, control: HTMLElement, isWide = false) =>
    h("label", { class: isWide ? "wider" : null }, h("span", {}, label), control);
  const input = (name: string, value: string, hint: string) =>
    h("input", {
      name,
      type: "search",
      value,
      placeholder: hint,
      autocomplete: "off",
      spellcheck: "false",
    });
  const known = (name: string, value: string, all: { name: string }[], id: string) => {
    const names = h(
      "datalist",
      { id },
      all
        .slice(0, 300)
        .map((one) => (one.name.length <= 200 ? h("option", { value: one.name }) : null)),
    );
    return [
      h("input", {
        name,
        type: "search",
        value,
        list: id,
        placeholder: "any",
        autocomplete: "off",
        spellcheck: "false",
      }),
      names,
    ] as const;
  };
  const [set, sets] = known("set", asked.set, place.overview.sets, "sets");
  const [category, categories] = known(
    "category",
    asked.category,
    place.overview.categories,
    "categories",
  );
  const ends = ["", "done", "failed", "limit", "cancelled", "unknown"];
  const chosen = h(
    "select",
    { name: "end" },
    ends.map((one) =>
      h("option", { value: one, selected: one === asked.end }, one === "" ? "any" : endWord(one)),
    ),
  );
  const form = h(
    "form",
    { class: "filters", role: "search", "aria-label": "Which attempts" },
    field("Text", input("text", asked.text, "task, category, host"), true),
    field("Category", category),
    categories,
    field("Set", set),
    sets,
    field("End", chosen),
    field("Used", input("where", asked.where.join(" "), "memory>4GiB wall<=2h"), true),
    h("button", { type: "submit" }, "Show"),
  );
  const send = () => {
    const data = new FormData(form);
    const word = (name: string) => String(data.get(name) ?? "").trim();
    // A name may begin with a blank; a text to look for does not.
    const name = (of: string) => String(data.get(of) ?? "");
    location.hash = toAttempts({
      ...asked,
      text: word("text"),
      category: name("category"),
      set: name("set"),
      end: word("end"),
      where: splitConditions(word("where")),
    });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  chosen.addEventListener("change", send);
  return form;
}
