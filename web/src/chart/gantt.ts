// Who ran when: one line an attempt, of which only those in sight are drawn.

import { colourOf, css } from "../colour.ts";
import { cut, h } from "../dom.ts";
import { amount, endWord } from "../format.ts";
import { onColours } from "../theme.ts";
import type { SetRow } from "../types.ts";
import { LEFT, RIGHT } from "./timeline.ts";

/** The height of the part in sight. */
const VIEW = 460;
/** Lines with a name in them; lines of an overview. */
const READABLE = 16;

/** The picture, and how it is told which time to show. */
export interface Gantt {
  plot: HTMLElement;
  fit: HTMLButtonElement;
  show(from: number, to: number): void;
}

interface State {
  rows: SetRow[];
  colours: Map<string, number>;
  from: number;
  to: number;
  line: number;
  canvas: HTMLCanvasElement;
  scroll: HTMLElement;
}

/** Draws it; `from` and `to` are milliseconds. */
export function gantt(
  rows: SetRow[],
  colours: Map<string, number>,
  range: [number, number],
  signal: AbortSignal,
): Gantt {
  const canvas = h("canvas", {});
  const tall = h("div", { class: "tall" }, canvas);
  const scroll = h(
    "div",
    {
      class: "scroll",
      tabindex: 0,
      role: "group",
      "aria-label": "Attempts over time, scrolls up and down",
    },
    tall,
  );
  const told = h("div", { class: "told", "aria-hidden": "true" });
  const state: State = {
    rows,
    colours,
    from: range[0],
    to: range[1],
    line: READABLE,
    canvas,
    scroll,
  };
  // Of many, the shape of the whole tells more than the first of them.
  const small = Math.min(READABLE, VIEW / Math.max(1, rows.length));
  let isAll = rows.length * READABLE > 3 * VIEW;
  if (isAll) state.line = small;
  const high = () => Math.min(VIEW, Math.max(40, rows.length * state.line));
  const layout = () => {
    scroll.style.height = `${high()}px`;
    tall.style.height = `${Math.max(high(), Math.ceil(rows.length * state.line))}px`;
    paint(state, high());
  };
  const fit = h("button", { type: "button", "aria-pressed": String(isAll) }, "All in sight");
  fit.addEventListener("click", () => {
    isAll = !isAll;
    fit.setAttribute("aria-pressed", String(isAll));
    state.line = isAll ? small : READABLE;
    layout();
  });
  scroll.addEventListener("scroll", () => paint(state, high()), { passive: true });
  scroll.addEventListener("pointermove", (event) => {
    const row = under(state, event);
    told.textContent = row === null ? "" : tell(row);
    canvas.classList.toggle("at-point", row !== null);
  });
  scroll.addEventListener("pointerleave", () => (told.textContent = ""));
  scroll.addEventListener("click", (event) => {
    const row = under(state, event);
    if (row !== null) location.hash = `#/attempt/${encodeURIComponent(row.id)}`;
  });
  const observer = new ResizeObserver(layout);
  observer.observe(scroll);
  onColours(() => paint(state, high()), signal);
  signal.addEventListener("abort", () => observer.disconnect());
  const show = (from: number, to: number) => {
    [state.from, state.to] = [from, to];
    paint(state, high());
  };
  return { plot: h("div", { class: "gantt" }, scroll, told), fit, show };
}

function place(state: State, wide: number, at: number): number {
  const span = state.to - state.from || 1;
  return LEFT + ((at - state.from) / span) * (wide - LEFT - RIGHT);
}

function paint(state: State, high: number): void {
  const { canvas, scroll, rows, line } = state;
  const wide = scroll.clientWidth;
  const context = canvas.getContext("2d");
  if (context === null || wide < 40) return;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(wide * scale);
  canvas.height = Math.round(high * scale);
  canvas.style.width = `${wide}px`;
  canvas.style.height = `${high}px`;
  context.scale(scale, scale);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const palette = [...Array(8).keys()].map((at) => colourOf(at));
  const [rest, ink, wait, bad] = [css("--rest"), css("--ink"), css("--wait"), css("--bad")];
  const first = Math.max(0, Math.floor(scroll.scrollTop / line));
  const last = Math.min(rows.length, Math.ceil((scroll.scrollTop + high) / line) + 1);
  for (let n = first; n < last; n += 1) {
    const row = rows[n];
    if (row === undefined) continue;
    const y = n * line - scroll.scrollTop;
    const thick = Math.max(1, line - (line > 4 ? 3 : 0));
    const clip = (at: number) => Math.min(wide - RIGHT, Math.max(LEFT, place(state, wide, at)));
    const [left, right] = [clip(row.began), clip(row.ended)];
    if (row.submitted !== null && row.submitted < row.began) {
      const from = clip(row.submitted);
      context.fillStyle = wait;
      context.fillRect(from, y + thick / 2 - 0.5, left - from, 1);
    }
    const isSeen = row.ended >= state.from && row.began <= state.to;
    if (!isSeen) continue;
    const at = state.colours.get(row.category);
    context.fillStyle = (at === undefined ? rest : palette[at]) ?? rest;
    context.fillRect(left, y, Math.max(1.5, right - left), thick);
    if (row.end !== "done" && row.end !== "unknown") {
      // Not by colour alone: a notch at its end.
      context.fillStyle = bad;
      context.fillRect(Math.max(left, right - 1), y - 1, 3, thick + 2);
    }
    if (line >= 12) name(context, row, { left, right, y: y + thick / 2, wide, ink });
  }
}

/** The name goes beside the bar, where there is room: its colour then has not to carry text. */
function name(
  context: CanvasRenderingContext2D,
  row: SetRow,
  at: { left: number; right: number; y: number; wide: number; ink: string },
): void {
  const label = cut(row.task ?? row.category, 40);
  const width = context.measureText(label).width;
  context.fillStyle = at.ink;
  if (at.right + 6 + width < at.wide - RIGHT) context.fillText(label, at.right + 6, at.y);
  else if (at.left - 6 - width > 0) context.fillText(label, at.left - 6 - width, at.y);
}

function under(state: State, event: MouseEvent): SetRow | null {
  const box = state.scroll.getBoundingClientRect();
  const n = Math.floor((event.clientY - box.top + state.scroll.scrollTop) / state.line);
  return state.rows[n] ?? null;
}

function tell(row: SetRow): string {
  const parts = [cut(row.task ?? row.id, 40), cut(row.category, 30), endWord(row.end)];
  if (row.host !== null) parts.push(cut(row.host, 30));
  parts.push(amount((row.ended - row.began) * 1e6, "ns"), `from ${amount(row.began, "ms")}`);
  return parts.join(" · ");
}
