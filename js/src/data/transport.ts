/**
 * The messages between a page and the kernel, and what the parts that arrive are put together to.
 *
 * Few keys are outstanding at a time, so that what comes on screen can overtake. A front end that drops binary buffers is
 * asked for text instead. Every connected view lends its model: any one of them may be closed while parts arrive.
 */

import { GrowingTable, numbers, type Span } from "./columns";
import type { Events } from "./events";
import type { TraceMeta } from "./meta";
import { EMPTY_TABLE, fromBase64, type Inflater, type Pack, parsePack, type Table } from "./pack";
import { type AnyModel, atEnd } from "./widget";

export interface Reply {
  readonly message: Readonly<Record<string, unknown>>;
  readonly buffers: readonly Uint8Array[];
}

interface Wishes {
  /** Whether a part that nobody asked for is wanted: the kernel sends what the reader will look at before it is free. */
  lacks(key: string): boolean;
  next(): string;
  take(key: string, bytes: Uint8Array): void;
  /** `key` cannot be had ("" when the kernel does not say which). */
  refuse(key: string, reason: string): void;
}

const MAX_OUTSTANDING = 3;
const STALL_MS = 5000;
const CALL_LIMIT_MS = 60_000;

interface Message {
  readonly kind?: string;
  readonly key?: string;
  readonly id?: number;
  readonly data?: string;
  readonly message?: string;
}

export class Transport {
  readonly #models = new Set<AnyModel>();
  readonly #asked = new Set<string>();
  readonly #calls = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  #encoding: "binary" | "base64" = "binary";
  #askedAt = 0;
  #heardAt = 0;
  /** Silence after which outstanding keys are asked for again. */
  #patience = STALL_MS;
  #lastCall = 0;

  constructor(readonly wishes: Wishes) {}

  get hasAnswered() {
    return this.#heardAt > 0;
  }

  join(model: AnyModel, signal: AbortSignal) {
    const onMessage = (message: Message, buffers?: unknown[]) => this.#hear(message ?? {}, buffers ?? []);
    model.on("msg:custom", onMessage);
    this.#models.add(model);
    // A kernel that has not answered yet is busy and will; a stream that stopped half-way is a reason to ask again.
    const timer = setInterval(() => this.#watch(), 1000);
    const leave = () => {
      model.off("msg:custom", onMessage);
      this.#models.delete(model);
      clearInterval(timer);
    };
    atEnd(signal, leave);
    if (this.#asked.size > 0 && Date.now() - Math.max(this.#askedAt, this.#heardAt) > STALL_MS)
      this.#ask([...this.#asked]);
    this.pump();
  }

  pump() {
    if (this.#models.size === 0) return;
    const keys: string[] = [];
    while (this.#asked.size < MAX_OUTSTANDING) {
      const key = this.wishes.next();
      if (key === "") break;
      this.#asked.add(key);
      keys.push(key);
    }
    if (keys.length > 0) this.#ask(keys);
  }

  isAsked(key: string) {
    return this.#asked.has(key);
  }

  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Reply> {
    this.#lastCall += 1;
    // Views share the model, each message reaches all of them: ids must differ between pages too.
    const id = Math.floor(Math.random() * 2 ** 30) * 1024 + (this.#lastCall % 1024);
    return new Promise<Reply>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#calls.delete(id);
        act();
      };
      const late = new Error(
        `The kernel did not answer "${name}" within ${CALL_LIMIT_MS / 1000} s: it is busy or gone.`,
      );
      const timer = setTimeout(() => end(() => reject(late)), CALL_LIMIT_MS);
      atEnd(signal, () => end(() => reject(new DOMException("cancelled", "AbortError"))));
      this.#calls.set(id, {
        resolve: (reply) => end(() => resolve(reply)),
        reject: (error) => end(() => reject(error)),
      });
      this.#send({ ...args, kind: "call", id, name, encoding: this.#encoding });
    });
  }

  #ask(keys: readonly string[]) {
    this.#askedAt = Date.now();
    this.#send({ kind: "parts?", keys: [...keys], encoding: this.#encoding });
  }

  #send(message: Readonly<Record<string, unknown>>) {
    const [model] = this.#models;
    try {
      model?.send(message);
    } catch (error) {
      // A restored model without a kernel throws; the page lives on with what it holds.
      this.wishes.refuse("", `There is no kernel to ask: ${String(error)}`);
    }
  }

  /** Twice as patient each time: a kernel that is busy after all answers every question when it is free. */
  #watch() {
    const isSilent = this.#heardAt > 0 && Date.now() - Math.max(this.#askedAt, this.#heardAt) > this.#patience;
    if (this.#asked.size === 0 || !isSilent) return;
    this.#patience *= 2;
    this.#ask([...this.#asked]);
  }

  #hear(message: Message, buffers: unknown[]) {
    if (message.kind === "part") this.#hearPart(message.key ?? "", message.data, buffers);
    else if (message.kind === "reply" && message.id !== undefined) {
      this.#calls
        .get(message.id)
        ?.resolve({ message: { ...message }, buffers: buffers.flatMap((b) => asBytes(b) ?? []) });
    } else if (message.kind === "error") this.#hearError(message);
  }

  #hearPart(key: string, data: string | undefined, buffers: unknown[]) {
    this.#heardAt = Date.now();
    this.#patience = STALL_MS;
    if (!this.#asked.has(key) && !this.wishes.lacks(key)) return;
    const bytes = data === undefined ? asBytes(buffers[0]) : fromBase64(data);
    if (!bytes) {
      if (this.#encoding === "base64") return;
      this.#encoding = "base64";
      this.#ask([...this.#asked]);
      return;
    }
    this.#asked.delete(key);
    this.wishes.take(key, bytes);
    this.pump();
  }

  #hearError({ id, key, message }: Message) {
    const reason = String(message ?? "The kernel could not answer.");
    if (id !== undefined) {
      this.#calls.get(id)?.reject(new Error(reason));
      return;
    }
    this.#heardAt = Date.now();
    if (key !== undefined && !this.#asked.delete(key)) return;
    this.wishes.refuse(key ?? "", reason);
    this.pump();
  }
}

function asBytes(buffer: unknown): Uint8Array | null {
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  if (ArrayBuffer.isView(buffer)) return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return null;
}

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
  get window(): Span | null {
    const span = this.#window?.meta.window as readonly [number, number] | undefined;
    return span ? { t0: span[0], t1: span[1] } : null;
  }
  takeWindow(pack: Pack) {
    this.#window = pack;
  }

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

  get nBytes(): number {
    const tables = [...Object.values(this.#tables), ...Object.values(this.first.tables)];
    const columns = tables.flatMap((table) => Object.values(table.columns));
    return columns.reduce((sum, column) => sum + column.byteLength, 0);
  }
}

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
  get nBytes(): number {
    return this.#nBytes;
  }
  takeTables(tile: number, stats: Table, counts: Table) {
    this.#bytes.set(tile, new Uint8Array());
    this.#open.set(tile, Promise.resolve(opened(stats, counts)));
  }

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
