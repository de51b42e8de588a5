// The shapes of the answers, as docs/page.md has them. What is not known is null.

export interface Spread {
  p50: number | null;
  p95: number | null;
  max: number | null;
}

export interface Line {
  name: string;
  description?: string | null;
  labels?: Record<string, string>;
  attempts: number;
  done: number;
  failed: number;
  limit: number;
  cancelled: number;
  unknown: number;
  first: number | null;
  last: number | null;
  core_hours: number | null;
  gib_hours: number | null;
  gib_hours_requested: number | null;
  gib_hours_of_requested: number | null;
  memory: Spread | null;
  wall: Spread | null;
  cores: Spread | null;
  memory_requested: { p50: number | null; max: number | null } | null;
}

export interface Overview {
  schema: string;
  version: string;
  title: string;
  made: number | null;
  attempts: number;
  is_live: boolean;
  sets: Line[];
  categories: Line[];
  sets_of?: number;
  categories_of?: number;
  resources: { name: string; unit: string; doc: string }[];
}

export interface Bucket {
  from: number;
  to: number;
  count: number;
}

export interface Statistics {
  unit: string;
  count: number;
  mean: number | null;
  sd: number | null;
  skewness: number | null;
  excess_kurtosis: number | null;
  min: number | null;
  max: number | null;
  quantiles: Record<string, number | null>;
  histogram: Bucket[];
  histogram_log?: { zero_or_less: number; bars: Bucket[] } | null;
  known?: Record<string, number>;
}

export interface StripPoint {
  id: string;
  at: number | null;
  used: number;
  requested: number | null;
  end: string;
}

export interface Strip {
  unit: string;
  points: StripPoint[];
  of: number;
}

export interface Fit {
  slope: number;
  intercept: number;
  correlation: number | null;
  count: number;
  from: number;
  to: number;
}

export interface InputPoint {
  id: string;
  size: number;
  memory: number | null;
  wall: number | null;
  end: string;
}

export interface AdviceOf {
  first: number | null;
  ladder: number[];
  unit: string;
  by: string;
  why: string;
  runs: number;
  killed: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
  retries_expected: number | null;
  warnings: string[];
}

export interface Advice {
  memory?: AdviceOf;
  disk?: AdviceOf;
  cores?: AdviceOf;
  wall?: AdviceOf;
  paste?: Paste | Paste[] | null;
}

export interface Paste {
  target: string;
  place: string;
  lines: string[];
}

export interface Category {
  schema: string;
  name: string;
  set: string | null;
  attempts: number;
  resource: Record<string, Statistics>;
  strips: Record<string, Strip>;
  input: {
    points: InputPoint[];
    of: number;
    fit: { memory: Fit | null; wall: Fit | null };
  } | null;
  advice: Advice | null;
}

export interface SetRow {
  id: string;
  task: string | null;
  category: string;
  host: string | null;
  submitted: number | null;
  began: number;
  ended: number;
  end: string;
  parents: string[];
}

export interface TaskSet {
  schema: string;
  name: string;
  description: string | null;
  labels: Record<string, string>;
  attempts: number;
  total: Line;
  categories: Line[];
  categories_of: number;
  rows: SetRow[];
  rows_of: number;
  without_times: number;
  counts: { at: number[]; running: number[]; queued: number[] | null };
  cores: { at: number[]; busy: number[] };
}

/** A row of the table of attempts. */
export interface Row {
  id: string;
  set: string | null;
  category: string;
  task: string | null;
  host: string | null;
  end: string;
  ended: number | null;
  memory: number | null;
  memory_requested: number | null;
  wall: number | null;
  wall_requested: number | null;
  cores: number | null;
  cores_requested: number | null;
  cpu: number | null;
  disk: number | null;
  input_size: number | null;
  cause: string | null;
}

export interface Rows {
  schema: string;
  of: number;
  offset: number;
  rows: Row[];
}

export interface Why {
  cause: string;
  sentence: string;
  certainty: string;
  evidence: { what: string; value: string; source: string }[];
  advice: string[];
  paste?: Paste[];
}

export interface Amount {
  value: number;
  known?: string;
  /** Of a lower bound: what it cannot exceed. */
  upper?: number;
}

export interface AttemptAnswer {
  schema: string;
  attempt: Record<string, unknown>;
  why: Why | null;
  series: {
    at: number[];
    columns: { name: string; unit: string; values: (number | null)[] }[];
  } | null;
}

/** What the one file brings with it. */
export interface Embedded {
  answers: Record<string, unknown>;
  rows: Row[];
  rows_of: number;
}
