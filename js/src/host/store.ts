/** What a page holds of one trace: the first pack, what arrived after it, and what to ask for next. */

import { BYTES_PER_EVENT, Events } from "../model/events/events";
import type { Span } from "../model/time/viewport";
import type { TraceMeta } from "../model/wire/meta";
import { EMPTY_TABLE, fromBase64, type Pack, parsePack, type Table } from "../model/wire/wire";
import type { AnyModel } from "./afm";
import { type Inflater, newInflater } from "./inflate";
import { wholeTraits } from "./kept";
import { Names } from "./names";
import { Sections } from "./sections";
import { TileStats } from "./tile_stats";
import { Transport } from "./transport";

/** Columns that are loaded without being asked for: beyond, only what is on screen comes. */
const BUDGET_BYTES = 2 ** 30;

/** So few tiles on screen come before everything else: they are what the reader looks at. */
const FEW_TILES = 4;

/** About a frame. */
const TURN_MS = 15;

const EVENT_TABLES = ["events", "runs", "flows_out", "flows_in"];

export type Change = "tables" | "progress" | "tiles" | "names" | "problem";

export class Store {
  nViews = 0;
  readonly listeners = new Set<(change: Change, name: string) => void>();
  readonly transport: Transport;
  readonly inflater: Inflater = newInflater();
  readonly stats = new TileStats(this.inflater);
  problem = "";
  /** There is no kernel, and never will be. */
  readonly isOffline: boolean;
  meta!: TraceMeta;
  sections!: Sections;
  names!: Names;
  /** Where the reader looks; null while no view shows events. */
  wanted: Span | null = null;
  /** Sections that views wait for, in the order of asking. */
  readonly needed = new Set<string>();
  #events: Events | null = null;
  readonly #refused = new Set<string>();
  /** Parts that are being decoded. */
  readonly #decoding = new Set<string>();
  readonly #wantedStats = new Set<number>();
  readonly #first: Promise<void>;
  /** From when on the next tile may be taken. */
  #turnAt = 0;

  constructor(model: AnyModel, ref: string) {
    this.isOffline = Boolean(model.get("is_offline"));
    this.transport = new Transport({
      lacks: (key) => this.#lacks(key),
      next: () => this.#next(),
      take: (key, bytes) => void this.#take(key, bytes),
      refuse: (key, reason) => this.#refuse(key, reason),
    });
    this.#first = this.#takeFirst(model, ref);
  }

  /** Resolves when the first pack and what is embedded beside it are decoded. */
  get whenReady(): Promise<void> {
    return this.#first;
  }

  /** Made when the first view asks: a page without a timeline keeps no memory for it. */
  get events(): Events {
    if (!this.#events) {
      this.#events = new Events((name) => this.sections.table(name), this.meta.lines.length);
      this.#takeTilesOfFirstPack(this.#events);
      for (const [tile, pack] of this.#early) this.#events.take(tile, pack.tables);
      this.#early.clear();
    }
    return this.#events;
  }
  get hasEvents(): boolean {
    return this.#events !== null;
  }
  /** Tiles that were embedded, until a view wants events. */
  readonly #early = new Map<number, Pack>();

  async #takeFirst(model: AnyModel, ref: string) {
    const traits = await wholeTraits(model, ref, "overview");
    const pack = parsePack(await this.inflater.run(fromBase64(String(traits("overview")))));
    this.meta = pack.meta as unknown as TraceMeta;
    this.meta.names ??= [];
    readOps(this.meta, pack.tables.ops);
    this.sections = new Sections(pack, this.meta);
    this.names = new Names(pack, this.meta);
    const embedded = (traits("embedded") ?? []) as readonly (readonly [string, string])[];
    await Promise.all(embedded.map(([key, text]) => this.#take(key, fromBase64(text))));
  }

  /** Small captures have their tiles in the first pack, as tables `events:K` and so on. */
  #takeTilesOfFirstPack(events: Events) {
    const { tables } = this.sections.first;
    for (let tile = 0; tile < events.tiles.n; tile++) {
      if (tables[`events:${tile}`]) {
        events.take(tile, Object.fromEntries(EVENT_TABLES.map((name) => [name, tables[`${name}:${tile}`]])));
      }
      const [stats, counts] = [tables[`stats:${tile}`], tables[`stat_counts:${tile}`]];
      if (stats && counts) this.stats.takeTables(tile, stats, counts);
    }
  }

  async #take(key: string, bytes: Uint8Array) {
    const [name, number] = splitKey(key);
    if (name === "stats") {
      this.stats.take(number, bytes);
      this.#wantedStats.delete(number);
      this.#notify("tiles");
      return;
    }
    this.#decoding.add(key);
    try {
      const pack = parsePack(await this.inflater.run(bytes));
      if (name === "events" && this.#events) await this.#nextTurn();
      this.#takePack(name, number, pack);
    } catch (error) {
      this.#refuse(key, `Part "${key}" of the trace is unreadable: ${String(error)}`);
    } finally {
      this.#decoding.delete(key);
      this.transport.pump();
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
      this.names.take(this.meta, pack);
      this.sections.take(name, number, { meta: {}, tables: {} });
      this.#notify("names");
    } else if (name === "window") {
      this.sections.takeWindow(pack);
      this.#notify("tables", name);
    } else {
      const isWhole = this.sections.take(name, number, pack);
      if (isWhole && name === "ops") readOps(this.meta, this.sections.table("ops"));
      this.#notify(isWhole ? "tables" : "progress", name);
    }
  }

  #refuse(key: string, reason: string) {
    this.problem = reason;
    if (key !== "") this.#refused.add(key);
    this.#notify("problem");
  }

