// Numbers over time, several pictures under one another with one time axis.

import uPlot from "uplot";
import { css } from "../colour.ts";
import { h } from "../dom.ts";
import { amount, mark, UNKNOWN } from "../format.ts";
import { step } from "../scale.ts";
import { onColours } from "../theme.ts";

/** Room for the numbers at the left, the same in all pictures of a group. */
export const LEFT = 76;
/** Room at the right. */
export const RIGHT = 12;

/** One curve. */
export interface Curve {
  name: string;
  values: (number | null)[];
  /** The custom property that has its colour. */
  colour: string;
  isDashed?: boolean;
}

/** What a picture shows. */
export interface Timeline {
  /** Seconds: since 1970 where `isTime`, else since the start. */
  at: number[];
  isTime: boolean;
  unit: string;
  curves: Curve[];
  isStepped: boolean;
  /** Pictures with the same word share cursor and zoom. */
  group: string;
  height: number;
  /** What is shown at first, in seconds; without it, all of `at`. */
  range?: [number, number];
  /** Told of what is shown, when it changes. */
  zoomed?: (from: number, to: number) => void;
}

/** A picture that can be zoomed. */
export interface Drawn {
  plot: HTMLElement;
  show(from: number, to: number): void;
}

/** Marks of time by their distance in seconds: all of them, and what is added where the day changes. */
const CLOCK: uPlot.Axis.Values = [
  [365 * 86400, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * 86400, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [
    0.001,
    "{ss}.{fff}",
    "\n{YYYY}-{MM}-{DD} {HH}:{mm}",
    null,
    "\n{MM}-{DD} {HH}:{mm}",
    null,
    "\n{HH}:{mm}",
    null,
    1,
  ],
];

function ticks(unit: string) {
  return (_u: uPlot, _axis: number, least: number, most: number): number[] => {
    const apart = step(most - least || 1, 4, unit);
    const found: number[] = [];
    for (let at = Math.ceil(least / apart) * apart; at <= most && found.length < 20; at += apart)
      found.push(at);
    return found;
  };
}

function options(of: Timeline, width: number): uPlot.Options {
  const ink = () => css("--soft");
  const grid = { stroke: () => css("--grid"), width: 1 };
  const font = "11px system-ui, sans-serif";
  const paths = uPlot.paths.stepped?.({ align: 1 });
  const values: uPlot.Axis.Values = of.isTime
    ? CLOCK
    : (_u, all) => all.map((one) => mark(one * 1e9, "ns"));
  return {
    width,
    height: of.height,
    padding: [8, RIGHT, 0, 0],
    legend: { show: true, live: true },
    scales: {
      x: { time: of.isTime },
      y: { range: (_u, _least, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    cursor: { sync: { key: of.group }, y: false, points: { size: 5 }, drag: { x: true, y: false } },
    axes: [
      { stroke: ink, font, grid: { show: false }, ticks: { ...grid, size: 4 }, size: 36, values },
      {
        stroke: ink,
        font,
        grid,
        ticks: { show: false },
        size: LEFT,
        splits: ticks(of.unit),
        values: (_u, all) => all.map((one) => mark(one, of.unit)),
      },
    ],
    series: [
      {
        label: of.isTime ? "time" : "since the start",
        value: (_u, at) =>
          at === null ? UNKNOWN : of.isTime ? amount(at * 1000, "ms") : amount(at * 1e9, "ns"),
      },
      ...of.curves.map((curve): uPlot.Series => ({
        label: curve.name,
        stroke: () => css(curve.colour),
        width: 1.5,
        points: { show: of.at.length === 1 },
        value: (_u, value) => (value === null ? UNKNOWN : amount(value, of.unit)),
        ...(curve.isDashed ? { dash: [5, 4] } : {}),
        ...(of.isStepped && paths !== undefined ? { paths } : {}),
      })),
    ],
    hooks: {
      setScale: [
        (u, key) => {
          const { min, max } = u.scales["x"] ?? {};
          if (key === "x" && min != null && max != null) of.zoomed?.(min, max);
        },
      ],
    },
  };
}

/** Draws it, as wide as there is room. */
export function timeline(of: Timeline, signal: AbortSignal): Drawn {
  const plot = h("div", { class: "timeline" });
  let drawn: uPlot | null = null;
  const data: uPlot.AlignedData = [of.at, ...of.curves.map((curve) => curve.values)];
  const observer = new ResizeObserver(() => {
    const width = Math.floor(plot.clientWidth);
    if (width < 40) return;
    if (drawn === null) {
      drawn = new uPlot(options(of, width), data, plot);
      if (of.range !== undefined) drawn.setScale("x", { min: of.range[0], max: of.range[1] });
    } else if (drawn.width !== width) drawn.setSize({ width, height: of.height });
  });
  observer.observe(plot);
  onColours(() => drawn?.redraw(false, true), signal);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    drawn?.destroy();
  });
  return {
    plot,
    show: (from, to) => {
      const { min, max } = drawn?.scales["x"] ?? {};
      // Telling what is shown already would go round in a circle.
      if (drawn !== null && (min !== from || max !== to))
        drawn.setScale("x", { min: from, max: to });
    },
  };
}
