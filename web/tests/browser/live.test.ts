// The page from a server: what it asks for, and what it does when answers are late, wrong or absent.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Browser } from "playwright-core";
import { select, readAsked } from "../../src/rows.ts";
import { small } from "../fixtures.ts";
import { open, serve, start, type Answer } from "./browser.ts";

let browser: Browser;
const data = small();

beforeAll(async () => {
  browser = await start();
});
afterAll(() => browser?.close());

/** Answers as `plimsoll serve` does. */
const good: Answer = (path) => {
  const words = new URLSearchParams(path.split("?")[1] ?? "");
  if (path === "api/overview")
    return [200, JSON.stringify({ ...(data.answers[path] as object), is_live: true })];
  if (path.startsWith("api/attempts?")) {
    const offset = Number(words.get("offset"));
    try {
      const rows = select(data.rows, readAsked(words));
      return [
        200,
        JSON.stringify({
          schema: "plimsoll.page/1",
          of: rows.length,
          offset,
          rows: rows.slice(offset, offset + Number(words.get("limit"))),
        }),
      ];
    } catch (error) {
      return [400, JSON.stringify({ error: (error as Error).message })];
    }
  }
  const answer = data.answers[path];
  return answer === undefined
    ? [404, JSON.stringify({ error: "nothing of that name" })]
    : [200, JSON.stringify(answer)];
};

/** What a browser says by itself of an answer that is no 200. */
const isStatus = (fault: string) => /console: Failed to load resource/.test(fault);

test("it asks for what it shows, and for nothing else", async () => {
  const server = await serve(good);
  const { page, faults, close } = await open(browser, server.origin);
  await page.goto(server.origin);
  await page.getByRole("heading", { name: "Sets" }).waitFor();
  expect(server.asked).toEqual(["api/overview"]);
  await page.getByRole("link", { name: "run 1" }).click();
  await page.locator(".gantt canvas").waitFor();
  await page.getByRole("link", { name: "Attempts" }).click();
  await page.locator("table.rows").waitFor();
  await page.getByLabel("Used").fill("memory>2GiB");
  await page.keyboard.press("Enter");
  await page.waitForURL(/where=/);
  await page.getByRole("button", { name: "Ask again" }).click();
  await expect.poll(() => server.asked.length).toBe(6);
  const rows = "api/attempts?where=memory%3E2GiB&offset=0&limit=100";
  expect(server.asked).toEqual([
    "api/overview",
    "api/set?name=run%201",
    "api/attempts?offset=0&limit=100",
    rows,
    "api/overview",
    rows,
  ]);
  expect(await page.locator("footer").innerText()).toContain("Live");
  expect(faults).toEqual([]);
  await close();
  await server.close();
});

test("a category of a set is asked for within the set", async () => {
  const server = await serve(good);
  const { page, close } = await open(browser, server.origin);
  await page.goto(`${server.origin}#/set/run%201`);
  await page.locator("section", { hasText: "in this set" }).getByRole("link").first().click();
  await expect.poll(() => server.asked.at(-1)).toMatch(/^api\/category\?name=\w+&set=run%201$/);
  await close();
  await server.close();
});

test("an error is shown, and may be tried again", async () => {
  let isBroken = true;
  const server = await serve((path, request) =>
    isBroken
      ? [500, JSON.stringify({ error: "the archive <b>cannot</b> be read" })]
      : good(path, request),
  );
  const { page, faults, close } = await open(browser, server.origin);
  await page.goto(server.origin);
  expect(await page.getByRole("alert").innerText()).toBe("the archive <b>cannot</b> be read");
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Sets" }).waitFor();
  expect(faults.filter((one) => !isStatus(one))).toEqual([]);
  await close();
  await server.close();
});

test("a refused condition leaves the form, a missing name leads back", async () => {
  const server = await serve(good);
  const { page, faults, close } = await open(browser, server.origin);
  await page.goto(`${server.origin}#/attempts?where=colour%3E1`);
  expect(await page.getByRole("alert").innerText()).toContain("colour");
  expect(await page.getByLabel("Used").inputValue()).toBe("colour>1");
  await page.goto(`${server.origin}#/set/none`);
  await page.getByText("nothing of that name").waitFor();
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  await page.getByRole("link", { name: "To the overview" }).click();
  await page.getByRole("heading", { name: "Sets" }).waitFor();
  expect(faults.filter((one) => !isStatus(one))).toEqual([]);
  await close();
  await server.close();
});

test("an answer that is late does not take the place of a later one", async () => {
  let release: (() => void) | null = null;
  const held = new Promise<void>((done) => (release = done));
  const server = await serve(async (path, request) => {
    if (path.startsWith("api/set")) await held;
    return good(path, request);
  });
  const { page, faults, close } = await open(browser, server.origin);
  await page.goto(`${server.origin}#/set/run%201`);
  await page.getByText("Asking …").waitFor();
  await page.getByRole("link", { name: "Attempts" }).click();
  await page.locator("table.rows").waitFor();
  (release as (() => void) | null)?.();
  await page.getByRole("button", { name: "Next" }).click();
  await page.waitForURL(/offset=100/);
  expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Attempts");
  expect(faults).toEqual([]);
  await close();
  await server.close();
});

test("a server that is gone, or answers nonsense, is told", async () => {
  const server = await serve((path, request) =>
    path.startsWith("api/set") ? [200, "<html>"] : good(path, request),
  );
  const { page, faults, close } = await open(browser, server.origin);
  await page.goto(`${server.origin}#/set/run%201`);
  expect(await page.getByRole("alert").innerText()).toContain("is no JSON");
  await page.getByRole("link", { name: "To the overview" }).click();
  await page.getByRole("heading", { name: "Sets" }).waitFor();
  await server.close();
  await page.getByRole("link", { name: "Attempts" }).click();
  expect(await page.getByRole("alert").innerText()).toContain("does not answer");
  expect(await page.getByRole("button", { name: "Try again" }).isVisible()).toBe(true);
  expect(faults.filter((one) => !isStatus(one))).toEqual([]);
  await close();
});
