// The one file, opened from disk: everything in it is shown, and nothing else is asked for.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { MARKER } from "../../inline.ts";
import { ask } from "../../src/data.ts";
import type { Embedded, Overview, TaskSet } from "../../src/types.ts";
import { empty, hostile, large, single, small } from "../fixtures.ts";
import { built, Files, open, start, type Look } from "./browser.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
const files = new Files();
const data: Record<string, Embedded> = {
  small: small(),
  hostile: hostile(),
  large: large(),
  single: single(),
  empty: empty(),
};
const address: Record<string, string> = {};
data["timeless"] = timeless("run 1");

beforeAll(async () => {
  browser = await start();
  for (const [name, of] of Object.entries(data)) address[name] = files.write(name, of);
});
afterAll(async () => {
  await browser?.close();
  files.remove();
});

/** The small one, of which nobody knows when a set's attempts ran. */
function timeless(set: string): Embedded {
  const made = small();
  const of = made.answers[ask.set(set)] as TaskSet;
  Object.assign(of, { rows: [], rows_of: 0, without_times: of.attempts });
  of.counts = { at: [], running: [], queued: null };
  of.cores = { at: [], busy: [] };
  return made;
}

/** Opens a view of one archive, does something there, and fails on whatever should not be. */
async function visit(
  name: string,
  hash: string,
  look: Look,
  act: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, faults, close } = await open(browser, address[name] ?? "", look);
  await page.goto(`${address[name]}${hash}`);
  await page.waitForSelector("main h1");
  await act(page);
  expect(faults).toEqual([]);
  expect(await page.evaluate(() => (window as unknown as { hit?: unknown }).hit)).toBeUndefined();
  await close();
}

/** Nothing is wider than the page, and axe finds nothing. */
async function sound(page: Page): Promise<void> {
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(wide).toBeLessThanOrEqual(0);
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
        }>;
      };
    };
    const { violations } = await axe.run();
    return violations.map(
      (one) =>
        `${one.id}: ${one.nodes.map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(" | ")}`,
    );
  });
  expect(found).toEqual([]);
}

const first = (name: string) => data[name]?.rows[0]?.id ?? "";
const VIEWS: [string, string][] = [
  ["overview", "#/"],
  ["category", "#/category/sort"],
  ["set", "#/set/run%201"],
  ["attempt", `#/attempt/${first("small")}`],
  ["attempts", "#/attempts?end=limit"],
];

describe.each(VIEWS)("%s", (_name, hash) => {
  test.each<[string, number]>([
    ["light", 1280],
    ["dark", 360],
    ["dark", 1920],
  ])("in %s, %d wide", async (theme, width) => {
    await visit("small", hash, { theme: theme as "light" | "dark", width }, sound);
  });
});

describe("what an archive says is no markup", () => {
  const overview = hostile().answers["api/overview"] as Overview;
  const word = encodeURIComponent;
  const all = [
    "#/",
    "#/attempts",
    `#/attempts?text=${word("<script>window.hit=1</script>")}`,
    `#/attempt/${hostile().rows[0]?.id}`,
    ...overview.categories.map((one) => `#/category/${word(one.name)}`),
    ...overview.sets.map((one) => `#/set/${word(one.name)}`),
    "#/category/<img src=x onerror=window.hit=1>",
  ];
  test("in any view", async () => {
    await visit("hostile", "#/", {}, async (page) => {
      for (const hash of all) {
        const before = await page.locator("main").innerText();
        await page.evaluate((to) => (location.hash = to), hash);
        if (hash !== "#/")
          await expect.poll(() => page.locator("main").innerText()).not.toBe(before);
        for (const fold of await page.locator("details > summary").all())
          if (await fold.isVisible()) await fold.click();
        const shown = await page.evaluate(() => document.body.innerText);
        expect(shown, hash).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0000]/);
        expect(await page.locator("main script, main img, main b").count(), hash).toBe(0);
      }
    });
  });

  test.each(all.filter((_hash, n) => n % 5 === 0))("and can be read by all: %s", async (hash) => {
    await visit("hostile", hash, { width: 360 }, sound);
  });

  test("a text of a megabyte is cut, with all of it on request", async () => {
    const row = data["hostile"]?.rows[3];
    expect(row?.task?.length).toBeGreaterThan(1_000_000);
    await visit("hostile", `#/attempt/${row?.id}`, {}, async (page) => {
      const heading = await page.locator("h1").innerText();
      expect(heading.length).toBeLessThan(300);
      const fold = page
        .locator("tr", { has: page.locator("th", { hasText: /^task$/ }) })
        .locator("details");
      expect(await fold.locator("pre").textContent()).toBe("");
      await fold.locator("summary").click();
      // The element tells of being unfolded a moment later.
      const length = async () => (await fold.locator("pre").textContent())?.length;
      await expect.poll(length).toBeGreaterThan(1_000_000);
    });
  });
});

