import { describe, expect, test } from "vitest";
import { amount, bytes, count, duration, exact, instant, mark, number } from "../../src/format.ts";

describe("bytes", () => {
  test.each([
    [0, "0 B"],
    [1, "1 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.50 KiB"],
    [1024 ** 2 - 1, "1.00 MiB"],
    [12.34 * 1024 ** 3, "12.3 GiB"],
    [4 * 1024 ** 4, "4 TiB"],
    [123.4 * 1024 ** 2, "123 MiB"],
    [-2048, "−2 KiB"],
  ])("%d is %s", (value, text) => expect(bytes(value)).toBe(text));
});

describe("durations", () => {
  test.each([
    [0, "0 s"],
    [12, "12 ns"],
    [1500, "1.50 µs"],
    [12e6, "12 ms"],
    [1.5e9, "1.50 s"],
    [59.9e9, "59.9 s"],
    [59.99e9, "1 m 00 s"],
    [3599.6e9, "1 h 00 m"],
    [7500e9, "2 h 05 m"],
    [50 * 3600e9, "2 d 02 h"],
  ])("%d ns is %s", (value, text) => expect(duration(value)).toBe(text));

  test("a mark of an axis has no part that is nought", () => {
    expect(mark(120e9, "ns")).toBe("2 m");
    expect(mark(125e9, "ns")).toBe("2 m 05 s");
  });
});

test("what is not known is no nought", () => {
  for (const unit of ["bytes", "ns", "ms", "cores", "share", ""]) {
    expect(amount(null, unit)).toBe("–");
    expect(amount(undefined, unit)).toBe("–");
    expect(amount(Number.NaN, unit)).toBe("–");
  }
  expect(exact(null, "bytes")).toBe("not known");
  expect(instant(8.65e15)).toBe("–");
});

test("the exact value is in the base unit", () => {
  expect(exact(1610612736, "bytes")).toBe("1610612736 bytes");
  expect(exact(1.25, "cores")).toBe("1.25 cores");
  expect(exact(0, "ms")).toBe("1970-01-01T00:00:00.000Z");
});

test("thousands stand apart, small numbers keep what they tell", () => {
  expect(count(73408)).toBe("73\u202f408");
  expect(count(999)).toBe("999");
  expect(number(0.001234)).toBe("0.00123");
  expect(number(77_543_210.5)).toBe("77\u202f543\u202f211");
  expect(number(1.23456e15)).toBe("1.23e15");
  expect(number(-1234)).toBe("−1\u202f234");
});
