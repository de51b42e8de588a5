// Archives made up for tests: the same every time, for every part a case that it must bear.

import { ask } from "../src/data.ts";
import type {
  Advice,
  AttemptAnswer,
  Category,
  Embedded,
  InputPoint,
  Line,
  Overview,
  Row,
  SetRow,
  Statistics,
  Strip,
  TaskSet,
} from "../src/types.ts";

/** A made-up archive is begun at this time. */
const BEGAN = Date.UTC(2026, 2, 1, 8, 0, 0);
const GIB = 1024 ** 3;

/** Numbers between 0 and 1, the same for the same seed. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const RESOURCES = [
  { name: "memory", unit: "bytes", doc: "peak without reclaimable page cache" },
  { name: "wall", unit: "ns", doc: "from start to end" },
  { name: "cpu", unit: "ns", doc: "CPU time of all processes" },
  { name: "cores", unit: "cores", doc: "CPUs kept busy" },
  { name: "disk", unit: "bytes", doc: "peak of disk space" },
];

/** The statistics of these values. */
export function statistics(values: number[], unit: string): Statistics {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
  const [min, max] = [sorted[0] ?? null, sorted.at(-1) ?? null];
  const mean = values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
  const moment = (power: number) =>
    mean === null ? 0 : values.reduce((all, one) => all + (one - mean) ** power, 0) / values.length;
  const sd = Math.sqrt(moment(2));
  const bars = min === null || max === null ? 0 : min === max ? 1 : 20;
  const width = ((max ?? 0) - (min ?? 0)) / Math.max(1, bars);
  const histogram = [...Array(bars).keys()].map((n) => ({
    from: (min ?? 0) + n * width,
    to: (min ?? 0) + (n + 1) * width,
    count: 0,
  }));
  for (const one of values) {
    const bar =
      histogram[width === 0 ? 0 : Math.min(bars - 1, Math.floor((one - (min ?? 0)) / width))];
    if (bar !== undefined) bar.count += 1;
  }
  const shares = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
  const quantiles = Object.fromEntries(shares.map((share) => [String(share), at(share)]));
  const isFlat = sd === 0;
  return {
    unit,
    count: values.length,
    mean,
    sd: mean === null ? null : sd,
    skewness: isFlat ? null : moment(3) / sd ** 3,
    excess_kurtosis: isFlat ? null : moment(4) / sd ** 4 - 3,
    min,
    max,
    quantiles,
    histogram,
    known: { sampled: values.length },
  };
}

/** How rows are called in one archive. */
interface Names {
  set(n: number): string;
  category(n: number): string;
  task(n: number): string;
  host(n: number): string;
  cause: string;
}

const PLAIN: Names = {
  set: (n) => `run ${n + 1}`,
  category: (n) =>
    [
      "align",
      "sort",
      "index",
      "call",
      "merge",
      "report",
      "trim",
      "fastqc",
      "annotate",
      "plot",
      "pack",
    ][n % 11] ?? "",
  task: (n) => `task_${n}`,
  host: (n) => `node${n % 8}`,
  cause: "its limit on memory of 4 GiB was reached",
};

const EVIL = [
  `<script>window.hit = 1</script>`,
  `"><img src=x onerror="window.hit=1">`,
  `'); window.hit=1; //`,
  `</script><svg onload=window.hit=1>`,
  `\u202Egnp.exe\u202C`,
  `👩‍🔬🧬 ünï \u0000\u0007 {{7*7}} <!-- plimsoll-data -->`,
  `a/b?c#d%2F&e=f`,
  `__proto__`,
];

const HOSTILE: Names = {
  set: (n) => `${EVIL[n % EVIL.length]} set`,
  category: (n) => (n === 7 ? "__proto__" : `${EVIL[n % EVIL.length]}`),
  task: (n) => `${EVIL[n % EVIL.length]} ${n % 50 === 3 ? "x".repeat(1_000_000) : n}`,
  host: (n) => `${EVIL[(n + 1) % EVIL.length]}`,
  cause: `<b onmouseover="window.hit=1">killed</b>`,
};

interface Size {
  rows: number;
  sets: number;
  categories: number;
  /** Rows of which all is told. */
  told: number;
}

