// A table that sorts, filters and pages what the page holds already.

import { h, type Child } from "./dom.ts";
import { count } from "./format.ts";
import { order } from "./rows.ts";

/** A column: how it is called, what is in it, by what it sorts. */
export interface Column<T> {
  name: string;
  title?: string;
  isNumber?: boolean;
  cell(of: T): Child;
  key(of: T): string | number | null;
}

/** How a table begins. */
export interface Begin<T> {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  /** The text that the filter looks into; without it there is no filter. */
  text?: (of: T) => string;
  page?: number;
}

/** The head of a column that sorts when it is pressed. */
export function sortHead(
  name: string,
  title: string | undefined,
  isNumber: boolean,
  sorted: "" | "ascending" | "descending",
  press: () => void,
): HTMLElement {
  const arrow = sorted === "" ? "" : sorted === "ascending" ? " ↑" : " ↓";
  const button = h(
    "button",
    { type: "button", title, click: press },
    name,
    h("span", { "aria-hidden": "true" }, arrow),
  );
  return h(
    "th",
    { scope: "col", class: isNumber ? "number" : null, "aria-sort": sorted === "" ? null : sorted },
    button,
  );
}

/** The buttons that turn pages. */
export function pager(
  name: string,
  of: number,
  offset: number,
  size: number,
  go: (offset: number) => void,
): HTMLElement | null {
  if (of <= size) return null;
  const last = Math.min(of, offset + size);
  return h(
    "nav",
    { class: "pager", "aria-label": `Pages: ${name}` },
    h(
      "button",
      { type: "button", "data-go": "first", disabled: offset === 0, click: () => go(0) },
      "First",
    ),
    h(
      "button",
      {
        type: "button",
        "data-go": "before",
        disabled: offset === 0,
        click: () => go(Math.max(0, offset - size)),
      },
      "Before",
    ),
    h(
      "span",
      { "aria-live": "polite" },
      `${count(Math.min(offset + 1, of))} to ${count(last)} of ${count(of)}`,
    ),
    h(
      "button",
      { type: "button", "data-go": "next", disabled: last >= of, click: () => go(offset + size) },
      "Next",
    ),
  );
}

/** Where a table may be wider than the page, it scrolls by itself. */
export function scrolling(table: HTMLTableElement, name: string): HTMLElement {
  return h("div", { class: "wide", tabindex: 0, role: "group", "aria-label": name }, table);
}

/** The table. */
export function table<T>(of: Begin<T>): HTMLElement {
  const size = of.page ?? 25;
  let [sort, isDescending, offset, wanted]: [number, boolean, number, string] = [-1, false, 0, ""];
  const head = h("tr", {});
  const body = h("tbody", {});
  const foot = h("div", {});
  const whole = h(
    "table",
    {},
    h("caption", { class: "unseen" }, of.caption),
    h("thead", {}, head),
    body,
  );

  const draw = () => {
    const text = of.text;
    const rows =
      text === undefined || wanted === ""
        ? [...of.rows]
        : of.rows.filter((row) => text(row).toLowerCase().includes(wanted));
    const by = of.columns[sort];
    if (by !== undefined) rows.sort((a, b) => order(by.key(a), by.key(b), isDescending));
    if (offset >= rows.length) offset = 0;
    const pressed = document.activeElement?.closest("th");
    const at =
      pressed === null || pressed === undefined || !head.contains(pressed)
        ? -1
        : [...head.children].indexOf(pressed);
    head.replaceChildren(
      ...of.columns.map((column, n) =>
        sortHead(
          column.name,
          column.title,
          column.isNumber === true,
          n !== sort ? "" : isDescending ? "descending" : "ascending",
          () => {
            // Of numbers people want the largest first.
            isDescending = n === sort ? !isDescending : column.isNumber === true;
            [sort, offset] = [n, 0];
            draw();
          },
        ),
      ),
    );
    head.children[at]?.querySelector("button")?.focus();
    body.replaceChildren(
      ...rows.slice(offset, offset + size).map((row) =>
        h(
          "tr",
          {},
          of.columns.map((column, n) =>
            n === 0
              ? h(
                  "th",
                  { scope: "row", class: column.isNumber ? "number" : null },
                  column.cell(row),
                )
              : h("td", { class: column.isNumber ? "number" : null }, column.cell(row)),
          ),
        ),
      ),
    );
    if (rows.length === 0)
      body.append(
        h(
          "tr",
          {},
          h(
            "td",
            { colspan: of.columns.length, class: "none" },
            wanted === "" ? "Nothing here." : "Nothing with this text.",
          ),
        ),
      );
    const held = foot.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset["go"]
      : undefined;
    foot.replaceChildren(
      pager(of.caption, rows.length, offset, size, (to) => {
        offset = to;
        draw();
      }) ?? "",
    );
    if (held !== undefined) refocus(foot, held);
  };

  const filter =
    of.text === undefined || of.rows.length <= 5
      ? null
      : h(
          "label",
          { class: "filter" },
          h("span", {}, "Filter"),
          h("input", {
            type: "search",
            input: (event: Event) => {
              wanted = (event.target as HTMLInputElement).value.trim().toLowerCase();
              offset = 0;
              draw();
            },
          }),
        );
  draw();
  return h("div", { class: "table" }, filter, scrolling(whole, of.caption), foot);
}

/** Gives the focus back to the button that was pressed, or to its neighbour when it is at an end. */
export function refocus(within: Element, go: string): void {
  const again = within.querySelector<HTMLButtonElement>(`[data-go="${go}"]:not(:disabled)`);
  (again ?? within.querySelector<HTMLButtonElement>("[data-go]:not(:disabled)"))?.focus();
}

/** A small table of names and values. */
export function pairs(caption: string, rows: [Child, Child][]): HTMLElement {
  const body = h(
    "tbody",
    {},
    rows.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value))),
  );
  return scrolling(
    h("table", { class: "pairs" }, h("caption", { class: "unseen" }, caption), body),
    caption,
  );
}
