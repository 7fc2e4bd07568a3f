/** Keeps the flows of each tile as they came, and finds those of one event. */
import { lowerBound } from "../wire/bisect";
import { numbers } from "../wire/column";
import type { Table } from "../wire/wire";

/** One end of an arrow, as seen from the other. */
export interface Flow {
  /** Position of the event at the other end. */
  readonly other: number;
  readonly kind: number;
}

export class FlowTables {
  readonly #out = new Map<number, Table>();
  readonly #in = new Map<number, Table>();

  take(tile: number, out: Table | undefined, into: Table | undefined) {
    if (out && out.n > 0) this.#out.set(tile, copied(out));
    if (into && into.n > 0) this.#in.set(tile, copied(into));
  }
  from(tile: number, position: number): Flow[] {
    return find(this.#out.get(tile), "from", "to", position);
  }
  to(tile: number, position: number): Flow[] {
    return find(this.#in.get(tile), "to", "from", position);
  }
}

/** A view of a column would keep the bytes of the whole part. */
function copied(table: Table): Table {
  const columns = Object.fromEntries(Object.entries(table.columns).map(([name, values]) => [name, values.slice()]));
  return { n: table.n, columns };
}

function find(table: Table | undefined, own: string, others: string, position: number): Flow[] {
  if (!table) return [];
  const [ids, other, kind] = [own, others, "kind"].map((name) => numbers(table, name));
  const found: Flow[] = [];
  for (let i = lowerBound(ids, position); i < table.n && ids[i] === position; i++) {
    found.push({ other: other[i], kind: kind[i] });
  }
  return found;
}
