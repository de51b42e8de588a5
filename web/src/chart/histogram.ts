// How often which amounts are, with mean, median and quantiles.

import { s } from "../dom.ts";
import { amount } from "../format.ts";
import { linear, logarithmic, step, type Scale } from "../scale.ts";
import type { Bucket, Statistics } from "../types.ts";
import { fluid, frame } from "./frame.ts";

const HEIGHT = 200;
const ROOM = { left: 48, right: 14, top: 34, bottom: 26 };

/** The lines over the bars: where, and how they are called. */
export function lines(of: Statistics): { at: number; name: string; kind: string }[] {
  const found: { at: number; name: string; kind: string }[] = [];
  const add = (at: number | null | undefined, name: string, kind: string) => {
    if (at !== null && at !== undefined && Number.isFinite(at)) found.push({ at, name, kind });
  };
  add(of.quantiles["0.5"], "median", "median");
  add(of.mean, "mean", "mean");
  add(of.quantiles["0.95"], "95 %", "quantile");
  add(of.quantiles["0.99"], "99 %", "quantile");
  return found;
}

/** The lines from left to right; those that would lie on one another are one with all their names. */
export function merged(
  all: ReturnType<typeof lines>,
  near: number,
  place = (at: number) => at,
): ReturnType<typeof lines> {
  const found: ReturnType<typeof lines> = [];
  for (const one of [...all].sort((a, b) => a.at - b.at)) {
    const before = found.at(-1);
    if (before !== undefined && place(one.at) - place(before.at) < 2 * near)
      before.name += `, ${one.name}`;
    else found.push({ ...one });
  }
  return found;
}

/** The widest that a letter of a line's name is, in pixels. */
const LETTER = 6.5;
const NAME_ROWS = 3;

/** Where the names of lines stand so that none lies on another: the row, and whether left of its line. */
export function named(
  marks: { place: number; name: string }[],
  width: number,
): { row: number; isLeft: boolean }[] {
  const ends = Array.from({ length: NAME_ROWS }, () => -Infinity);
  return marks.map(({ place, name }) => {
    const wide = name.length * LETTER + 8;
    const isLeft = place + wide > width;
    const [from, to] = isLeft ? [place - wide, place] : [place, place + wide];
    const free = ends.findIndex((end) => end <= from);
    // Where no row is free, the one that is soonest.
    const row = free >= 0 ? free : ends.indexOf(Math.min(...ends));
    ends[row] = Math.max(ends[row] ?? to, to);
    return { row, isLeft };
  });
}

/** Buckets that can be drawn: one of no width, where all values are the same, gets some. */
export function drawable(buckets: Bucket[]): Bucket[] {
  return buckets
    .filter((one) => Number.isFinite(one.from) && Number.isFinite(one.to))
    .map((one) => {
      if (one.to > one.from) return one;
      const half = one.from === 0 ? 0.5 : Math.abs(one.from) * 0.05;
      return { from: one.from - half, to: one.to + half, count: one.count };
    });
}

/** What is drawn: bars of the logarithm where there are some, and how many amounts have none. */
export function bars(of: Statistics): { isLog: boolean; buckets: Bucket[]; without: number } {
  const log = of.histogram_log ?? null;
  return log === null
    ? { isLog: false, buckets: of.histogram, without: 0 }
    : { isLog: true, buckets: log.bars, without: log.zero_or_less };
}

/** The axis below bars that reach from the least to the most. */
export function axis(isLog: boolean, least: number, most: number, unit: string, marks: number) {
  if (isLog) return logarithmic(least, most, unit, marks);
  const wide = most - least;
  const apart = step(wide, marks, unit);
  const ticks: number[] = [];
  for (let at = Math.ceil(least / apart) * apart; at <= most && ticks.length < 50; at += apart)
    ticks.push(at);
  const at = (v: number) => (v - least) / wide;
  return { isLog: false, from: least, to: most, at, ticks } satisfies Scale;
}

/** The picture. */
export function histogram(of: Statistics, signal: AbortSignal): HTMLElement {
  const plot = fluid((width) => draw(width, of), signal);
  plot.classList.add("histogram");
  return plot;
}

function draw(width: number, of: Statistics): Node {
  const { isLog, buckets: all } = bars(of);
  const buckets = drawable(all);
  // A single bar has room at its sides, else it would be all there is to see.
  const spare = buckets.length === 1 ? 2 * ((buckets[0]?.to ?? 0) - (buckets[0]?.from ?? 0)) : 0;
  const least = Math.min(...buckets.map((one) => one.from)) - spare;
  const most = Math.max(...buckets.map((one) => one.to)) + spare;
  const highest = Math.max(1, ...buckets.map((one) => one.count));
  const x = axis(isLog, least, most, of.unit, Math.max(2, Math.floor(width / 110)));
  const y = { scale: linear(0, highest, "count", 3), unit: "count" };
  // Attempts are whole.
  y.scale.ticks = y.scale.ticks.filter(Number.isInteger);
  const { svg, px, py } = frame(width, HEIGHT, ROOM, { scale: x, unit: of.unit }, y);
  for (const one of buckets) {
    if (one.count === 0) continue;
    // One attempt among thousands is still to be seen.
    const high = Math.max(1.5, py(0) - py(one.count));
    const [left, right] = [px(one.from), px(one.to)];
    svg.append(
      s(
        "rect",
        {
          class: "bar",
          x: left + 0.5,
          y: py(0) - high,
          width: Math.max(1, right - left - 1),
          height: high,
        },
        s("title", {}, `${amount(one.from, of.unit)} to ${amount(one.to, of.unit)}: ${one.count}`),
      ),
    );
  }
  const shown = merged(lines(of), 1, px).filter(({ at }) => at >= least && at <= most);
  const marks = shown.map(({ at, name, kind }) => ({ place: px(at), name, kind }));
  const places = named(marks, width);
  marks.forEach(({ place, name, kind }, at) => {
    const { row, isLeft } = places[at] ?? { row: 0, isLeft: false };
    svg.append(
      s("line", { class: `line ${kind}`, x1: place, x2: place, y1: 4 + row * 11, y2: py(0) }),
      s(
        "text",
        {
          class: "mark over",
          x: place + (isLeft ? -4 : 4),
          y: 11 + row * 11,
          "text-anchor": isLeft ? "end" : "start",
        },
        name,
      ),
    );
  });
  return svg;
}
