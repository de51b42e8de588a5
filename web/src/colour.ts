// Which category has which colour; the rest share one.

/** So many colours can be told from one another. */
export const COLOURS = 8;

/** The most frequent names get the colours, in the order of their numbers. */
export function assign(names: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const ranked = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return new Map(ranked.slice(0, COLOURS).map(([name], at) => [name, at]));
}

/** The value of a custom property of the style, for what is drawn pixel by pixel. */
export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The colour of this number; without one, that of the rest. */
export function colourOf(at: number | undefined): string {
  return css(at === undefined ? "--rest" : `--c${at}`);
}
