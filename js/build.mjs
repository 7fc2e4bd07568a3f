/**
 * Turns js/src into tfprof_widgets/static: one ES module and one style sheet per view.
 *
 * `node build.mjs` writes, `node build.mjs --check` compares what is committed with a fresh build and writes nothing,
 * `node build.mjs timeline` builds one view. The first line of every module is a hash of js/src, so that
 * tests/test_bundle.py can tell without Node that the committed bundles belong to the committed sources.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const SRC = join(HERE, "src");
const OUT = join(HERE, "..", "tfprof_widgets", "static");

/** Views whose bundle loads the table library before it builds them. */
const TABLES = ["hlo_table", "input_graph", "kernel_table", "layer_table", "memory_timeline", "op_table"];

/** The text of a module that mounts one view. */
function mounted(name) {
  const builder = name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const [mount, file] = TABLES.includes(name)
    ? ["mountWithTables", "tables"]
    : [name === "diff_panel" ? "mountPlain" : "mount", "view"];
  return `import { ${mount} } from "./ui/${file}";
import { ${builder} } from "./views/${name}/${name}";
export default ${mount}(${builder});`;
}

/** Name of a bundle -> its entry: a view for each Python view of the same name, and what is in entries/. */
const ENTRIES = new Map([
  ...readdirSync(join(SRC, "views")).map((name) => [
    name,
    { stdin: { contents: mounted(name), resolveDir: SRC, sourcefile: `${name}.ts`, loader: "ts" } },
  ]),
  ...readdirSync(join(SRC, "entries")).map((file) => [
    file.replace(/\.ts$/, ""),
    { entryPoints: [join(SRC, "entries", file)] },
  ]),
]);

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

async function bundle(name, entry) {
  const result = await esbuild.build({
    ...entry,
    bundle: true,
    write: false,
    outdir: OUT,
    // What views run as a function, not as a module, gives its exports a name.
    ...(name === "hosts" ? { format: "iife", globalName: "tfprofHosts" } : { format: "esm" }),
    target: "es2022",
    minify: true,
    // Licences of bundled libraries stay with the code; a view without styles still gets an (empty) sheet.
    legalComments: "inline",
    charset: "utf8",
    logLevel: "warning",
  });
  const text = (extension) => result.outputFiles.find((file) => file.path.endsWith(extension))?.text ?? "";
  return { js: `/* source sha256:${sourceHash()} */\n${text(".js")}`, css: text(".css") };
}

const args = process.argv.slice(2);
const check = args.includes("--check");
const wanted = args.filter((arg) => !arg.startsWith("--"));
let stale = 0;
mkdirSync(OUT, { recursive: true });
for (const [name, entry] of ENTRIES) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const built = await bundle(name, entry);
  for (const [extension, text] of Object.entries(built)) {
    const path = join(OUT, `${name}.${extension}`);
    if (!check) {
      writeFileSync(path, text);
      console.log(`${name}.${extension} ${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB`);
    } else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
      console.error(`tfprof_widgets/static/${name}.${extension} is stale: run "npm run build" in js/ and commit it`);
      stale += 1;
    }
  }
}
if (stale > 0) process.exitCode = 1;
