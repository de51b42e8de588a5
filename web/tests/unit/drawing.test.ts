import { describe, expect, test } from "vitest";
import { assign, COLOURS } from "../../src/colour.ts";
import { axis, bars, drawable, lines, merged, named } from "../../src/chart/histogram.ts";
import { mark } from "../../src/format.ts";
import { fitting, linear, logarithmic, quantile } from "../../src/scale.ts";
import { logWords, stripSummary } from "../../src/view/category.ts";
import { quote } from "../../src/view/attempt.ts";
import { span } from "../../src/view/set.ts";
import { inline, MARKER, policy } from "../../inline.ts";
import { empty, random, statistics, withData } from "../fixtures.ts";

describe("axes", () => {
  test("values that are far apart get a logarithm, others do not", () => {
    expect(fitting([1024, 4 * 1024 ** 4], "bytes").isLog).toBe(true);
    expect(fitting([1e9, 2e9, 3e9], "bytes").isLog).toBe(false);
    expect(fitting([5, 5, 5], "cores").isLog).toBe(false);
    expect(fitting([], "ns").ticks.length).toBeGreaterThan(1);
    // A nought does not lie beyond the end.
    expect(fitting([0, 1, 1e6], "count").at(0)).toBe(0);
  });

  test("every value lies on its axis and marks go upwards within it", () => {
    const next = random(3);
    for (let n = 0; n < 300; n += 1) {
      const unit = ["bytes", "ns", "cores"][n % 3] ?? "";
      const values = [...Array(1 + (n % 5))].map(() => 2 ** (next() * 45));
      const axis = fitting(values, unit);
      for (const value of values) {
        expect(axis.at(value)).toBeGreaterThanOrEqual(0);
        expect(axis.at(value)).toBeLessThanOrEqual(1 + 1e-9);
      }
      expect(axis.ticks.length).toBeLessThan(50);
      expect(axis.ticks).toEqual([...axis.ticks].sort((a, b) => a - b));
    }
  });

  test("marks are whole in the unit", () => {
    expect(linear(0, 4 * 1024 ** 3, "bytes", 5).ticks.every((one) => one % 1024 ** 3 === 0)).toBe(
      true,
    );
    expect(linear(0, 3600e9, "ns", 5).ticks).toEqual([0, 900e9, 1800e9, 2700e9, 3600e9]);
    const times = logarithmic(10e9, 115 * 86400e9, "ns", 8).ticks;
    expect(times.map((one) => mark(one, "ns"))).toEqual([
      "10 s",
      "1 m",
      "10 m",
      "1 h",
      "6 h",
      "24 h",
      "10 d",
      "100 d",
    ]);
    expect(logarithmic(1024, 1024 ** 4, "bytes", 5).ticks).toEqual(
      [1, 2, 3, 4].map((power) => 1024 ** power),
    );
  });
});

