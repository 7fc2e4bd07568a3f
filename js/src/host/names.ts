/** Keeps the names of a capture: those in the first pack, and those that come later, in the places that wait for them. */
import { numbers } from "../model/wire/column";
import type { TraceMeta } from "../model/wire/meta";
import { EMPTY_TABLE, type Pack, type Table } from "../model/wire/wire";

export class Names {
  /** Grows with every part. */
  generation = 0;
  readonly #family: Uint8Array;
  readonly #count: Uint32Array;
  readonly table: Table;

  constructor(first: Pack, meta: TraceMeta) {
    const given = first.tables.names ?? EMPTY_TABLE;
    const n = Math.max(meta.names.length, meta.sections?.names?.n_rows ?? 0);
    for (let id = meta.names.length; id < n; id++) meta.names.push("");
    this.#family = new Uint8Array(n).fill(7);
    this.#family.set(numbers(given, "family").subarray(0, n));
    this.#count = new Uint32Array(n);
    if (given.columns.count) this.#count.set(numbers(given, "count").subarray(0, n));
    this.table = { n, columns: { family: this.#family, count: this.#count } };
  }

  take(meta: TraceMeta, part: Pack) {
    const first = Number(part.meta.first ?? 0);
    const names = (part.meta.names ?? []) as string[];
    for (let k = 0; k < names.length; k++) meta.names[first + k] = names[k];
    const table = part.tables.names;
    if (table) {
      this.#family.set(numbers(table, "family"), first);
      if (table.columns.count) this.#count.set(numbers(table, "count"), first);
    }
    this.generation += 1;
  }
}
