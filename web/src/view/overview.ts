// What is in the archive: totals, categories, sets.

import { h, text } from "../dom.ts";
import { count } from "../format.ts";
import { toAttempts, toCategory, toSet } from "../link.ts";
import { asked, bars, cutNote, ends, hours, lines, sum, type Ends } from "./lines.ts";
import type { Line } from "../types.ts";
import { fact, part, type Place, type View } from "./place.ts";

/** The view. */
export function overview(place: Place): View {
  const all = place.overview;
  const total = (of: (line: Line) => number | null) => sum(all.categories, of);
  const counted = (end: keyof Ends) => total((line) => line[end]) ?? 0;
  if (all.attempts === 0) {
    return {
      title: all.title,
      body: [
        h("h1", {}, text(all.title, 160)),
        h(
          "p",
          { class: "empty" },
          "No attempts yet. ",
          h("code", {}, "plimsoll run --archive -- COMMAND"),
          " adds one, ",
          h("code", {}, "plimsoll archive import"),
          " takes in what other tools told.",
        ),
      ],
    };
  }
  return {
    title: all.title,
    body: [
      h("h1", {}, text(all.title, 160)),
      h(
        "dl",
        { class: "facts" },
        fact("attempts", h("a", { href: toAttempts({}) }, count(all.attempts))),
        ends(
          {
            done: counted("done"),
            failed: counted("failed"),
            limit: counted("limit"),
            cancelled: counted("cancelled"),
            unknown: counted("unknown"),
          },
          null,
        ),
        fact("sets", count(all.sets_of ?? all.sets.length)),
        fact("categories", count(all.categories_of ?? all.categories.length)),
        hours({
          core_hours: total((line) => line.core_hours),
          gib_hours: total((line) => line.gib_hours),
        }),
      ),
      h(
        "div",
        { class: "columns" },
        bars(
          "Core hours by category",
          all.categories,
          (line) => line.core_hours,
          null,
          "h",
          toCategory,
        ),
        bars(
          "GiB hours by category",
          all.categories,
          (line) => line.gib_hours,
          asked,
          "GiB.h",
          toCategory,
        ),
      ),
      part("Sets", cutNote(all.sets.length, all.sets_of), lines("Sets", all.sets, toSet)),
      part(
        "Categories",
        cutNote(all.categories.length, all.categories_of),
        lines("Categories", all.categories, toCategory),
      ),
    ],
  };
}
