/** Turns the parts of sections (tables and lists of the payload that are too large for the first pack) into whole ones. */

import type { Span } from "../model/time/viewport";
import type { TraceMeta } from "../model/wire/meta";
import type { Pack, Table } from "../model/wire/wire";
import { GrowingTable } from "./growing_table";

/** What is kept by tile, not joined. */
const BY_TILE = ["events", "stats"];

interface Section {
  readonly nRows: number;
  readonly nParts: number;
  /** Parts that came before one of those in front of them. */
  readonly parts: Map<number, Pack>;
  nPlaced: number;
  columns: GrowingTable | null;
  list: unknown[] | null;
  isWhole: boolean;
}

export class Sections {
  readonly #sections = new Map<string, Section>();
  readonly #tables: Record<string, Table> = {};
  #window: Pack | null = null;

  constructor(
    readonly first: Pack,
    readonly meta: TraceMeta,
  ) {
    for (const [name, { n_rows, n_parts, is_here }] of Object.entries(meta.sections ?? {})) {
      if (BY_TILE.includes(name)) continue;
      const isWhole = is_here || n_parts === 0;
      this.#sections.set(name, {
        nRows: n_rows,
        nParts: n_parts,
        parts: new Map(),
        nPlaced: 0,
        columns: null,
        list: null,
        isWhole,
      });
    }
  }

  /** A table as a whole; else the rows of it that are in the window. */
  table(name: string): Table | undefined {
    return (
      this.#tables[name] ?? (this.isWhole(name) ? undefined : this.#window?.tables[name]) ?? this.first.tables[name]
    );
  }
  isWhole(name: string): boolean {
    return this.#sections.get(name)?.isWhole ?? true;
  }
  nRows(name: string): number {
    return this.#sections.get(name)?.nRows ?? this.table(name)?.n ?? 0;
  }
  get hasWindow(): boolean {
    return this.#window !== null;
  }
  /** The span of time of which the window has everything. */
  get window(): Span | null {
    const span = this.#window?.meta.window as readonly [number, number] | undefined;
    return span ? { t0: span[0], t1: span[1] } : null;
  }
  takeWindow(pack: Pack) {
    this.#window = pack;
  }

  /** Keys of the parts that are missing of a section. */
  missing(name: string): string[] {
    const section = this.#sections.get(name);
    if (!section || section.isWhole) return [];
    return Array.from({ length: section.nParts }, (_, k) => k).flatMap((k) =>
      k < section.nPlaced || section.parts.has(k) ? [] : [`${name}:${k}`],
    );
  }
  get names(): string[] {
    return [...this.#sections.keys()];
  }
  /** Parts of some sections that are here, and of how many. */
  count(names: readonly string[]): readonly [number, number] {
    const known = names.flatMap((name) => this.#sections.get(name) ?? []);
    const sum = (value: (section: Section) => number) => known.reduce((total, section) => total + value(section), 0);
    return [sum((s) => (s.isWhole ? s.nParts : s.nPlaced + s.parts.size)), sum((s) => s.nParts)];
  }

  /** Keeps a part; true when its section has become whole with it. */
  take(name: string, part: number, pack: Pack): boolean {
    const section = this.#sections.get(name);
    if (!section || section.isWhole || part < section.nPlaced || section.parts.has(part)) return false;
    section.parts.set(part, pack);
    // Part by part: joining millions of rows at once would stop the page.
    for (let next = section.parts.get(section.nPlaced); next; next = section.parts.get(section.nPlaced)) {
      section.parts.delete(section.nPlaced);
      section.nPlaced += 1;
      this.#place(name, section, next);
    }
    if (section.nPlaced < section.nParts) return false;
    section.isWhole = true;
    const { columns } = section;
    if (columns) this.#tables[name] = columns.table;
    if (section.list) (this.meta as unknown as Record<string, unknown>)[name] = section.list;
    return true;
  }

  #place(name: string, section: Section, pack: Pack) {
    const table = pack.tables[name];
    const list = pack.meta[name];
    if (table) {
      section.columns ??= new GrowingTable(table, section.nRows);
      section.columns.append(table);
    }
    if (Array.isArray(list)) section.list = [...(section.list ?? []), ...list];
  }

  /** Bytes of the columns that are here. */
  get nBytes(): number {
    const tables = [...Object.values(this.#tables), ...Object.values(this.first.tables)];
    const columns = tables.flatMap((table) => Object.values(table.columns));
    return columns.reduce((sum, column) => sum + column.byteLength, 0);
  }
}
