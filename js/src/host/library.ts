/** A script that Python sends as the state of one shared model -> what it defines, run once a page whatever number of views use it. */

import { fromBase64, inflate } from "../model/wire/wire";
import type { AnyModel } from "./afm";
import { type Traits, wholeTraits } from "./kept";

/** The text of a library's script, and what it calls itself. */
export interface Script {
  readonly text: string;
  readonly name: string;
}

type Run<T> = (script: Script, traits: Traits) => T | Promise<T>;

/**
 * What `run` makes of a library, the model that `ref` refers to. Each widget has its own copy of this module, hence the registry on globalThis; two versions
 * in one page, such as an old saved output beside a new one, stay apart.
 */
export function runOnce<T>(model: AnyModel, ref: string, run: Run<T>): Promise<T> {
  const name = `${String(model.get("name"))} ${String(model.get("version"))}`;
  const page = globalThis as unknown as Record<symbol, Promise<T> | undefined>;
  const key = Symbol.for(`tfprof_widgets.${name}`);
  page[key] ??= start(model, ref, name, run).catch((error: unknown) => {
    page[key] = undefined;
    throw error;
  });
  return page[key];
}

async function start<T>(model: AnyModel, ref: string, name: string, run: Run<T>): Promise<T> {
  const traits = await wholeTraits(model, ref, "source");
  const text = await unpacked(traits("source"));
  if (text === "") throw new Error(`${name} is missing from this page; re-run the cell that made the view`);
  return run({ text, name }, traits);
}

/** The text of a trait that Python compressed; "" for none. */
export async function unpacked(trait: unknown): Promise<string> {
  return trait ? new TextDecoder().decode(await inflate(fromBase64(String(trait)))) : "";
}

/** Gives `use` an address of the script, for as long as it runs: neither needs a page that allows `eval`. */
export async function withAddress<T>(text: string, use: (url: string) => Promise<T>): Promise<T> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await use(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
