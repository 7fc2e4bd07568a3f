/**
 * What a page holds of one trace, what to ask the kernel for next, and the messages to it.
 *
 * Parts come with the model's state, the first of them with what the others are read with, and then one by one in the order
 * in which the reader needs them. Views
 * share one store per trace: each has its own copy of this module, so the store lives on globalThis. Few keys are
 * outstanding at a time, so that what comes on screen can overtake. A front end that drops binary buffers is asked for text.
 */

import { GrowingTable, numbers, type Span } from "./columns";
import { BYTES_PER_EVENT, Events } from "./events";
import type { TraceMeta } from "./meta";
import {
  EMPTY_TABLE,
  fromBase64,
  type Inflater,
  newInflater,
  type Pack,
  parsePack,
  type Table,
  type TypedArray,
} from "./pack";
import { type AnyModel, atEnd, drawn, type Host, Listeners, ofPage, wholeTraits } from "./widget";

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

class Transport {
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

class Sections {
  readonly #sections = new Map<string, Section>();
  readonly #tables: Record<string, Table> = {};
  #window: Pack | null = null;

  constructor(
    readonly first: Pack,
    readonly meta: TraceMeta,
  ) {
    for (const [name, { n_rows, n_parts }] of Object.entries(meta.sections ?? {})) {
      if (BY_TILE.includes(name)) continue;
      const section = { nRows: n_rows, nParts: n_parts, parts: new Map(), nPlaced: 0, columns: null, list: null };
      this.#sections.set(name, { ...section, isWhole: n_parts === 0 });
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

  /** Keeps a part; true when its section has become whole with it. What is no section is a sample of something. */
  take(name: string, part: number, pack: Pack): boolean {
    const section = this.#sections.get(name);
    if (!section) this.#tables[name] ??= pack.tables[name];
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

const MAX_OPEN = 2;

interface OpenTile {
  readonly stats: Table;
  /** Rows of the tile's event k: [offset[k], offset[k + 1]). */
  readonly offset: Uint32Array;
}

class TileStats {
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

  async of(events: Events, position: number): Promise<Table> {
    const tile = events.tileOf(position);
    const { stats, offset } = await this.#opened(tile);
    const k = events.ordinalOf(tile, position);
    const own = (values: TypedArray) => values.subarray(offset[k], offset[k + 1]);
    const columns = Object.entries(stats.columns).map(([name, values]) => [name, own(values)]);
    return { n: k < 0 ? 0 : offset[k + 1] - offset[k], columns: Object.fromEntries(columns) };
  }

  #opened(tile: number): Promise<OpenTile> {
    let found = this.#open.get(tile);
    if (!found) {
      found = this.#inflate(tile);
      for (const old of this.#open.keys()) {
        if (this.#open.size < MAX_OPEN) break;
        this.#open.delete(old);
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

class Names {
  generation = 0;
  readonly #family: Uint8Array;
  readonly #count: Uint32Array;
  readonly table: Table;

  constructor(first: Pack, meta: TraceMeta) {
    const n = Math.max(meta.names.length, meta.sections?.names?.n_rows ?? 0);
    for (let id = meta.names.length; id < n; id++) meta.names.push("");
    this.#family = new Uint8Array(n).fill(7);
    this.#count = new Uint32Array(n);
    this.table = { n, columns: { family: this.#family, count: this.#count } };
    this.#place(first.tables.names, 0);
  }

  take(meta: TraceMeta, part: Pack) {
    const first = Number(part.meta.first ?? 0);
    const names = (part.meta.names ?? []) as string[];
    for (let k = 0; k < names.length; k++) meta.names[first + k] = names[k];
    this.#place(part.tables.names, first);
    this.generation += 1;
  }

  #place(table: Table | undefined, first: number) {
    if (!table) return;
    this.#family.set(numbers(table, "family"), first);
    if (table.columns.count) this.#count.set(numbers(table, "count"), first);
  }
}

/** Columns that are loaded without being asked for: beyond, only what is on screen comes. */
const BUDGET_BYTES = 2 ** 30;

/** So few tiles on screen come before everything else: they are what the reader looks at. */
const FEW_TILES = 4;

const TURN_MS = 15;

type Change = "tables" | "progress" | "tiles" | "names" | "problem";

export interface EventsState extends Readonly<Record<"isOffline" | "isFull" | "hasKernel", boolean>> {
  readonly problem: string;
}

/** So long a kernel may take to send what a page has only a window of. */
const WINDOW_AFTER_MS = 2500;

export class TraceData {
  /** The host that tables are of, as it stands in a sentence; "" for all hosts. */
  readonly of: string = "";
  nViews = 0;
  meta!: TraceMeta;
  /** Why something cannot come, in words for the reader; "" while nothing is wrong. */
  problem = "";
  /** There is no kernel, and never will be, as in an exported page. */
  readonly isOffline: boolean;
  readonly #listeners = new Listeners<[change: Change, name: string]>();
  readonly #transport: Transport;
  readonly #inflater: Inflater = newInflater();
  readonly #stats = new TileStats(this.#inflater);
  #sections!: Sections;
  #names!: Names;
  /** Where the reader looks; null while no view shows events. */
  #wanted: Span | null = null;
  readonly #needed = new Set<string>();
  #events: Events | null = null;
  readonly #refused = new Set<string>();
  readonly #decoding = new Set<string>();
  readonly #wantedStats = new Set<number>();
  /** The parts of the state, by when they are unpacked. */
  readonly #unpacked: Promise<readonly Promise<unknown>[]>;
  /** From when on the next tile may be taken. */
  #turnAt = 0;

  constructor(model: AnyModel, ref: string) {
    this.isOffline = Boolean(model.get("is_offline"));
    this.#transport = new Transport({
      lacks: (key) => this.#lacks(key),
      next: () => this.#next(),
      take: (key, bytes) => void this.#take(key, bytes),
      refuse: (key, reason) => this.#refuse(key, reason),
    });
    this.#unpacked = this.#takeFirst(model, ref);
  }

  /** Resolves when these of the parts of the state are unpacked, and those before them. */
  async unpacked(reads: Reads): Promise<void> {
    const stages = await this.#unpacked;
    await Promise.all(stages.slice(0, READS.indexOf(reads) + 1));
  }

  /** Asks through the model of one more view, until the signal. */
  join(model: AnyModel, signal: AbortSignal) {
    if (!this.isOffline) this.#transport.join(model, signal);
  }

  /** A table as a whole; while it is not, its rows in the window of a capped page; undefined where there are none. */
  readonly table = (name: string): Table | undefined =>
    name === "names" ? this.#names.table : this.#sections.table(name);
  isWhole(name: string) {
    return this.#sections.isWhole(name);
  }
  nRows(name: string) {
    return this.#sections.nRows(name);
  }
  arrived(names: readonly string[]) {
    return this.#sections.count(names);
  }
  get window() {
    return this.#sections.window;
  }
  /** Grows when names arrive that were "" before. */
  get namesGeneration() {
    return this.#names.generation;
  }
  get hasKernel() {
    return this.#transport.hasAnswered;
  }
  get eventsState(): EventsState {
    const { isOffline, hasKernel, problem } = this;
    return { isOffline, hasKernel, problem, isFull: this.#isOverBudget };
  }
  /** Share of the events (or else of the parts) that have arrived, 0 to 1. */
  get progress() {
    if (this.#events) return this.#events.n > 0 ? this.#events.nLoaded / this.#events.n : 1;
    const [here, all] = this.arrived(this.#sections.names);
    return all > 0 ? here / all : 1;
  }

  onChange(listener: () => void, signal: AbortSignal) {
    this.#listeners.add(() => listener(), signal);
  }
  /** Calls `listener` when a table or list (of those named, if any are) became whole that was not before. */
  onTables(listener: () => void, signal: AbortSignal, names: readonly string[] = []) {
    this.#listeners.add((change, name) => {
      const isMeant = names.length === 0 || name === "window" || names.includes(name);
      if (change === "tables" && isMeant) listener();
    }, signal);
  }

  /** Resolves when the tables and lists are whole, or when a capped page holds no more of them than their window. */
  async ready(names: readonly string[]): Promise<void> {
    const areWhole = () => names.every((name) => this.isWhole(name));
    if (!areWhole()) await this.unpacked("all");
    if (areWhole() || (this.isOffline && this.#sections.hasWindow)) return;
    for (const name of names) this.#needed.add(name);
    let timer: ReturnType<typeof setTimeout> | undefined;
    // Whether a kernel will answer is not known: a page that was saved has its window, if that is all there will be.
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => this.#sections.hasWindow && resolve(), WINDOW_AFTER_MS);
    });
    await Promise.race([this.#when(areWhole), late]);
    clearTimeout(timer);
  }

  #when(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = new AbortController();
      const look = () => {
        if (!isSo()) return;
        end.abort();
        resolve();
      };
      this.#listeners.add(look, end.signal);
      this.#transport.pump();
    });
  }

  wantSpan(span: Span) {
    if (this.#wanted?.t0 === span.t0 && this.#wanted.t1 === span.t1) return;
    this.#wanted = span;
    if (!this.events.isComplete) this.#transport.pump();
  }

  /** Rows of the table `stats` (key, kind, bits) of one event. */
  async stats(position: number): Promise<Table> {
    const tile = this.events.tileOf(position);
    const isHere = () => this.#stats.has(tile) && this.events.isLoaded(tile);
    if (!this.#stats.has(tile)) this.#wantedStats.add(tile);
    if (!isHere()) await this.#when(isHere);
    return this.#stats.of(this.events, position);
  }

  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Reply> {
    return this.#transport.call(name, args, signal);
  }

  /** Made when the first view asks, and loaded from then on: a page without a timeline keeps no memory for it. */
  get events(): Events {
    if (!this.#events) {
      this.#events = new Events((name) => this.#sections.table(name), this.meta.lines.length);
      for (const [tile, pack] of this.#early) this.#events.take(tile, pack.tables);
      this.#early.clear();
    }
    return this.#events;
  }
  readonly #early = new Map<number, Pack>();

  async #takeFirst(model: AnyModel, ref: string): Promise<readonly Promise<unknown>[]> {
    const traits = await wholeTraits(model, ref, "parts");
    const [first, ...others] = traits("parts") as readonly (readonly [string, string])[];
    const pack = parsePack(await this.#inflater.run(fromBase64(first?.[1] ?? "")));
    this.meta = pack.meta as unknown as TraceMeta;
    this.meta.names ??= [];
    readOps(this.meta, pack.tables.ops);
    this.#sections = new Sections(pack, this.meta);
    this.#names = new Names(pack, this.meta);
    let before: Promise<unknown> = Promise.resolve();
    return READS.map((reads) => {
      const parts = others.filter(([key]) => readBy(key) === reads);
      const turn = before;
      const all = Promise.all(parts.map(([key, text]) => this.#take(key, fromBase64(text), turn)));
      before = all.then(drawn);
      return all;
    });
  }

  /** Inflates at once, and unpacks in its turn. */
  async #take(key: string, bytes: Uint8Array, turn?: Promise<unknown>) {
    const [name, number] = splitKey(key);
    if (name === "stats") {
      this.#stats.take(number, bytes);
      this.#wantedStats.delete(number);
      this.#notify("tiles");
      return;
    }
    this.#decoding.add(key);
    try {
      const [raw] = await Promise.all([this.#inflater.run(bytes), turn]);
      const pack = parsePack(raw);
      if (name === "events" && this.#events) await this.#nextTurn();
      this.#takePack(name, number, pack);
    } catch (error) {
      this.#refuse(key, `Part "${key}" of the trace is unreadable: ${String(error)}`);
    } finally {
      this.#decoding.delete(key);
      this.#transport.pump();
    }
  }

  /** Tiles come in one a frame: several at once would make it late. */
  async #nextTurn() {
    const now = performance.now();
    const wait = this.#turnAt - now;
    this.#turnAt = Math.max(now, this.#turnAt) + TURN_MS;
    if (wait > 0 && !globalThis.document?.hidden) await new Promise((resolve) => setTimeout(resolve, wait));
  }

  #takePack(name: string, number: number, pack: Pack) {
    if (name === "events") {
      if (this.#events) this.#events.take(number, pack.tables);
      else this.#early.set(number, pack);
      this.#notify("tiles");
    } else if (name === "names") {
      this.#names.take(this.meta, pack);
      this.#sections.take(name, number, { meta: {}, tables: {} });
      this.#notify("names");
    } else if (name === "window") {
      this.#sections.takeWindow(pack);
      this.#notify("tables", name);
    } else {
      const isWhole = this.#sections.take(name, number, pack);
      if (isWhole && name === "ops") readOps(this.meta, this.#sections.table("ops"));
      this.#notify(isWhole ? "tables" : "progress", name);
    }
  }

  #refuse(key: string, reason: string) {
    this.problem = reason;
    if (key !== "") this.#refused.add(key);
    this.#notify("problem");
  }

  #notify(change: Change, name = "") {
    this.#listeners.tell(change, name);
  }

  #lacks(key: string): boolean {
    const [name] = splitKey(key);
    return !this.#decoding.has(key) && (this.#sections?.missing(name).includes(key) ?? false);
  }

  /** The key of the part to ask for next: what the reader waits for, then what is on screen, then the rest. */
  #next(): string {
    if (!this.meta) return "";
    const isFree = (key: string) =>
      !this.#refused.has(key) && !this.#decoding.has(key) && !this.#transport.isAsked(key);
    const firstOf = (names: Iterable<string>) =>
      [...names].flatMap((name) => this.#sections.missing(name)).find(isFree) ?? "";
    const tile = this.#nextTile(isFree, true);
    if (tile !== "" && this.#nOnScreen <= FEW_TILES) return tile;
    for (const stats of this.#wantedStats) if (isFree(`stats:${stats}`)) return `stats:${stats}`;
    const needed = firstOf(this.#needed);
    if (needed !== "") return needed;
    const shown = tile || firstOf(["names"]);
    if (shown !== "" || this.#isOverBudget) return shown;
    return this.#nextTile(isFree, false) || firstOf(this.#sections.names) || this.#nextStats(isFree);
  }

  get #nOnScreen(): number {
    const events = this.#events;
    return events && this.#wanted ? events.tileAt(this.#wanted.t1) - events.tileAt(this.#wanted.t0) + 1 : 0;
  }

  /** The missing tile nearest to the middle of what is on screen; on screen itself where asked for. */
  #nextTile(isFree: (key: string) => boolean, onScreen: boolean): string {
    const events = this.#events;
    if (!events || events.isComplete || !this.#wanted) return "";
    const { t0, t1 } = this.#wanted;
    const low = onScreen ? events.tileAt(t0) : 0;
    const high = onScreen ? events.tileAt(t1) : events.tiles.n - 1;
    const middle = events.tileAt((t0 + t1) / 2);
    for (let d = 0; d <= Math.max(high - middle, middle - low); d++) {
      for (const tile of [middle + d, middle - d]) {
        if (tile < low || tile > high || events.isLoaded(tile)) continue;
        if (isFree(`events:${tile}`)) return `events:${tile}`;
      }
    }
    return "";
  }

  #nextStats(isFree: (key: string) => boolean): string {
    const n = this.#events?.tiles.n ?? 0;
    for (let tile = 0; tile < n; tile++) {
      if (!this.#stats.has(tile) && isFree(`stats:${tile}`)) return `stats:${tile}`;
    }
    return "";
  }

  get #nBytes(): number {
    return this.#sections.nBytes + this.#stats.nBytes + (this.#events?.nLoaded ?? 0) * BYTES_PER_EVENT;
  }
  get #isOverBudget(): boolean {
    return this.#nBytes >= BUDGET_BYTES;
  }
  get isComplete(): boolean {
    const areWhole = this.#sections.names.every((name) => this.#sections.isWhole(name));
    return areWhole && (this.#events?.isComplete ?? true);
  }

  close() {
    this.#inflater.close();
    this.#listeners.clear();
  }
}

/** "events:12" is part 12 of `events`; a key without a number is all of it. */
function splitKey(key: string): readonly [string, number] {
  const at = key.lastIndexOf(":");
  return at < 0 ? [key, 0] : [key.slice(0, at), Number(key.slice(at + 1))];
}

/** What views read of the parts of a state, in the order in which they are unpacked: figures and cards, what a timeline draws, all. */
const READS = ["figures", "events", "all"] as const;
export type Reads = (typeof READS)[number];

function readBy(key: string): Reads {
  const [name] = splitKey(key);
  if (["kernels", "structure", "hlo_graphs"].includes(name)) return "all";
  return ["sample", "window", ...BY_TILE].includes(name) ? "events" : "figures";
}

/** The views read the ops of a trace as lists of the meta object. */
function readOps(meta: TraceMeta, table: Table | undefined) {
  const { name, type, family, is_device, is_eager, only_waits } = (table ?? EMPTY_TABLE).columns;
  if (!name && meta.op_name) return;
  const list = (values: unknown) => Array.from((values ?? []) as ArrayLike<number>);
  Object.assign(meta, {
    op_name: list(name),
    op_type: list(type),
    op_family: list(family),
    op_device: list(is_device),
    op_eager: list(is_eager),
    op_waits: list(only_waits),
  });
}

/** The store of a trace, when what the view reads of the parts that its state has is unpacked. */
export async function connectData(
  host: Host,
  ref: string,
  signal: AbortSignal,
  reads: Reads = "all",
): Promise<TraceData> {
  const model = await host.getModel(ref, { signal });
  signal.throwIfAborted();
  const store = acquire(String(model.get("data_id")), model, ref, signal);
  await store.unpacked(reads);
  signal.throwIfAborted();
  store.join(model, signal);
  return store;
}

function acquire(id: string, model: AnyModel, ref: string, signal: AbortSignal): TraceData {
  const all = ofPage("data", () => new Map<string, TraceData>());
  const store = all.get(id) ?? new TraceData(model, ref);
  all.set(id, store);
  store.nViews += 1;
  const leave = () => {
    store.nViews -= 1;
    if (store.nViews > 0 || all.get(id) !== store) return;
    all.delete(id);
    store.close();
  };
  atEnd(signal, leave);
  return store;
}
