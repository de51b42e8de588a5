// Amounts as people read them; the exact value goes into a title.

const STEPS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** What stands where nothing is known. */
export const UNKNOWN = "–";

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Bytes in the largest unit that leaves at least one: `1.50 GiB`. */
export function bytes(value: number): string {
  let size = Math.abs(value);
  let step = 0;
  // 1023.6 would round to 1024 of the smaller unit.
  while (size >= 1023.5 && step < STEPS.length - 1) {
    size /= 1024;
    step += 1;
  }
  const shown = step === 0 ? String(Math.round(size)) : digits(size);
  return `${value < 0 ? "−" : ""}${shown} ${STEPS[step] ?? "B"}`;
}

/** Nanoseconds as hours, minutes and seconds: `2 h 05 m`, `3 m 07 s`, `1.50 s`, `12 ms`. */
export function duration(ns: number): string {
  const sign = ns < 0 ? "−" : "";
  const size = Math.abs(ns);
  if (size === 0) return "0 s";
  if (size < 999.5) return `${sign}${Math.round(size)} ns`;
  if (size < 999.5e3) return `${sign}${digits(size / 1e3)} µs`;
  if (size < 999.5e6) return `${sign}${digits(size / 1e6)} ms`;
  if (size < 59.95e9) return `${sign}${digits(size / 1e9)} s`;
  const seconds = Math.round(size / 1e9);
  const pad = (part: number) => String(part).padStart(2, "0");
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 48 * 60) return `${sign}${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  const hours = Math.round(seconds / 3600);
  return `${sign}${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

/** A number of things, its thousands apart: `73 408`. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A bare number with three or four digits that tell something. */
export function number(value: number): string {
  if (value !== 0 && (Math.abs(value) >= 1e12 || Math.abs(value) < 1e-3)) {
    return value.toExponential(2).replace("e+", "e");
  }
  if (Number.isInteger(value)) return value < 0 ? `−${count(-value)}` : count(value);
  return Math.abs(value) >= 1000 ? count(value) : String(Number(value.toPrecision(3)));
}

/** An amount of this unit (`bytes`, `ns`, `ms`: an instant, `cores`, `share`, anything else). */
export function amount(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return UNKNOWN;
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "ns":
      return duration(value);
    case "ms":
      return instant(value);
    case "cores":
      return number(value);
    case "share":
      return `${number(value * 100)} %`;
    default:
      return number(value);
  }
}

/** As `amount`, for the mark of an axis: without parts that are nought. */
export function mark(value: number, unit: string): string {
  return amount(value, unit).replace(/ 00 [smh]$/, "");
}

/** The same in the base unit, for a title; nothing where it would tell nothing more. */
export function exact(value: number | null | undefined, unit: string): string | null {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not known";
  if (unit === "ms") return new Date(value).toISOString();
  const plain =
    Math.abs(value) < 1e21
      ? value.toLocaleString("en", { maximumFractionDigits: 6, useGrouping: false })
      : String(value);
  return unit === "bytes" || unit === "ns" || unit === "cores" ? `${plain} ${unit}` : plain;
}

/** The reader's time zone, as it calls itself. */
export function zone(): string {
  const options = Intl.DateTimeFormat().resolvedOptions();
  return options.timeZone ?? "local time";
}

const INSTANT = new Intl.DateTimeFormat("en-CA", {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** An instant (milliseconds since 1970) in the reader's zone: `2026-03-01 14:05:09`. */
export function instant(ms: number): string {
  // Dates end 275 760 years from 1970; what lies beyond is no time that anybody meant.
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return UNKNOWN;
  const part: Record<string, string> = {};
  for (const { type, value } of INSTANT.formatToParts(ms)) part[type] = value;
  return `${part["year"]}-${part["month"]}-${part["day"]} ${part["hour"]}:${part["minute"]}:${part["second"]}`;
}

/** How an attempt ended, in words. */
export function endWord(end: string): string {
  return end === "limit" ? "ended by a limit" : end;
}
