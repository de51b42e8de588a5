// What all pictures have: a caption, a sentence for those who do not see it, the numbers as a table
// on request, and a width that follows that of the page.

import { h, s, type Child } from "../dom.ts";
import { amount, exact, mark } from "../format.ts";
import type { Scale } from "../scale.ts";

/** Room around the drawn field, in pixels. */
export interface Room {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A picture with its caption; `table` is made when it is unfolded. */
export function figure(
  caption: Child,
  summary: string,
  plot: HTMLElement,
  table: (() => HTMLElement) | null,
  ...notes: Child[]
): HTMLElement {
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", summary);
  plot.classList.add("plot");
  const numbers = h("div", {});
  const fold = h("details", { class: "numbers" }, h("summary", {}, "Numbers"), numbers);
  fold.addEventListener("toggle", () => {
    if (fold.open && numbers.childElementCount === 0 && table !== null) numbers.append(table());
  });
  return h(
    "figure",
    {},
    h("figcaption", {}, caption),
    plot,
    notes.length > 0 ? h("div", { class: "notes" }, notes) : null,
    table === null ? null : fold,
  );
}

/** Draws into an element whenever its width changes. */
export function fluid(draw: (width: number) => Node, signal: AbortSignal): HTMLElement {
  const plot = h("div", {});
  let drawn = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(plot.clientWidth);
    if (width === drawn || width < 40) return;
    drawn = width;
    plot.replaceChildren(draw(width));
  });
  observer.observe(plot);
  signal.addEventListener("abort", () => observer.disconnect());
  return plot;
}

/** The frame of a drawing in SVG: its axes with marks; gives back the places of values. */
export function frame(
  width: number,
  height: number,
  room: Room,
  x: { scale: Scale; unit: string } | null,
  y: { scale: Scale; unit: string },
): { svg: SVGSVGElement; px(value: number): number; py(value: number): number } {
  const [wide, high] = [width - room.left - room.right, height - room.top - room.bottom];
  const px = (value: number) => room.left + (x?.scale.at(value) ?? 0) * wide;
  const py = (value: number) => room.top + (1 - y.scale.at(value)) * high;
  const bottom = room.top + high;
  const svg = s("svg", { width, height, "aria-hidden": "true" });
  for (const tick of y.scale.ticks) {
    const at = py(tick);
    svg.append(
      s("line", { class: "grid", x1: room.left, x2: width - room.right, y1: at, y2: at }),
      s(
        "text",
        { class: "mark", x: room.left - 6, y: at + 4, "text-anchor": "end" },
        mark(tick, y.unit),
      ),
    );
  }
  if (x !== null) {
    let free = -Infinity;
    let before = "";
    for (const tick of x.scale.ticks) {
      const at = px(tick);
      svg.append(s("line", { class: "tick", x1: at, x2: at, y1: bottom, y2: bottom + 4 }));
      const label = mark(tick, x.unit);
      const half = label.length * 3.4;
      // Marks that would run into one another are left out, and those that read as the one before.
      if (label === before || at - half < free || at + half > width + 8) continue;
      free = at + half + 8;
      before = label;
      // At the edge it would be cut.
      const middle = Math.min(at, width - half);
      svg.append(
        s("text", { class: "mark", x: middle, y: bottom + 17, "text-anchor": "middle" }, label),
      );
    }
  }
  svg.append(
    s("line", { class: "axis", x1: room.left, x2: width - room.right, y1: bottom, y2: bottom }),
  );
  return { svg, px, py };
}

/** An amount in readable units, exact in its title. */
export function value(of: number | null | undefined, unit: string): HTMLElement {
  return h("span", { class: "value", title: exact(of, unit) }, amount(of, unit));
}
