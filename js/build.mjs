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
import { notices } from "./licenses.mjs";

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

/**
 * The layout library comes as one bundle, whose lists of exports keep alive all that they list: 7 KB that nothing uses.
 * `F(N,{a:()=>x});` fills such a list, and `{a:y}=N` reads it.
 */
const withoutLists = {
  name: "without-lists",
  setup({ onLoad }) {
    onLoad({ filter: /dagre\.esm\.js$/ }, ({ path }) => {
      let text = readFileSync(path, "utf8");
      for (const [call, list, entries] of text.matchAll(/\b\w+\((\w+),\{((?:\w+:\(\)=>[\w$]+,?)+)\}\);/g)) {
        const of = new Map(entries.split(",").map((entry) => entry.split(":()=>")));
        const read = new RegExp(`\\{([\\w$:,]+)\\}=${list}\\b`, "g");
        text = text
          .replace(call, () => `/* @__PURE__ */${call}`)
          .replace(read, (_, names) => {
            const pairs = names.split(",").map((pair) => pair.split(":"));
            return ` ${pairs.map(([name, own]) => `${own}=${of.get(name)}`).join(",")}`;
          });
      }
      return { contents: text };
    });
  },
};

function bundled(names, format, inject = []) {
  return esbuild.build({
    entryPoints: names.map((name) => join(SRC, "entries", `${name}.ts`)),
    bundle: true,
    write: false,
    outdir: OUT,
    format,
    target: "es2022",
    minify: true,
    metafile: true,
    // Licences of bundled libraries stay with the code.
    legalComments: "inline",
    charset: "utf8",
    inject,
    // The short names of the same numbers.
    define: { "Number.POSITIVE_INFINITY": "Infinity", "Number.NEGATIVE_INFINITY": "-1e999", "Number.NaN": "NaN" },
    logLevel: "warning",
    plugins: [withoutLists],
  });
}

/** Name of a built file -> its text. */
async function build() {
  // A script that must run at once, and several times a page, is no module.
  const outputs = await Promise.all([
    bundled(["views"], "esm", [join(HERE, "math.mjs")]),
    bundled(["loader", "page"], "esm"),
    bundled(["fallback"], "iife"),
  ]);
  const built = outputs.flatMap(({ outputFiles }) => outputFiles.map(({ path, text }) => [basename(path), text]));
  const files = outputs.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return new Map([
    ...built,
    ["licenses.txt", notices(files, join(HERE, "node_modules"))],
    ["source.sha256", `${sourceHash()}\n`],
  ]);
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
