/** A library that Python sends as the state of one shared model -> its text, run once a page whatever number of views use it. */

import { fromBase64, inflate } from "../model/wire/wire";
import type { Host } from "./afm";

/** The text of a library's script, and what it calls itself. */
export interface Script {
  readonly text: string;
  readonly name: string;
}

/**
 * What `run` makes of the library that `ref` names. Each widget has its own copy of this module, hence the registry on
 * globalThis; two versions in one page, such as an old saved output beside a new one, stay apart.
 */
export async function loadLibrary<T>(
  host: Host,
  ref: string,
  run: (script: Script) => T | Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const model = await host.getModel(ref, { signal });
  const name = `${String(model.get("name"))} ${String(model.get("version"))}`;
  const page = globalThis as unknown as Record<symbol, Promise<T> | undefined>;
  const key = Symbol.for(`tfprof_widgets.${name}`);
  page[key] ??= start(String(model.get("source") ?? ""), name, run).catch((error: unknown) => {
    page[key] = undefined;
    throw error;
  });
  return page[key];
}

async function start<T>(source: string, name: string, run: (script: Script) => T | Promise<T>): Promise<T> {
  if (source === "") throw new Error(`${name} is missing from this page; re-run the cell that made the view`);
  return run({ text: new TextDecoder().decode(await inflate(fromBase64(source))), name });
}