function makeRows(size: Size, names: Names): Row[] {
  const next = random(7);
  return [...Array(size.rows).keys()].map((n) => {
    const kind = n % size.categories;
    const draw = next();
    const end =
      draw < 0.03 ? "failed" : draw < 0.06 ? "limit" : draw < 0.065 ? "cancelled" : "done";
    // The last category has no memory, the one before it has the same amount always, the first
    // goes from KiB to TiB.
    const memory =
      kind === size.categories - 1
        ? null
        : kind === size.categories - 2
          ? 2 * GIB
          : kind === 0 && size.categories > 3
            ? 1024 * 2 ** Math.round(next() * 32)
            : Math.round((kind + 1 + next() * 3) * 0.4 * GIB);
    const wall = Math.round((5 + 300 * next() * (kind + 1)) * 1e9);
    const cores = Math.round((0.2 + next() * 7) * 100) / 100;
    return {
      id: (0x1000000 + n).toString(16).padStart(8, "0").repeat(4),
      set: names.set(n % size.sets),
      category: names.category(kind),
      task: n % 17 === 5 ? null : names.task(n),
      host: names.host(n),
      end,
      ended: BEGAN + n * 4000 + Math.round(wall / 1e6),
      memory,
      memory_requested: n % 3 === 0 ? null : 4 * GIB,
      wall,
      wall_requested: 3600e9,
      cores,
      cores_requested: kind % 2 === 0 ? 8 : null,
      cpu: Math.round(wall * cores),
      disk: null,
      input_size: kind === 1 ? Math.round(next() * 20 * GIB) : null,
      cause: end === "limit" ? names.cause : null,
    };
  });
}

function spread(values: number[]): Line["memory"] {
  const of = statistics(values, "");
  return values.length === 0
    ? null
    : { p50: of.quantiles["0.5"] ?? null, p95: of.quantiles["0.95"] ?? null, max: of.max };
}

function known(rows: Row[], column: "memory" | "wall" | "cores" | "memory_requested"): number[] {
  return rows.map((row) => row[column]).filter((one): one is number => one !== null);
}

function line(name: string, rows: Row[], description: string | null): Line {
  const ended = rows.map((row) => row.ended ?? 0);
  const hours = (of: (row: Row) => number | null) => {
    const all = rows
      .map((row) => [of(row), row.wall] as const)
      .filter((pair): pair is [number, number] => pair[0] !== null && pair[1] !== null);
    return all.length === 0
      ? null
      : all.reduce((sum, [size, wall]) => sum + (size / GIB) * (wall / 3600e9), 0);
  };
  const end = (word: string) => rows.filter((row) => row.end === word).length;
  const asked = spread(known(rows, "memory_requested"));
  return {
    name,
    description,
    labels: { project: "demo" },
    attempts: rows.length,
    done: end("done"),
    failed: end("failed"),
    limit: end("limit"),
    cancelled: end("cancelled"),
    unknown: end("unknown"),
    first: ended.reduce((a, b) => Math.min(a, b), Infinity),
    last: ended.reduce((a, b) => Math.max(a, b), 0),
    core_hours: rows.reduce((sum, row) => sum + (row.cpu ?? 0) / 3600e9, 0),
    gib_hours: hours((row) => row.memory),
    gib_hours_requested: hours((row) => (row.memory === null ? null : row.memory_requested)),
    gib_hours_of_requested: hours((row) => (row.memory_requested === null ? null : row.memory)),
    memory: spread(known(rows, "memory")),
    wall: spread(known(rows, "wall")),
    cores: spread(known(rows, "cores")),
    memory_requested: asked === null ? null : { p50: asked.p50, max: asked.max },
  };
}

function group(rows: Row[], of: (row: Row) => string): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) if (!found.has(of(row))) found.set(of(row), []);
  for (const row of rows) found.get(of(row))?.push(row);
  return found;
}

function strip(rows: Row[], column: "memory" | "wall" | "cores", unit: string): Strip {
  const all = rows.filter((row) => row[column] !== null);
  const points = all.slice(0, 2000).map((row) => ({
    id: row.id,
    at: row.ended,
    used: row[column] ?? 0,
    requested: row[`${column}_requested`] as number | null,
    end: row.end,
  }));
  return { unit, points, of: all.length };
}

