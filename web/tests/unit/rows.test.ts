import { describe, expect, test } from "vitest";
import { parseBytes, parseCondition, parseDuration, splitConditions } from "../../src/condition.ts";
import { ask } from "../../src/data.ts";
import { askedForAll, order, readAsked, select } from "../../src/rows.ts";
import { toAttempts } from "../../src/link.ts";
import { readRoute } from "../../src/route.ts";
import { small } from "../fixtures.ts";

const { rows } = small();

describe("conditions", () => {
  test.each([
    ["4GiB", 4 * 1024 ** 3],
    ["4G", 4 * 1024 ** 3],
    ["4GB", 4e9],
    ["1.5 kib", 1536],
    ["100", 100],
  ])("%s bytes", (text, value) => expect(parseBytes(text)).toBe(value));

  test.each([
    ["2h", 7200e9],
    ["1h30m", 5400e9],
    ["90", 90e9],
    ["10 ms", 10e6],
  ])("%s of time", (text, value) => expect(parseDuration(text)).toBe(value));

  test.each([
    "memory",
    "memory=4",
    "colour>1",
    "memory>many",
    "wall<=-1h",
    "cores>",
    "constructor>1",
  ])("%s is refused with a reason", (text) => {
    expect(parseCondition(text)).toMatch(/\S+ \S+/);
  });

  test("what is not known holds no condition, in either direction", () => {
    for (const text of ["memory<4GiB", "memory>=0"]) {
      const one = parseCondition(text);
      if (typeof one === "string") throw new Error(one);
      expect(one.holds(null)).toBe(false);
      expect(one.holds(1)).toBe(true);
    }
  });

  test("several stand in one line", () => {
    expect(splitConditions("memory > 4 GiB, wall<=2h  cores>1.5")).toEqual([
      "memory>4 GiB",
      "wall<=2h",
      "cores>1.5",
    ]);
    expect(splitConditions("  ")).toEqual([]);
    // What is no condition is kept, so that it is refused and not overlooked.
    expect(splitConditions("much")).toEqual(["much"]);
  });
});

describe("rows", () => {
  test("those for which all holds", () => {
    const found = select(rows, {
      ...askedForAll(),
      category: "sort",
      where: ["memory>1.5GiB"],
      end: "done",
    });
    const wanted = rows.filter(
      (row) => row.category === "sort" && row.end === "done" && (row.memory ?? 0) > 1.5 * 1024 ** 3,
    );
    expect(found.length).toBe(wanted.length);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(rows.length);
  });

  test("unasked the last to end comes first", () => {
    const ended = select(rows, askedForAll()).map((row) => row.ended ?? 0);
    expect(ended).toEqual([...ended].sort((a, b) => b - a));
  });

  test("unknown amounts come last in both directions", () => {
    for (const isDescending of [false, true]) {
      const all = select(rows, { ...askedForAll(), sort: "memory", isDescending }).map(
        (row) => row.memory,
      );
      const known = all.filter((one) => one !== null).length;
      expect(all.slice(known).every((one) => one === null)).toBe(true);
      expect(known).toBeLessThan(all.length);
    }
    expect(order(null, 1, false)).toBeGreaterThan(0);
    expect(order(2, 10, false)).toBeLessThan(0);
  });

  test("a text is looked for in whichever case", () => {
    const found = select(rows, { ...askedForAll(), text: "TASK_39" });
    expect(found.length).toBeGreaterThan(1);
    expect(found.every((row) => row.task?.startsWith("task_39"))).toBe(true);
  });

  test("a wrong condition is told", () => {
    expect(() => select(rows, { ...askedForAll(), where: ["colour>1"] })).toThrow(/colour/);
  });
});

describe("addresses", () => {
  test("questions are spelled as the file has them", () => {
    expect(ask.category("a/b?c&d=é", "run 3")).toBe(
      "api/category?name=a%2Fb%3Fc%26d%3D%C3%A9&set=run%203",
    );
    const asked = {
      ...askedForAll(),
      set: "s",
      end: "limit",
      where: ["memory>4GiB", "wall<2h"],
      sort: "wall",
      isDescending: true,
    };
    expect(ask.attempts(asked, 100, 50)).toBe(
      "api/attempts?set=s&end=limit&where=memory%3E4GiB&where=wall%3C2h&sort=wall&descending=1&offset=100&limit=50",
    );
  });

  test("a question goes through the address and comes back", () => {
    const asked = {
      ...askedForAll(),
      text: "a&b=c #%",
      category: "é/ü",
      where: ["memory>4GiB"],
      sort: "cpu",
      isDescending: true,
    };
    const route = readRoute(toAttempts(asked));
    expect(route.name === "attempts" && readAsked(route.words)).toEqual(asked);
  });

  test("whatever stands in the address is a view or unknown", () => {
    expect(readRoute("")).toEqual({ name: "overview" });
    expect(readRoute("#/set/a%2Fb")).toEqual({ name: "set", of: "a/b" });
    expect(readRoute("#/category/__proto__?set=")).toEqual({
      name: "category",
      of: "__proto__",
      set: "",
    });
    for (const wrong of ["#/set", "#/attempt/", "#/what/1", "#/set/%E0%A4%A", "#x"]) {
      expect(readRoute(wrong)).toEqual({ name: "unknown" });
    }
    expect(readAsked(new URLSearchParams("sort=__proto__")).sort).toBe("");
  });
});
