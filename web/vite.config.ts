import { defineConfig } from "vitest/config";
import { oneFile } from "./inline.ts";

export default defineConfig({
  base: "./",
  server: { proxy: { "/api": process.env["PLIMSOLL"] ?? "http://127.0.0.1:8080" } },
  plugins: [oneFile()],
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { format: "iife" } },
  },
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/*.test.ts"],
          // One browser, one test at a time: what fails is told by one page.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