function advice(memory: number[], text: string): Advice | null {
  if (memory.length === 0) return null;
  const of = statistics(memory, "bytes");
  const first = Math.round((of.quantiles["0.95"] ?? 0) * 1.05);
  const one = {
    first,
    ladder: [first, first * 2, first * 4],
    unit: "bytes",
    by: "constant",
    why: text,
    runs: memory.length,
    killed: 0,
    p50: of.quantiles["0.5"] ?? null,
    p95: of.quantiles["0.95"] ?? null,
    p99: of.quantiles["0.99"] ?? null,
    max: of.max,
    retries_expected: 0.03,
    warnings: [text],
  };
  return {
    memory: one,
    paste: {
      target: "plimsoll",
      place: "on the command line",
      lines: [`plimsoll run --limit memory=${first} -- COMMAND`],
    },
  };
}

function category(name: string, rows: Row[], text: string): Category {
  const input: InputPoint[] = rows
    .filter((row) => row.input_size !== null)
    .map((row) => ({
      id: row.id,
      size: row.input_size ?? 0,
      memory: row.memory,
      wall: row.wall,
      end: row.end,
    }));
  const sizes = input.map((one) => one.size);
  const fit =
    input.length < 2
      ? null
      : {
          slope: 0.05,
          intercept: 0.8 * GIB,
          correlation: 0.71,
          count: input.length,
          from: Math.min(...sizes),
          to: Math.max(...sizes),
        };
  const resource: Category["resource"] = {};
  for (const [name, unit] of [
    ["memory", "bytes"],
    ["wall", "ns"],
    ["cores", "cores"],
  ] as const) {
    const values = known(rows, name);
    if (values.length > 0) resource[name] = statistics(values, unit);
  }
  return {
    schema: "plimsoll.page/1",
    name,
    set: null,
    attempts: rows.length,
    resource,
    strips: {
      memory: strip(rows, "memory", "bytes"),
      wall: strip(rows, "wall", "ns"),
      cores: strip(rows, "cores", "cores"),
    },
    input: { points: input.slice(0, 2000), of: input.length, fit: { memory: fit, wall: null } },
    advice: advice(known(rows, "memory"), text),
  };
}

function steps(
  rows: SetRow[],
  from: (row: SetRow) => number,
  to: (row: SetRow) => number,
  weight: (row: SetRow) => number,
  at: number[],
): number[] {
  return at.map((when) =>
    rows.reduce((sum, row) => (from(row) <= when && when < to(row) ? sum + weight(row) : sum), 0),
  );
}

function taskSet(name: string, rows: Row[], description: string): TaskSet {
  const all: SetRow[] = rows
    .map((row) => {
      const began = (row.ended ?? 0) - (row.wall ?? 0) / 1e6;
      return {
        id: row.id,
        task: row.task,
        category: row.category,
        host: row.host,
        submitted: began - 60_000,
        began,
        ended: row.ended ?? 0,
        end: row.end,
        parents: [],
      };
    })
    .sort((a, b) => a.began - b.began);
  const grouped = group(rows, (row) => row.category);
  const first = Math.min(...all.map((row) => row.submitted ?? row.began));
  const last = Math.max(...all.map((row) => row.ended));
  const at = [...Array(200).keys()].map((n) => Math.round(first + ((last - first) * n) / 199));
  const running = steps(
    all,
    (row) => row.began,
    (row) => row.ended,
    () => 1,
    at,
  );
  const queued = steps(
    all,
    (row) => row.submitted ?? row.began,
    (row) => row.began,
    () => 1,
    at,
  );
  return {
    schema: "plimsoll.page/1",
    name,
    description,
    labels: { project: description },
    total: line(name, rows, null),
    categories: [...grouped].map(([category, some]) => line(category, some, null)),
    categories_of: grouped.size,
    attempts: rows.length,
    rows: all.slice(0, 5000),
    rows_of: all.length,
    without_times: 3,
    counts: { at, running, queued },
    cores: { at, busy: running.map((n) => n * 2.4) },
  };
}

