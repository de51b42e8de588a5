// Points: what was used against what was asked for, or against the size of the input.

import { cut, s } from "../dom.ts";
import { amount, endWord } from "../format.ts";
import { fitting, linear, type Scale } from "../scale.ts";
import type { Fit } from "../types.ts";
import { fluid, frame } from "./frame.ts";

/** One attempt in the picture. */
export interface Dot {
  id: string;
  x: number;
  y: number;
  requested: number | null;
  end: string;
}

/** What is drawn besides the points, and in which units. */
export interface Options {
  unit: string;
  /** The unit of the abscissa; none where it is only an order. */
  xUnit: string | null;
  fit: Fit | null;
}

const HEIGHT = 240;
const ROOM = { left: 76, right: 26, top: 10, bottom: 26 };

/** Marks by end: a ring that is done, a cross that failed, a triangle that a limit ended. */
function shape(end: string, x: number, y: number): string {
  switch (end) {
    case "done":
      return `M${x - 2.5},${y}a2.5,2.5 0 1,0 5,0a2.5,2.5 0 1,0 -5,0`;
    case "limit":
      return `M${x},${y - 5}l4.5,8h-9z`;
    case "failed":
      return `M${x - 4},${y - 4}l8,8m0,-8l-8,8`;
    default:
      return `M${x - 3.5},${y - 3.5}h7v7h-7z`;
  }
}

/** The picture; a click on a point leads to its attempt. */
export function points(dots: Dot[], options: Options, signal: AbortSignal): HTMLElement {
  const all = dots.flatMap((dot) => (dot.requested === null ? [dot.y] : [dot.y, dot.requested]));
  const plot = fluid((width) => draw(width, dots, all, options), signal);
  plot.classList.add("points");
  return plot;
}

function draw(width: number, dots: Dot[], all: number[], options: Options): Node {
  const y = { scale: fitting(all, options.unit), unit: options.unit };
  const marks = Math.max(2, Math.floor(width / 120));
  const scale = abscissa(dots, options, marks);
  const x = options.xUnit === null ? null : { scale, unit: options.xUnit };
  // An order has no marks below its axis.
  const room = x === null ? { ...ROOM, bottom: 8 } : ROOM;
  const { svg, py } = frame(width, HEIGHT, room, x, y);
  const px = (value: number) =>
    ROOM.left + 6 + scale.at(value) * (width - ROOM.left - ROOM.right - 12);
  svg.setAttribute("class", dots.length > 300 ? "dense" : "");
  const places = dots.map((dot) => ({ dot, x: round(px(dot.x)), y: round(py(dot.y)) }));
  const [held, asked] = [[] as string[], [] as string[]];
  for (const { dot, x: at } of places) {
    if (dot.requested === null) continue;
    const to = round(py(dot.requested));
    held.push(`M${at},${round(py(dot.y))}V${to}`);
    asked.push(`M${at - 3},${to}h6`);
  }
  svg.append(
    s("path", { class: "held", d: held.join("") }),
    s("path", { class: "asked", d: asked.join("") }),
  );
  for (const end of ["done", "unknown", "cancelled", "failed", "limit"]) {
    const d = places.filter((one) => one.dot.end === end).map((one) => shape(end, one.x, one.y));
    if (d.length > 0) svg.append(s("path", { class: `dot ${end}`, d: d.join("") }));
  }
  if (options.fit !== null) svg.append(line(options.fit, scale, y.scale, px, py));
  point(svg, places, options, width);
  return svg;
}

function abscissa(dots: Dot[], options: Options, marks: number): Scale {
  if (options.xUnit !== null)
    return fitting(
      dots.map((dot) => dot.x),
      options.xUnit,
      marks,
    );
  return { ...linear(0, 1, "", 1), at: (v) => (dots.length < 2 ? 0.5 : v / (dots.length - 1)) };
}

/** The fitted line, between the smallest and the largest input; bent where an axis is logarithmic. */
function line(
  fit: Fit,
  x: Scale,
  y: Scale,
  px: (v: number) => number,
  py: (v: number) => number,
): Node {
  const d: string[] = [];
  for (let n = 0; n <= 60; n += 1) {
    const share = n / 60;
    const isLog = x.isLog && fit.from > 0;
    const at = isLog
      ? fit.from * (fit.to / fit.from) ** share
      : fit.from + (fit.to - fit.from) * share;
    const value = fit.intercept + fit.slope * at;
    if (value < y.from || value > y.to) continue;
    d.push(`${d.length === 0 ? "M" : "L"}${round(px(at))},${round(py(value))}`);
  }
  return s("path", { class: "fit", d: d.join("") });
}

interface Place {
  dot: Dot;
  x: number;
  y: number;
}

/** What lies next to the pointer is told, and a click goes there. */
function point(svg: SVGSVGElement, places: Place[], options: Options, width: number): void {
  const ring = s("circle", { class: "near", r: 6, cx: -20, cy: -20 });
  const told = s("text", { class: "told", y: 14 });
  svg.append(ring, told);
  const nearest = (event: PointerEvent | MouseEvent): Place | null => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, least]: [Place | null, number] = [null, 30 ** 2];
    for (const one of places) {
      const far = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (far < least) [best, least] = [one, far];
    }
    return best;
  };
  svg.addEventListener("pointermove", (event) => {
    const one = nearest(event);
    svg.classList.toggle("at-point", one !== null);
    ring.setAttribute("cx", String(one?.x ?? -20));
    ring.setAttribute("cy", String(one?.y ?? -20));
    told.textContent = one === null ? "" : tell(one.dot, options);
    const isRight = (one?.x ?? 0) > width / 2;
    told.setAttribute("x", String(isRight ? width - ROOM.right : ROOM.left + 8));
    told.setAttribute("text-anchor", isRight ? "end" : "start");
  });
  svg.addEventListener("pointerleave", () => {
    ring.setAttribute("cx", "-20");
    told.textContent = "";
  });
  svg.addEventListener("click", (event) => {
    const one = nearest(event);
    if (one !== null) location.hash = `#/attempt/${encodeURIComponent(one.dot.id)}`;
  });
}

function tell(dot: Dot, options: Options): string {
  const parts = [cut(dot.id, 12), endWord(dot.end), `used ${amount(dot.y, options.unit)}`];
  if (dot.requested !== null) parts.push(`asked for ${amount(dot.requested, options.unit)}`);
  if (options.xUnit !== null) parts.push(`input ${amount(dot.x, options.xUnit)}`);
  return parts.join(" · ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
