/** A pack with all events in one table -> `Events`, with the tiles that are said to have arrived. */
import { Events } from "../src/data/events";
import type { TraceMeta } from "../src/data/meta";
import type { Pack, Table } from "../src/data/pack";
import { type Tiled, type TilingOptions, tiled } from "./tiling";

export interface Loading extends Tiled {
  readonly events: Events;
  arrive(tile: number): void;
}

/** `arrived`: all tiles when left out. */
export function loading(pack: Pack, options: TilingOptions & { arrived?: readonly number[] } = {}): Loading {
  const cut = tiled(pack, { ...options });
  const nLines = (pack.meta as unknown as TraceMeta).lines.length;
  const events = new Events((name) => cut.first.tables[name], nLines);
  const arrive = (tile: number) => {
    const part = cut.parts.get(`events:${tile}`);
    if (part) events.take(tile, part.tables);
  };
  for (const tile of options.arrived ?? Array.from({ length: events.tiles.n }, (_, k) => k)) arrive(tile);
  return { ...cut, events, arrive };
}

export type Row = readonly [line: number, depth: number, start: number, duration: number];

/** A pack of events given by line, depth and time, in the order of views/payload/tables.py: by line and start. */
export function packOfRows(rows: readonly Row[]): Pack {
  const column = (k: number) => rows.map((row) => row[k]);
  const events: Table = {
    n: rows.length,
    columns: {
      line: Int32Array.from(column(0)),
      depth: Uint16Array.from(column(1)),
      start_ps: Float64Array.from(column(2)),
      duration_ps: Float64Array.from(column(3)),
      self_ps: Float64Array.from(column(3)),
      name: Int32Array.from(rows, (_, i) => i % 7),
    },
  };
  const lines = Array.from({ length: rows.reduce((most, [line]) => Math.max(most, line), 0) + 1 }, () => ({}));
  return { meta: { lines, names: [], op_name: [], duration_ps: 0 }, tables: { events } };
}
