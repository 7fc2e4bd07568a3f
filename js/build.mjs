/**
 * Turns js/src into tfprof_widgets/static: the bundle and the style sheet of all views, and the small scripts that load them.
 *
 * `node build.mjs` writes, `node build.mjs --check` compares what is committed with a fresh build and writes nothing.
 * source.sha256 is a hash of js/src, so that tests/test_bundle.py can tell without Node that the committed bundle belongs
 * to the committed sources.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { onlyUsedLayout } from "./layout_library.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const SRC = join(HERE, "src");
const OUT = join(HERE, "..", "tfprof_widgets", "static");

function sourceHash() {
  const hash = createHash("sha256");
  const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(SRC, path).split(sep).join("/"), path])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, path] of files) {
    hash.update(name).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function bundled(names, format) {
  return esbuild.build({
    entryPoints: names.map((name) => join(SRC, "entries", `${name}.ts`)),
    bundle: true,
    write: false,
    outdir: OUT,
    format,
    target: "es2022",
    minify: true,
    // Licences of bundled libraries stay with the code.
    legalComments: "inline",
    charset: "utf8",
    // The short names of the same numbers.
    define: { "Number.POSITIVE_INFINITY": "Infinity", "Number.NEGATIVE_INFINITY": "-1e999", "Number.NaN": "NaN" },
    logLevel: "warning",
    plugins: [onlyUsedLayout],
  });
}

/** Name of a built file -> its text. */
async function build() {
  // A script that must run at once, and several times a page, is no module.
  const outputs = await Promise.all([bundled(["views", "loader", "page"], "esm"), bundled(["fallback"], "iife")]);
  const built = outputs.flatMap(({ outputFiles }) => outputFiles.map(({ path, text }) => [basename(path), text]));
  return new Map([...built, ["source.sha256", `${sourceHash()}\n`]]);
}

mkdirSync(OUT, { recursive: true });
for (const [name, text] of await build()) {
  const path = join(OUT, name);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
    console.log(`${name} ${Buffer.byteLength(text).toLocaleString("en-US")} bytes`);
  } else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    console.error(`tfprof_widgets/static/${name} is stale: run "npm run build" in js/ and commit it`);
    process.exitCode = 1;
  }
}