describe("extremes", () => {
  test("an empty archive says how to fill it", async () => {
    await visit("empty", "#/", {}, async (page) => {
      await sound(page);
      expect(await page.locator("main").innerText()).toContain("No attempts yet");
    });
    await visit("empty", "#/attempts", {}, sound);
  });

  test("one attempt", async () => {
    for (const hash of ["#/", "#/category/align", "#/set/run%201"])
      await visit("single", hash, {}, sound);
  });

  test.each(["report", "merge", "align"])(
    "no memory, all the same, or from KiB to TiB: %s",
    async (name) => {
      await visit("small", `#/category/${name}`, {}, async (page) => {
        await sound(page);
        const captions = await page.locator("figcaption").allInnerTexts();
        expect(captions.includes("Memory")).toBe(name !== "report");
        const svg = page.locator("svg.dense, .plot svg").first();
        expect(await svg.evaluate((one) => one.outerHTML.includes("NaN"))).toBe(false);
        if (name !== "align") return;
        const marks = await page.locator(".points").first().locator("text.mark").allTextContents();
        expect(marks.filter((one) => /^1 (KiB|MiB|GiB|TiB)$/.test(one)).length).toBeGreaterThan(2);
      });
    },
  );

  test("20 000 rows and sets of 5000 leave the document small", async () => {
    await visit("large", "#/set/run%202", {}, async (page) => {
      await page.locator(".gantt canvas").waitFor();
      await page.getByRole("button", { name: "All in sight" }).click();
      await page.locator(".gantt .scroll").evaluate((one) => one.scrollTo(0, 1e6));
      expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(3000);
      await page
        .locator("figure", { has: page.locator(".gantt") })
        .locator("summary")
        .click();
      await page.getByRole("button", { name: "Next" }).waitFor();
      expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(4000);
      await page.locator(".gantt .scroll").click({ position: { x: 400, y: 200 } });
      await page.waitForURL(/#\/attempt\//);
    });
    await visit("large", "#/attempts", {}, async (page) => {
      expect(await page.locator("main").innerText()).toContain(
        "20\u202f000 of 73\u202f408 attempts are in this file",
      );
      expect(await page.locator("table.rows tbody tr").count()).toBe(100);
      await page.getByRole("button", { name: "Next" }).click();
      await page.waitForURL(/offset=100/);
      await sound(page);
    });
  });

  test("what the file has not is said, and a row alone is shown", async () => {
    await visit("small", "#/category/none", {}, async (page) => {
      expect(await page.getByRole("alert").innerText()).toContain("nothing of this category");
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    });
    await visit("small", `#/attempt/${data["small"]?.rows.at(-1)?.id}`, {}, async (page) => {
      expect(await page.locator("main").innerText()).toContain("only the row of this attempt");
      await sound(page);
    });
    await visit("small", `#/attempt/${first("small")}`, {}, async (page) => {
      const told = page.getByRole("row").filter({ hasText: "lower bound" });
      expect(await told.innerText()).toContain("lower bound, at most 1.50 GiB");
    });
    await visit("small", "#/nowhere", {}, sound);
  });
});

describe("by hand", () => {
  test("back, reload and bookmarks lead where they should", async () => {
    await visit("small", "#/", {}, async (page) => {
      await page.getByRole("link", { name: "sort" }).first().click();
      await page.getByRole("heading", { name: "sort", level: 1 }).waitFor();
      await page.reload();
      await page.getByRole("heading", { name: "sort", level: 1 }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: "Sets" }).waitFor();
      await page.goForward();
      await page.getByRole("heading", { name: "sort", level: 1 }).waitFor();
      expect(await page.title()).toBe("sort – category · Plimsoll");
    });
  });

  test("the form asks, sorts and tells what is wrong with a condition", async () => {
    await visit("small", "#/attempts", {}, async (page) => {
      await page.getByLabel("Used").fill("memory>2GiB wall<=10m");
      await page.getByLabel("End").selectOption("done");
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(/where=memory%3E2GiB&where=wall%3C%3D10m/);
      await page.getByRole("button", { name: "memory" }).click();
      await page.waitForURL(/sort=memory&descending=1/);
      const wanted = (data["small"]?.rows ?? []).filter(
        (row) =>
          row.end === "done" && (row.memory ?? 0) > 2 * 1024 ** 3 && (row.wall ?? 1e18) <= 600e9,
      );
      expect(wanted.length).toBeGreaterThan(0);
      await page.getByText(`${wanted.length} match.`).waitFor();
      const most = Math.max(...wanted.map((row) => row.memory ?? 0));
      expect(
        await page.locator("tbody tr").first().locator(".value").first().getAttribute("title"),
      ).toBe(`${most} bytes`);
      await page.getByLabel("Used").fill("colour>1");
      await page.keyboard.press("Enter");
      expect(await page.getByRole("alert").innerText()).toContain("colour");
      expect(await page.getByLabel("Used").inputValue()).toBe("colour>1");
    });
  });

  test("the keyboard reaches everything, and one sees where it is", async () => {
    await visit("small", "#/", {}, async (page) => {
      await page.keyboard.press("Tab");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("To the content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
      const seen = new Set<string>();
      for (let n = 0; n < 200; n += 1) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
          const one = document.activeElement as HTMLElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(one);
          return {
            name: `${one.tagName} ${one.textContent?.slice(0, 30)}`,
            isSeen: outlineStyle !== "none" && outlineWidth !== "0px",
            isBody: one === document.body,
          };
        });
        if (at.isBody) break;
        expect(at).toMatchObject({ isSeen: true });
        seen.add(at.name);
      }
      for (const part of ["A merge", "A run 1", "BUTTON attempts", "INPUT "])
        expect([...seen]).toContain(part);
    });
    await visit("small", "#/", {}, async (page) => {
      const head = page
        .locator("table", { hasText: "merge" })
        .getByRole("button", { name: "attempts" })
        .last();
      await head.focus();
      await page.keyboard.press("Enter");
      expect(
        await page.evaluate(() => document.activeElement?.closest("th")?.getAttribute("aria-sort")),
      ).toBe("descending");
      await page.keyboard.press("Enter");
      expect(
        await page.evaluate(() => document.activeElement?.closest("th")?.getAttribute("aria-sort")),
      ).toBe("ascending");
    });
  });

  test("every picture has a sentence and its numbers", async () => {
    for (const hash of ["#/category/sort", "#/set/run%201", `#/attempt/${first("small")}`]) {
      await visit("small", hash, {}, async (page) => {
        const figures = await page.locator("figure").all();
        expect(figures.length).toBeGreaterThan(1);
        for (const one of figures) {
          const label =
            (await one.locator("[role=img], [role=group]").first().getAttribute("aria-label")) ??
            "";
          expect(label.split(" ").length).toBeGreaterThan(4);
          expect(label).not.toMatch(/NaN|undefined|null/);
          await one.locator("details.numbers > summary").click();
          await one.locator("details.numbers tbody tr").first().waitFor();
        }
      });
    }
  });

  test("a chosen theme outlasts a reload, and pictures follow", async () => {
    await visit("small", "#/set/run%201", {}, async (page) => {
      const ground = () =>
        page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      const drawn = () =>
        page.locator(".gantt canvas").evaluate((one) => (one as HTMLCanvasElement).toDataURL());
      await page.locator(".gantt canvas").waitFor();
      const [light, before] = [await ground(), await drawn()];
      await page.getByLabel("Theme").selectOption("dark");
      expect(await ground()).not.toBe(light);
      expect(await drawn()).not.toBe(before);
      await page.reload();
      await page.waitForSelector("main h1");
      expect(await ground()).not.toBe(light);
    });
  });

  test("a set tells what its categories took, also where nobody knows when", async () => {
    const set = data["small"]?.answers[ask.set("run 1")] as TaskSet;
    for (const name of ["small", "timeless"])
      await visit(name, "#/set/run%201", {}, async (page) => {
        const table = page.getByRole("table", { name: "Categories in this set" });
        expect(await table.locator("tbody tr").count()).toBe(set.categories.length);
        expect(set.categories.length).toBeGreaterThan(1);
        const first = set.categories[0]?.name ?? "";
        expect(await table.locator("tbody tr").first().innerText()).toContain(first);
        const bars = page.getByRole("table", { name: "GiB hours by category" });
        expect(await bars.innerText()).toContain(first);
        await sound(page);
      });
  });

  test("times are those of the reader, whose zone is named", async () => {
    const ended = `#/attempt/${first("small")}`;
    const texts: string[] = [];
    for (const zone of ["America/New_York", "UTC"]) {
      await visit("small", ended, { zone }, async (page) => {
        expect(await page.locator("footer").innerText()).toContain(`times of ${zone}`);
        texts.push(await page.locator("tr", { hasText: "ended" }).locator(".value").innerText());
      });
    }
    const [there, here] = texts.map((text) => Date.parse(`${text.replace(" ", "T")}Z`));
    expect((there ?? 0) - (here ?? 0)).toBe(-5 * 3600e3);
  });

  test("a part of the time is chosen in one picture and shown in all", async () => {
    await visit("small", "#/set/run%201", {}, async (page) => {
      const whole = page.getByRole("button", { name: "Whole time" });
      const curve = page.locator(".timeline .u-over").first();
      await curve.waitFor();
      const drawn = () =>
        page.locator(".gantt canvas").evaluate((one) => (one as HTMLCanvasElement).toDataURL());
      const before = await drawn();
      expect(await whole.isDisabled()).toBe(true);
      const box = await curve.boundingBox();
      if (box === null) throw new Error("no curve");
      await page.mouse.move(box.x + 100, box.y + 30);
      await page.mouse.down();
      await page.mouse.move(box.x + 300, box.y + 30, { steps: 5 });
      await page.mouse.up();
      await expect.poll(() => whole.isEnabled()).toBe(true);
      await expect.poll(drawn).not.toBe(before);
      await whole.click();
      await expect.poll(drawn).toBe(before);
    });
  });
});

