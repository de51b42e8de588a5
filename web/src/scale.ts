// From amounts to places on an axis, and where its marks are.

/** An axis: where a value is between 0 and 1, and its marks. */
export interface Scale {
  isLog: boolean;
  from: number;
  to: number;
  at(value: number): number;
  ticks: number[];
}

/** Seconds that people count by, up to years. */
const DURATIONS = [
  1e-3,
  2e-3,
  5e-3,
  1e-2,
  2e-2,
  5e-2,
  0.1,
  0.2,
  0.5,
  1,
  2,
  5,
  10,
  15,
  30,
  60,
  120,
  300,
  600,
  900,
  1800,
  3600,
  7200,
  10800,
  21600,
  43200,
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].map((days) => days * 86400),
].map((seconds) => seconds * 1e9);

/** Nanoseconds that people count by, of which each is about ten times the one before. */
const DURATIONS_APART = [
  ...[1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 60e9, 600e9, 3600e9, 21600e9],
  ...[1, 10, 100, 1000, 10000].map((days) => days * 86400e9),
];

/** The nicest step of at most `most` steps over this span. */
export function step(span: number, most: number, unit: string): number {
  const least = span / Math.max(1, most);
  if (unit === "ns") {
    const found = DURATIONS.find((one) => one >= least);
    if (found !== undefined && least >= 1e6) return found;
  }
  if (unit === "bytes" && least >= 1) {
    // Powers of two, so that the marks are whole in binary units.
    return 2 ** Math.ceil(Math.log2(least));
  }
  const power = 10 ** Math.floor(Math.log10(least));
  for (const times of [1, 2, 5]) if (times * power >= least * (1 - 1e-9)) return times * power;
  return 10 * power;
}

/** An axis from zero (or from the least, where that is below it) to the most. */
export function linear(least: number, most: number, unit: string, marks: number): Scale {
  const from = Math.min(0, least);
  // All values nought, or none at all: an axis of one unit.
  const to = most > from ? most : from + 1;
  const width = step(to - from, marks, unit);
  const end = Math.ceil(to / width - 1e-9) * width;
  const begin = Math.floor(from / width + 1e-9) * width;
  const ticks: number[] = [];
  for (let n = 0; n <= Math.round((end - begin) / width) && n < 50; n += 1)
    ticks.push(begin + n * width);
  return { isLog: false, from: begin, to: end, at: (v) => (v - begin) / (end - begin), ticks };
}

/** An axis of the logarithm; both ends above zero. */
export function logarithmic(least: number, most: number, unit: string, marks: number): Scale {
  const base = unit === "bytes" ? 1024 : 10;
  const wide = Math.log(Math.max(most, least * 1.01) / least) / Math.log(base);
  // Between the powers of the base, where there are few of them.
  const part = unit === "bytes" ? (wide < 1.2 ? 2 : wide < 2.5 ? 4 : wide < 5 ? 32 : 1024) : 10;
  const low = Math.floor(Math.log(least) / Math.log(part) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log(most) / Math.log(part) - 1e-9));
  const [from, to] = [part ** low, part ** high];
  const span = Math.log(to / from);
  const powers = [...Array(high - low + 1).keys()].map((n) => part ** (low + n));
  const all = unit === "ns" && to >= 60e9 ? DURATIONS_APART : powers;
  const within = all.filter((one) => one >= from && one <= to);
  const stride = Math.max(1, Math.ceil((within.length - 1) / Math.max(1, marks)));
  const ticks = within.filter((_one, n) => n % stride === 0);
  return { isLog: true, from, to, at: (v) => Math.log(Math.max(v, from) / from) / span, ticks };
}

/** The axis that these values ask for: of the logarithm where they are far apart. */
export function fitting(values: number[], unit: string, marks = 5): Scale {
  let [least, most, leastAbove] = [Infinity, -Infinity, Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    if (value > 0 && value < leastAbove) leastAbove = value;
  }
  if (!(most > -Infinity)) return linear(0, 1, unit, marks);
  // A nought among values that are far apart lies at the foot of the axis.
  if (least >= 0 && most / leastAbove >= 300) return logarithmic(leastAbove, most, unit, marks);
  return linear(least, most, unit, marks);
}

/** The value below which this share of sorted values is (nearest rank); null of none. */
export function quantile(sorted: number[], share: number): number | null {
  const rank = Math.max(0, Math.ceil(share * sorted.length) - 1);
  return sorted[rank] ?? null;
}
