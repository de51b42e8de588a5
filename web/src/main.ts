// The page: its head, and which view the address asks for.

import "uplot/dist/uPlot.min.css";
import "./style/colours.css";
import "./style/text.css";
import "./style/pictures.css";
import "./style/tables.css";
import { open, Refusal, type Source } from "./data.ts";
import { cut, fill, h, s, text } from "./dom.ts";
import { amount, count, zone } from "./format.ts";
import { readRoute, type Route } from "./route.ts";
import { choice } from "./theme.ts";
import type { Overview } from "./types.ts";
import { attempt } from "./view/attempt.ts";
import { attempts } from "./view/attempts.ts";
import { category } from "./view/category.ts";
import { overview } from "./view/overview.ts";
import type { Place, View } from "./view/place.ts";
import { set } from "./view/set.ts";

/** Answers later than this show that there is something to wait for. */
const PATIENCE_MS = 150;

/** The line of Samuel Plimsoll: how deep a ship may lie. */
function mark(): SVGSVGElement {
  return s(
    "svg",
    { width: 26, height: 20, viewBox: "0 0 26 20", "aria-hidden": "true" },
    s("circle", { cx: 13, cy: 10, r: 7.5, class: "mark-ring" }),
    s("path", { d: "M1 10h24", class: "mark-line" }),
  );
}

class Page {
  readonly #main = h("main", { id: "main", tabindex: -1 });
  readonly #told = h("footer", {});
  readonly #links = h("nav", { "aria-label": "Parts" });
  #shown = new AbortController();
  #overview: Overview | null = null;
  #source: Source | null = null;
  #isFirst = true;

  constructor(root: Element) {
    fill(
      root,
      h(
        "a",
        { class: "skip", href: "#main", click: (event: Event) => this.#skip(event) },
        "To the content",
      ),
      h(
        "header",
        {},
        h("a", { class: "home", href: "#/" }, mark(), "Plimsoll"),
        this.#links,
        choice(),
      ),
      this.#main,
      this.#told,
    );
    window.addEventListener("hashchange", () => void this.show());
  }

  /** The address is that of the view: the link only moves the focus. */
  #skip(event: Event): void {
    event.preventDefault();
    this.#main.focus();
  }

  /** Shows what the address asks for. */
  async show(): Promise<void> {
    this.#shown.abort();
    this.#shown = new AbortController();
    const { signal } = this.#shown;
    const waits = setTimeout(
      () => fill(this.#main, h("p", { class: "waits", role: "status" }, "Asking …")),
      PATIENCE_MS,
    );
    try {
      this.#source ??= open(document);
      this.#overview ??= await this.#source.overview(signal);
      this.#frame();
      const place = { source: this.#source, overview: this.#overview, signal };
      const view = await make(place, readRoute(location.hash));
      if (!signal.aborted) this.#put(view);
    } catch (error) {
      if (!signal.aborted) this.#refuse(error);
    } finally {
      clearTimeout(waits);
    }
  }

  #put(view: View): void {
    document.title = `${cut(view.title, 80)} · Plimsoll`;
    const held =
      document.activeElement?.closest("form.filters") === null
        ? null
        : (document.activeElement as HTMLInputElement | null)?.name;
    fill(this.#main, view.body);
    this.#frame();
    if (this.#isFirst) this.#isFirst = false;
    else if (held)
      this.#main.querySelector<HTMLElement>(`form.filters [name="${CSS.escape(held)}"]`)?.focus();
    else {
      // Who reads by ear is told where they are now; who scrolled down begins at the top.
      window.scrollTo(0, 0);
      this.#main.focus({ preventScroll: true });
    }
  }

  #frame(): void {
    const all = this.#overview;
    if (all === null || this.#source === null) return;
    const at = location.hash.split("?")[0];
    const tab = (to: string, name: string) =>
      h(
        "a",
        { href: to, "aria-current": at === to || (at === "" && to === "#/") ? "page" : null },
        name,
      );
    fill(this.#links, tab("#/", "Overview"), tab("#/attempts", "Attempts"));
    const refresh = h("button", { type: "button", click: () => this.#again() }, "Ask again");
    const made =
      all.made === null
        ? null
        : [
            "as of ",
            h("time", { datetime: new Date(all.made).toISOString() }, amount(all.made, "ms")),
          ];
    fill(
      this.#told,
      h("span", {}, all.is_live ? "Live, " : "A file, ", made),
      h("span", {}, `times of ${zone()}`),
      h("span", {}, `${count(all.attempts)} ${all.attempts === 1 ? "attempt" : "attempts"}`),
      h("span", {}, "plimsoll ", text(all.version, 30)),
      this.#source.isFile ? null : refresh,
    );
  }

  #refuse(error: unknown): void {
    const told = error instanceof Error ? error.message : String(error);
    const mayRetry = error instanceof Refusal && error.mayRetry;
    document.title = "Plimsoll";
    fill(
      this.#main,
      h("h1", {}, "No answer"),
      h("p", { class: "problem", role: "alert" }, text(told, 600)),
      h(
        "p",
        {},
        mayRetry
          ? h("button", { type: "button", class: "retry", click: () => this.#again() }, "Try again")
          : null,
        " ",
        this.#overview === null ? null : h("a", { href: "#/" }, "To the overview"),
      ),
    );
    this.#frame();
  }

  #again(): void {
    this.#overview = null;
    void this.show();
  }
}

async function make(place: Place, route: Route): Promise<View> {
  switch (route.name) {
    case "overview":
      return overview(place);
    case "category":
      return category(place, route.of, route.set);
    case "set":
      return set(place, route.of);
    case "attempt":
      return attempt(place, route.of);
    case "attempts":
      return attempts(place, route.words);
    case "unknown":
      throw new Refusal("There is nothing at this address.", false);
  }
}

const root = document.getElementById("page");
if (root !== null) void new Page(root).show();