describe("the page as it is built", () => {
  test("is small, whole, and has one place for data", () => {
    const page = built();
    expect(Buffer.byteLength(page)).toBeLessThan(300_000);
    expect(page.split(MARKER).length).toBe(2);
    expect(page.indexOf(MARKER)).toBeLessThan(page.indexOf("<script>"));
    expect(page).not.toMatch(/(src|href)="(?!data:)/);
    expect(
      [...page.matchAll(/https?:\/\/[\w.-]+/g)]
        .map((one) => one[0])
        .filter((one) => one !== "http://www.w3.org"),
    ).toEqual([]);
  });

  test("without data, opened from disk, it says what to do and asks for nothing", async () => {
    const bare = files.bare();
    const { page, faults, close } = await open(browser, bare);
    await page.goto(bare);
    expect(await page.getByRole("alert").innerText()).toContain("plimsoll archive html");
    expect(faults).toEqual([]);
    await close();
  });

  test("a script that an archive smuggled in would not run", async () => {
    const { page, close } = await open(browser, address["small"] ?? "");
    await page.goto(address["small"] ?? "");
    await page.waitForSelector("main h1");
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.hit = 1";
      document.body.append(script);
      const image = document.createElement("img");
      image.setAttribute("onerror", "window.hit = 2");
      image.setAttribute("src", "data:,");
      document.body.append(image);
      return new Promise((done) =>
        setTimeout(() => done((window as unknown as { hit?: number }).hit ?? null), 200),
      );
    });
    expect(ran).toBeNull();
    await close();
  });
});
