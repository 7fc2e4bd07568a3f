/** Prints the base64 of an invented capture: node dev/pack.mjs '{"isCpu": true}'. */
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const built = await esbuild.build({
  stdin: {
    contents: 'export { makeScene } from "../test/scene"; export { encodePack } from "../test/encoding";',
    resolveDir: here("."),
    loader: "ts",
  },
  bundle: true,
  write: false,
  format: "esm",
  platform: "node",
});
const module = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);
const pack = module.makeScene(JSON.parse(process.argv[2] ?? "{}"));
process.stdout.write(Buffer.from(await module.encodePack(pack)).toString("base64"));
