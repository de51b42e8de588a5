// A browser that tells of every request and every complaint, and a server on this machine alone.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import type { Embedded } from "../../src/types.ts";
import { withData } from "../fixtures.ts";

const BUILT = new URL("../../dist/index.html", import.meta.url);
const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];

/** The built page, as it is put into the program. */
export function built(): string {
  if (!existsSync(BUILT)) throw new Error("web/dist/index.html is missing: npm run build");
  return readFileSync(BUILT, "utf8");
}

function program(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  const named = process.env["CHROMIUM"];
  const all =
    named === undefined
      ? folders.flatMap((one) => PROGRAMS.map((name) => join(one, name)))
      : [named];
  const found = all.find((one) => existsSync(one));
  if (found === undefined)
    throw new Error("no chromium on PATH: apt-get install chromium, or set CHROMIUM");
  return found;
}

/** Starts the browser. As root it has no sandbox; it opens nothing but what these tests made. */
export function start(): Promise<Browser> {
  const args = ["--disable-dev-shm-usage", "--disable-background-networking"];
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  return chromium.launch({ executablePath: program(), args });
}

/** How a page is opened. */
export interface Look {
  width?: number;
  theme?: "light" | "dark";
  zone?: string;
}

/** A page, and what it did that it should not. */
export interface Watched {
  page: Page;
  faults: string[];
  close(): Promise<void>;
}

/** A page that may ask for what begins with `origin` and nothing else. */
export async function open(browser: Browser, origin: string, look: Look = {}): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: look.width ?? 1280, height: 900 },
    colorScheme: look.theme ?? "light",
    timezoneId: look.zone ?? "Europe/Berlin",
    locale: "en-GB",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      faults.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:"))
      faults.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, faults, close: () => context.close() };
}

/** A folder of pages with data, removed at the end. */
export class Files {
  readonly #folder = mkdtempSync(join(tmpdir(), "plimsoll-page-"));

  /** Writes the page with these data and gives back its address. */
  write(name: string, data: Embedded): string {
    const file = join(this.#folder, `${name}.html`);
    writeFileSync(file, withData(built(), data));
    return pathToFileURL(file).href;
  }

  /** The page without any data. */
  bare(): string {
    const file = join(this.#folder, "bare.html");
    writeFileSync(file, built());
    return pathToFileURL(file).href;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** What a server answers: a status and a body. */
export type Answer = (
  path: string,
  request: IncomingMessage,
) => Promise<[number, string]> | [number, string];

/** A server that has the page, and answers questions with `answer`. */
export async function serve(
  answer: Answer,
): Promise<{ origin: string; asked: string[]; close(): Promise<void> }> {
  const asked: string[] = [];
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "/").slice(1);
    if (path === "") {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(built());
      return;
    }
    asked.push(path);
    const [status, body] = await answer(path, request);
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };
  const server = createServer((request, response) => void reply(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
  return { origin: `http://127.0.0.1:${port}/`, asked, close };
}
