// Dark or light: as the system has it, until the reader chooses.

import { h } from "./dom.ts";

type Theme = "system" | "light" | "dark";
const KEY = "plimsoll-theme";
const ORDER: Theme[] = ["system", "light", "dark"];

const system = () => matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme = "system";

const listeners = new Set<() => void>();

/** Calls this when colours change, for what is drawn pixel by pixel, until `signal` says no more. */
export function onColours(call: () => void, signal: AbortSignal): void {
  listeners.add(call);
  signal.addEventListener("abort", () => listeners.delete(call));
}

/** Puts the colours on that the choice and the system ask for. */
function paint(): void {
  const isDark = chosen === "dark" || (chosen === "system" && system().matches);
  document.documentElement.dataset["theme"] = isDark ? "dark" : "light";
  for (const call of listeners) call();
}

function kept(): Theme {
  // A browser may refuse to keep anything for a file.
  try {
    const word = localStorage.getItem(KEY) as Theme | null;
    return word !== null && ORDER.includes(word) ? word : "system";
  } catch {
    return "system";
  }
}

function use(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds until the page is closed.
  }
  paint();
}

/** The choice between the three. */
export function choice(): HTMLElement {
  use(kept());
  system().addEventListener("change", paint);
  const select = h(
    "select",
    { id: "theme", change: () => use(select.value as Theme) },
    ORDER.map((one) => h("option", { value: one, selected: one === kept() }, one)),
  );
  return h("label", { class: "theme", for: "theme" }, h("span", {}, "Theme"), select);
}
