// The address behind the `#`, and which view it asks for.

/** A view and what it is of. */
export type Route =
  | { name: "overview" }
  | { name: "category"; of: string; set: string | null }
  | { name: "set"; of: string }
  | { name: "attempt"; of: string }
  | { name: "attempts"; words: URLSearchParams }
  | { name: "unknown" };

/** Reads it. An address that somebody cut or changed is unknown; it does no harm. */
export function readRoute(hash: string): Route {
  const whole = hash.replace(/^#/, "");
  const mark = whole.indexOf("?");
  const path = mark < 0 ? whole : whole.slice(0, mark);
  const words = new URLSearchParams(mark < 0 ? "" : whole.slice(mark + 1));
  const [, name = "", ...rest] = path.split("/");
  if (path === "" || path === "/") return { name: "overview" };
  let of: string;
  try {
    of = decodeURIComponent(rest.join("/"));
  } catch {
    return { name: "unknown" };
  }
  // An archive may have a set without a name: `#/set/`, but not `#/set`.
  const isNamed = rest.length > 0;
  if (name === "category" && isNamed) return { name, of, set: words.get("set") };
  if (name === "set" && isNamed) return { name, of };
  if (name === "attempt" && isNamed && of !== "") return { name, of };
  if (name === "attempts" && !isNamed) return { name, words };
  return { name: "unknown" };
}
