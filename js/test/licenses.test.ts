import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { notices } from "../licenses.mjs";

let modules = "";
beforeEach(() => {
  modules = mkdtempSync(join(tmpdir(), "tfprof-licenses-"));
});
afterEach(() => rmSync(modules, { recursive: true }));

function addPackage(name: string, text: string | null, dependencies: Record<string, string> = {}): void {
  mkdirSync(join(modules, name), { recursive: true });
  writeFileSync(join(modules, name, "package.json"), JSON.stringify({ version: "1.0", license: "MIT", dependencies }));
  if (text !== null) writeFileSync(join(modules, name, "LICENSE.md"), text);
}

test("each notice is told once, of packages and of what they were bundled from", () => {
  addPackage("@a/outer", "Mine\r\n", { inner: "1" });
  addPackage("inner", "Mine");
  addPackage("other", "Other");
  addPackage("unused", "Unused");
  const text = notices(["src/a.ts", "node_modules/@a/outer/x.js", "node_modules/other/y.js"], modules);
  expect(text).toContain("@a/outer 1.0 (MIT)\ninner 1.0 (MIT)\n\nMine\n");
  expect(text.split("Mine").length).toBe(2);
  expect(text).toContain("other 1.0 (MIT)\n\nOther\n");
  expect(text).not.toContain("nused");
});

test("a package without a notice is not bundled", () => {
  addPackage("outer", "Mine", { inner: "1" });
  addPackage("inner", null);
  expect(() => notices(["node_modules/outer/x.js"], modules)).toThrow("inner is bundled and has no file");
});
