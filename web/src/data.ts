// Where answers come from: the element in the page, else by HTTP from where the page came from.

import type { AttemptAnswer, Category, Embedded, Overview, Row, Rows, TaskSet } from "./types.ts";
import { select, type Asked } from "./rows.ts";

/** Why there is no answer, and whether asking again may help. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly mayRetry: boolean,
  ) {
    super(message);
  }
}

/** What the page asks. */
export interface Source {
  /** Whether everything there is was brought along. */
  readonly isFile: boolean;
  /** Of how many attempts the file has rows, and of how many in all; live not known here. */
  readonly part: { rows: number; of: number } | null;
  overview(signal: AbortSignal): Promise<Overview>;
  category(name: string, set: string | null, signal: AbortSignal): Promise<Category>;
  set(name: string, signal: AbortSignal): Promise<TaskSet>;
  attempts(asked: Asked, offset: number, limit: number, signal: AbortSignal): Promise<Rows>;
  attempt(id: string, signal: AbortSignal): Promise<AttemptAnswer>;
  /** The row of one attempt, where the file has no more of it. */
  row(id: string): Row | null;
}

const word = encodeURIComponent;

/** The paths of the questions, spelled as the file has them too. */
export const ask = {
  overview: () => "api/overview",
  category: (name: string, set: string | null) =>
    `api/category?name=${word(name)}${set === null ? "" : `&set=${word(set)}`}`,
  set: (name: string) => `api/set?name=${word(name)}`,
  attempt: (id: string) => `api/attempt?id=${word(id)}`,
  attempts: (asked: Asked, offset: number, limit: number) => {
    const parts: string[] = [];
    for (const name of ["set", "category", "end", "text"] as const) {
      if (asked[name]) parts.push(`${name}=${word(asked[name])}`);
    }
    for (const one of asked.where) parts.push(`where=${word(one)}`);
    if (asked.sort) parts.push(`sort=${word(asked.sort)}`);
    if (asked.sort && asked.isDescending) parts.push("descending=1");
    parts.push(`offset=${offset}`, `limit=${limit}`);
    return `api/attempts?${parts.join("&")}`;
  },
};

/** Takes what the page brought along, if anything, else asks by HTTP. */
export function open(page: Document): Source {
  const element = page.getElementById("plimsoll-data");
  if (element === null) return new Live();
  const embedded = JSON.parse(element.textContent ?? "") as Embedded;
  // The text was as large as all that was made of it, and is not needed again.
  element.remove();
  if (typeof embedded?.answers !== "object" || !Array.isArray(embedded.rows)) {
    throw new Refusal("The data in this file are not those of such a page.", false);
  }
  return new File(embedded);
}

class File implements Source {
  readonly isFile = true;
  readonly part: { rows: number; of: number };
  readonly #ids: Map<string, Row>;

  constructor(readonly embedded: Embedded) {
    this.part = { rows: embedded.rows.length, of: embedded.rows_of };
    this.#ids = new Map(embedded.rows.map((row) => [row.id, row]));
  }

  #answer<T>(path: string, what: string): Promise<T> {
    const answers = this.embedded.answers;
    if (!Object.hasOwn(answers, path)) {
      const advice = "plimsoll serve shows all of the archive.";
      return Promise.reject(new Refusal(`This file has nothing of ${what}; ${advice}`, false));
    }
    return Promise.resolve(answers[path] as T);
  }

  overview(): Promise<Overview> {
    return this.#answer(ask.overview(), "an archive");
  }

  category(name: string, set: string | null): Promise<Category> {
    const where = set === null ? "" : " in that set";
    return this.#answer(ask.category(name, set), `this category${where}`);
  }

  set(name: string): Promise<TaskSet> {
    return this.#answer(ask.set(name), "this set");
  }

  attempts(asked: Asked, offset: number, limit: number): Promise<Rows> {
    return new Promise((done) => {
      const rows = select(this.embedded.rows, asked);
      done({ schema: "", of: rows.length, offset, rows: rows.slice(offset, offset + limit) });
    });
  }

  attempt(id: string): Promise<AttemptAnswer> {
    return this.#answer(ask.attempt(id), "this attempt but its row");
  }

  row(id: string): Row | null {
    return this.#ids.get(id) ?? null;
  }
}

class Live implements Source {
  readonly isFile = false;
  readonly part = null;

  async #get<T>(path: string, signal: AbortSignal): Promise<T> {
    if (location.protocol === "file:") {
      const advice = "write one with plimsoll archive html, or use plimsoll serve.";
      throw new Refusal(`This file has no archive in it: ${advice}`, false);
    }
    let response: Response;
    try {
      response = await fetch(path, { signal, cache: "no-store" });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new Refusal("The server does not answer. Is plimsoll serve still running?", true);
    }
    const body: unknown = await response.json().catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new Refusal(`The server's answer (status ${response.status}) is no JSON.`, true);
    });
    if (!response.ok) {
      const told = (body as { error?: unknown } | null)?.error;
      const text = typeof told === "string" ? told : `The server refused: ${response.status}`;
      throw new Refusal(text, response.status >= 500);
    }
    return body as T;
  }

  overview(signal: AbortSignal): Promise<Overview> {
    return this.#get(ask.overview(), signal);
  }

  category(name: string, set: string | null, signal: AbortSignal): Promise<Category> {
    return this.#get(ask.category(name, set), signal);
  }

  set(name: string, signal: AbortSignal): Promise<TaskSet> {
    return this.#get(ask.set(name), signal);
  }

  attempts(asked: Asked, offset: number, limit: number, signal: AbortSignal): Promise<Rows> {
    return this.#get(ask.attempts(asked, offset, limit), signal);
  }

  attempt(id: string, signal: AbortSignal): Promise<AttemptAnswer> {
    return this.#get(ask.attempt(id), signal);
  }

  row(): null {
    return null;
  }
}