describe("histogram", () => {
  test("a bar of no width gets some", () => {
    const [bar] = drawable([{ from: 5, to: 5, count: 3 }]);
    expect(bar?.to).toBeGreaterThan(bar?.from ?? Infinity);
    expect(drawable([{ from: 0, to: 0, count: 1 }])[0]?.to).toBeGreaterThan(0);
    expect(drawable([{ from: Number.NaN, to: 1, count: 1 }])).toEqual([]);
  });

  test("lines on one another are one with all names", () => {
    const all = merged(lines(statistics([7, 7, 7], "cores")), 1);
    expect(all.map((one) => one.name)).toEqual(["median, mean, 95 %, 99 %"]);
    expect(merged(lines(statistics([1, 2, 100], "cores")), 0.01).length).toBeGreaterThan(1);
    // What is near is told by places, not by amounts.
    const two = [
      { at: 1, name: "a", kind: "" },
      { at: 1e6, name: "b", kind: "" },
    ];
    expect(merged(two, 1, Math.log10).length).toBe(2);
    expect(merged(two, 4, Math.log10).map((one) => one.name)).toEqual(["a, b"]);
  });

  test("no name of a line lies on another", () => {
    const marks = [
      { place: 300, name: "median" },
      { place: 380, name: "mean" },
      { place: 390, name: "95 %" },
      { place: 395, name: "99 %" },
    ];
    // At the right edge a name stands left of its line, and must not reach over one before it.
    const placed = named(marks, 400);
    expect(placed.map((one) => one.isLeft)).toEqual([false, true, true, true]);
    const spans = placed.map(({ row, isLeft }, at) => {
      const { place, name } = marks[at]!;
      const wide = name.length * 6.5;
      return { row, from: isLeft ? place - wide : place, to: isLeft ? place : place + wide };
    });
    for (const one of spans)
      for (const two of spans)
        if (one !== two && one.row === two.row)
          expect(one.to <= two.from || two.to <= one.from).toBe(true);
    expect(
      named(
        [
          { place: 10, name: "a" },
          { place: 200, name: "b" },
        ],
        400,
      ),
    ).toEqual([
      { row: 0, isLeft: false },
      { row: 0, isLeft: false },
    ]);
  });

  test("bars of the logarithm are taken where there are some, with their axis", () => {
    const of = statistics([1, 2, 3], "bytes");
    expect(bars(of)).toEqual({ isLog: false, buckets: of.histogram, without: 0 });
    expect(bars({ ...of, histogram_log: null }).isLog).toBe(false);
    const log = [
      { from: 1024, to: 1024 ** 2, count: 2 },
      { from: 1024 ** 2, to: 1024 ** 3, count: 1 },
    ];
    const told = bars({ ...of, histogram_log: { zero_or_less: 4, bars: log } });
    expect(told).toEqual({ isLog: true, buckets: log, without: 4 });
    const wide = axis(true, 1024, 1024 ** 3, "bytes", 5);
    // Bars of one factor are of one width.
    expect(wide.at(1024 ** 2) - wide.at(1024)).toBeCloseTo(wide.at(1024 ** 3) - wide.at(1024 ** 2));
    expect(axis(false, 10, 20, "count", 5).at(15)).toBe(0.5);
    expect(logWords(0)).not.toContain("no bar");
    expect(logWords(4)).toContain("4 of 0 or less have no bar");
  });
});

test("summaries tell what there is", () => {
  const point = (used: number, end: string) => ({ id: "a", at: null, used, requested: null, end });
  const told = stripSummary("memory", {
    unit: "bytes",
    points: [point(1024, "done"), point(4096, "limit")],
    of: 2,
  });
  expect(told).toContain("1 KiB to 4 KiB");
  expect(told).toContain("Nothing was asked for");
  expect(told).toContain("1 failed");
  expect(quantile([], 0.5)).toBeNull();
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2);
});

test("a set of one instant has a span, and those who waited begin it", () => {
  const row = { id: "", task: null, category: "", host: null, end: "done", parents: [] };
  expect(span([{ ...row, submitted: null, began: 5, ended: 5 }])).toEqual([5, 6]);
  expect(span([{ ...row, submitted: 1, began: 5, ended: 9 }])).toEqual([1, 9]);
});

test("colours go to the most frequent, the same for the same names", () => {
  const names = [..."aabbbccccddddddeeefghijkl"];
  const colours = assign(names);
  expect(colours.size).toBe(COLOURS);
  expect(colours.get("d")).toBe(0);
  expect(assign([...names].reverse())).toEqual(colours);
});

test("a word is quoted as a shell would take it", () => {
  expect([quote("a.b-c"), quote("a b"), quote("it's"), quote("")]).toEqual([
    "a.b-c",
    "'a b'",
    "'it'\\''s'",
    "''",
  ]);
});

describe("the one file", () => {
  const page = `<head><meta charset="utf-8" /></head><body>${MARKER}</body>`;

  test("the script can neither end itself nor stand before the data", () => {
    const made = inline(page, `a("</script><!--")`, "b{}");
    expect(made.split("</script>").length).toBe(2);
    expect(made.indexOf(MARKER)).toBeLessThan(made.indexOf("<script>"));
    expect(made).toContain(policy(`a("<\\/script><\\!--")`, "b{}"));
    expect(() => inline("<body></body>", "a", "b")).toThrow(/exactly once/);
  });

  test("data stand in it without markup", () => {
    const data = empty();
    data.answers["api/x"] = "</script><b>&";
    expect(withData(page, data)).toContain("\\u003c/script\\u003e\\u003cb\\u003e\\u0026");
  });
});