function attemptOf(row: Row, text: string): AttemptAnswer {
  const at = [...Array(60).keys()].map((n) => n * 2);
  return {
    schema: "plimsoll.page/1",
    attempt: {
      id: row.id,
      format: "plimsoll",
      source: text,
      set: row.set,
      category: row.category,
      task: row.task,
      tool: "bwa",
      description: text,
      command: ["bwa", "mem", text, "it's"],
      host: row.host,
      began: (row.ended ?? 0) * 1e6 - (row.wall ?? 0),
      ended: (row.ended ?? 0) * 1e6,
      end: row.end,
      exit_code: 0,
      cause: row.cause,
      requested:
        row.memory_requested === null
          ? {}
          : { memory: { value: row.memory_requested, known: "claimed" } },
      used: {
        memory: { value: GIB, known: "lower_bound", upper: 1.5 * GIB },
        wall: { value: row.wall ?? 0, known: "exact" },
        cores: { value: row.cores ?? 0, known: "scaled" },
      },
      labels: { [text]: text },
    },
    why: {
      cause: "limit",
      sentence: `It was ended: ${text}`,
      certainty: "known",
      evidence: [{ what: "limit on memory", value: text, source: "--limit" }],
      advice: [`Allow more: ${text}`],
      paste: [],
    },
    series: {
      at,
      columns: [
        {
          name: "memory",
          unit: "bytes",
          values: at.map((s) => (s === 20 ? null : GIB * (1 + s / 60))),
        },
        { name: "rss", unit: "bytes", values: at.map((s) => GIB * (1.2 + s / 60)) },
        { name: "cores", unit: "cores", values: at.map((s) => 1 + (s % 10) / 5) },
        { name: "virtual", unit: "bytes", values: at.map(() => 40 * GIB) },
      ],
    },
  };
}

function make(size: Size, names: Names, text: string): Embedded {
  const rows = makeRows(size, names);
  const [sets, categories] = [
    group(rows, (row) => row.set ?? ""),
    group(rows, (row) => row.category),
  ];
  const overview: Overview = {
    schema: "plimsoll.page/1",
    version: "0.1.0",
    title: text,
    made: BEGAN + 864e5,
    attempts: rows.length,
    is_live: false,
    sets: [...sets].map(([name, all]) => line(name, all, text)).reverse(),
    categories: [...categories]
      .map(([name, all]) => line(name, all, null))
      .sort((a, b) => (b.gib_hours ?? 0) - (a.gib_hours ?? 0)),
    resources: RESOURCES,
  };
  const answers: Record<string, unknown> = { [ask.overview()]: overview };
  for (const [name, all] of categories)
    answers[ask.category(name, null)] = category(name, all, text);
  for (const [name, all] of sets) answers[ask.set(name)] = taskSet(name, all, text);
  for (const row of rows.slice(0, size.told)) answers[ask.attempt(row.id)] = attemptOf(row, text);
  return { answers, rows, rows_of: rows.length };
}

/** Some hundred attempts of a workflow. */
export const small = () =>
  make({ rows: 400, sets: 2, categories: 6, told: 20 }, PLAIN, "Germline calling, spring 2026");
/** Markup, quotes, controls and a megabyte in every text. */
export const hostile = () =>
  make({ rows: 160, sets: 8, categories: 8, told: 20 }, HOSTILE, `${EVIL.join(" ")} title`);
/** As much as one file may bring: 20 000 rows of 73 408, sets of 5000 and more. */
export const large = () => ({
  ...make({ rows: 20_000, sets: 4, categories: 11, told: 5 }, PLAIN, "A year of production"),
  rows_of: 73_408,
});
/** One attempt. */
export const single = () => make({ rows: 1, sets: 1, categories: 1, told: 1 }, PLAIN, "One");

/** Nothing. */
export function empty(): Embedded {
  const overview: Overview = {
    schema: "plimsoll.page/1",
    version: "0.1.0",
    title: "Empty",
    made: BEGAN,
    attempts: 0,
    is_live: false,
    sets: [],
    categories: [],
    resources: RESOURCES,
  };
  return { answers: { [ask.overview()]: overview }, rows: [], rows_of: 0 };
}

/** The page with these data in it, as `plimsoll archive html` writes it. */
export function withData(page: string, data: Embedded): string {
  const escapes: Record<string, string> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" };
  const text = JSON.stringify(data).replace(/[<>&]/g, (one) => escapes[one] ?? "");
  return page.replace(
    "<!-- plimsoll-data -->",
    () => `<script type="application/json" id="plimsoll-data">${text}</script>`,
  );
}
