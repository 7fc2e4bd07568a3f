/** Keeps the stats of each tile as the bytes that came, and inflates those of a tile when one of its events is asked about. */

import type { Events } from "../model/events/events";
import { numbers } from "../model/wire/column";
import { EMPTY_TABLE, parsePack, type Table } from "../model/wire/wire";
import type { Inflater } from "./inflate";

/** Inflated tiles that are kept: of the event shown now and the one before. */
const MAX_OPEN = 2;

interface OpenTile {
  readonly stats: Table;
  /** Rows of the tile's event k: [offset[k], offset[k + 1]). */
  readonly offset: Uint32Array;
}

export class TileStats {
  readonly #bytes = new Map<number, Uint8Array>();
  #nBytes = 0;
  readonly #open = new Map<number, Promise<OpenTile>>();

  constructor(readonly inflater: Inflater) {}

  has(tile: number): boolean {
    return this.#bytes.has(tile);
  }
  take(tile: number, bytes: Uint8Array) {
    // A message's buffer may be a small view of a large one.
    if (this.#bytes.has(tile)) return;
    this.#bytes.set(tile, bytes.slice());
    this.#nBytes += bytes.byteLength;
  }
  /** Bytes that are kept. */
  get nBytes(): number {
    return this.#nBytes;
  }
  /** Takes tables that came with the first pack. */
  takeTables(tile: number, stats: Table, counts: Table) {
    this.#bytes.set(tile, new Uint8Array());
    this.#open.set(tile, Promise.resolve(opened(stats, counts)));
  }

  /** The rows of the table `stats` (key, kind, bits) of one event. */
  async of(events: Events, position: number): Promise<Table> {
    const tile = events.tileOf(position);
    const { stats, offset } = await this.#opened(tile);
    const k = events.ordinalOf(tile, position);
    const columns = Object.entries(stats.columns).map(([name, values]) => [
      name,
      values.subarray(offset[k], offset[k + 1]),
    ]);
    return { n: k < 0 ? 0 : offset[k + 1] - offset[k], columns: Object.fromEntries(columns) };
  }

  #opened(tile: number): Promise<OpenTile> {
    let found = this.#open.get(tile);
    if (!found) {
      found = this.#inflate(tile);
      for (const old of this.#open.keys()) {
        if (this.#open.size < MAX_OPEN) break;
        if (this.#bytes.get(old)?.byteLength) this.#open.delete(old);
        else break;
      }
      this.#open.set(tile, found);
    }
    return found;
  }

  async #inflate(tile: number): Promise<OpenTile> {
    const bytes = this.#bytes.get(tile);
    if (!bytes) return opened(EMPTY_TABLE, EMPTY_TABLE);
    const { tables } = parsePack(await this.inflater.run(bytes));
    return opened(tables.stats ?? EMPTY_TABLE, tables.stat_counts ?? EMPTY_TABLE);
  }
}

function opened(stats: Table, counts: Table): OpenTile {
  const n = numbers(counts, "n");
  const offset = new Uint32Array(counts.n + 1);
  for (let k = 0; k < counts.n; k++) offset[k + 1] = offset[k] + n[k];
  return { stats, offset };
}
