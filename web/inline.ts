// Puts script and style into the page, and a policy before them that allows these two texts and
// nothing else: no other script, no request but to where the page came from.
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** Where the data of the one file are inserted. */
export const MARKER = "<!-- plimsoll-data -->";

/** The word by which a policy names one text, as `script-src` and `style-src` take it. */
export function digest(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/** The policy of a page with this one script and this one style. */
export function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${digest(script)}`,
    `style-src ${digest(style)}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** The page with its parts in it. The script comes last, so that the data stand before it. */
export function inline(html: string, script: string, style: string): string {
  // Within a script only these two could end it or change how it is read.
  const safe = script
    .replace(/<\/(script)/gi, "<\\/$1")
    .replaceAll("<!--", "<\\!--")
    .trim();
  const sheet = style.trim();
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy(safe, sheet)}" />`;
  const page = html
    .replace(/\s*<script type="module"[^>]*><\/script>/g, "")
    .replace(/\s*<link rel="stylesheet"[^>]*>/g, "")
    .replace(/(<meta charset="utf-8" \/>)/, () => `<meta charset="utf-8" />\n    ${meta}`)
    .replace("</head>", () => `  <style>${sheet}</style>\n  </head>`)
    .replace("</body>", () => `  <script>${safe}</script>\n  </body>`);
  if (page.split(MARKER).length !== 2) {
    throw new Error(`the page must have ${MARKER} exactly once`);
  }
  return page;
}

/** The plugin: of a build of one script and one style it leaves one file. */
export function oneFile(): Plugin {
  return {
    name: "one-file",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (name.endsWith(".css")) style += String(part.source);
        else continue;
        delete bundle[name];
      }
      const page = bundle["index.html"];
      if (page?.type !== "asset" || script === "" || style === "") {
        throw new Error("the build has no page, no script or no style");
      }
      page.source = inline(String(page.source), script, style);
    },
  };
}
