/** Names of bundled files -> the notices of the licences of their packages, which go wherever the bundle goes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const RULE = "=".repeat(80);

/**
 * Every notice once, below the packages that it is of.
 *
 * @param {string[]} files paths, those of packages below `node_modules`
 * @param {string} modules where the packages are
 * @returns {string}
 */
export function notices(files, modules) {
  const packages = new Map();
  for (const name of packagesOf(files, modules)) {
    const { version, license } = described(modules, name);
    const text = notice(modules, name);
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...packages].map(([text, names]) => `${names.join("\n")}\n\n${text}\n`);
  return ["The views of tfprof_widgets contain code of others, under these licences.\n", ...parts].join(
    `\n${RULE}\n\n`,
  );
}

/**
 * The packages of files, with those that they were themselves bundled from.
 *
 * @param {string[]} files
 * @param {string} modules
 */
function packagesOf(files, modules) {
  /** @type {Set<string>} */
  const found = new Set();
  /** @param {string} name */
  const add = (name) => {
    if (!found.has(name)) {
      found.add(name);
      Object.keys(described(modules, name).dependencies ?? {}).forEach(add);
    }
  };
  for (const file of files) {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
    if (name) add(name);
  }
  return [...found].sort();
}

/**
 * @param {string} modules
 * @param {string} name
 * @returns {{version: string, license: string, dependencies?: Record<string, string>}}
 */
const described = (modules, name) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));

/**
 * @param {string} modules
 * @param {string} name
 */
function notice(modules, name) {
  const file = readdirSync(join(modules, name)).find((one) => /^(licen[cs]e|copying)(\.\w+)?$/i.test(one));
  if (!file) throw new Error(`${name} is bundled and has no file with its licence, which its users must be given`);
  return readFileSync(join(modules, name, file), "utf8")
    .replaceAll("\r\n", "\n")
    .trim();
}