  #notify(change: Change, name = "") {
    for (const listener of [...this.listeners]) listener(change, name);
  }

  /** Stats of the tile come next. */
  wantStats(tile: number) {
    if (this.stats.has(tile)) return;
    this.#wantedStats.add(tile);
    this.transport.pump();
  }

  #lacks(key: string): boolean {
    const [name] = splitKey(key);
    return !this.#decoding.has(key) && (this.sections?.missing(name).includes(key) ?? false);
  }

  /** The key of the part to ask for next: what the reader waits for, then what is on screen, then the rest. */
  #next(): string {
    if (!this.meta) return "";
    const isFree = (key: string) => !this.#refused.has(key) && !this.#decoding.has(key) && !this.transport.isAsked(key);
    const ofSection = (name: string) => this.sections.missing(name).find(isFree) ?? "";
    const tile = this.#nextTile(isFree, true);
    if (tile !== "" && this.#nOnScreen <= FEW_TILES) return tile;
    for (const stats of this.#wantedStats) if (isFree(`stats:${stats}`)) return `stats:${stats}`;
    for (const name of this.needed) {
      const key = ofSection(name);
      if (key !== "") return key;
    }
    if (tile !== "") return tile;
    const names = ofSection("names");
    if (names !== "") return names;
    if (this.isOverBudget) return "";
    const outward = this.#nextTile(isFree, false);
    if (outward !== "") return outward;
    for (const name of this.sections.names) {
      const key = ofSection(name);
      if (key !== "") return key;
    }
    return this.#nextStats(isFree);
  }

  /** Tiles of which a part is on screen. */
  get #nOnScreen(): number {
    const events = this.#events;
    return events && this.wanted ? events.tileAt(this.wanted.t1) - events.tileAt(this.wanted.t0) + 1 : 0;
  }

  /** The missing tile nearest to the middle of what is on screen; on screen itself where asked for. */
  #nextTile(isFree: (key: string) => boolean, onScreen: boolean): string {
    const events = this.#events;
    if (!events || events.isComplete || !this.wanted) return "";
    const { t0, t1 } = this.wanted;
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
      if (!this.stats.has(tile) && isFree(`stats:${tile}`)) return `stats:${tile}`;
    }
    return "";
  }

  get nBytes(): number {
    return this.sections.nBytes + this.stats.nBytes + (this.#events?.nLoaded ?? 0) * BYTES_PER_EVENT;
  }
  get isOverBudget(): boolean {
    return this.nBytes >= BUDGET_BYTES;
  }
  /** Whether all that can be asked for is here. */
  get isComplete(): boolean {
    const areWhole = this.sections.names.every((name) => this.sections.isWhole(name));
    return areWhole && (this.#events?.isComplete ?? true);
  }

  close() {
    this.inflater.close();
    this.listeners.clear();
  }
}

/** "events:12" is part 12 of `events`; a key without a number is all of it. */
function splitKey(key: string): readonly [string, number] {
  const at = key.lastIndexOf(":");
  return at < 0 ? [key, 0] : [key.slice(0, at), Number(key.slice(at + 1))];
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
