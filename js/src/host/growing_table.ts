/** Turns the parts of a table, one after the other, into its columns: each part costs a copy of its own rows. */
import { lazyBuffer } from "../model/wire/lazy_memory";
import type { Table, TypedArray } from "../model/wire/wire";

type Column = { new (buffer: ArrayBuffer, offset: number, n: number): TypedArray; BYTES_PER_ELEMENT: number };

export class GrowingTable {
  readonly table: Table;
  #nRows = 0;

  /** `like`: a table with the same columns. */
  constructor(like: Table, nRows: number) {
    const columns: Record<string, TypedArray> = {};
    const entries = Object.entries(like.columns);
    const sizes = entries.map(([, values]) => Math.ceil((nRows * values.BYTES_PER_ELEMENT) / 8) * 8);
    const bytes = lazyBuffer(sizes.reduce((sum, size) => sum + size, 0));
    let offset = 0;
    for (const [k, [name, values]] of entries.entries()) {
      columns[name] = new (values.constructor as unknown as Column)(bytes, offset, nRows);
      offset += sizes[k];
    }
    this.table = { n: nRows, columns };
  }

  append(part: Table) {
    if (this.#nRows + part.n > this.table.n) throw new Error(`${this.#nRows + part.n} rows of ${this.table.n}`);
    for (const [name, values] of Object.entries(this.table.columns)) {
      const more = part.columns[name];
      if (!more) throw new Error(`a part without column ${name}`);
      values.set(more as never, this.#nRows);
    }
    this.#nRows += part.n;
  }
}
