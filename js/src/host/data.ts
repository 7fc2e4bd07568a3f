/**
 * Turns the shared TraceData model into what views draw from: tables, and events that arrive tile by tile.
 *
 * The first pack comes with the model's state. Everything else comes as parts, in the order in which the reader needs it:
 * see store.ts for the order and transport.ts for the messages. Views share one store per trace: each has its
 * own copy of this module, so the store lives on globalThis.
 */

import type { Events } from "../model/events/events";
import type { Span } from "../model/time/viewport";
import type { TraceMeta } from "../model/wire/meta";
import type { Table } from "../model/wire/wire";
import type { AnyModel, Host } from "./afm";
import { atEnd, guarded } from "./failures";
import { type Change, Store } from "./store";
import type { Reply } from "./transport";

export type { Reply } from "./transport";

/** Where the events come from, and whether more of them will. */
export interface EventsState {
  readonly problem: string;
  readonly isOffline: boolean;
  /** The browser holds as much as it is meant to. */
  readonly isFull: boolean;
  readonly hasKernel: boolean;
}

export interface TraceData {
  readonly meta: TraceMeta;
  /** A table as a whole; while it is not, its rows in the window of a capped page; undefined where there are none. */
  readonly table: (name: string) => Table | undefined;
  isWhole(name: string): boolean;
  /** Rows that a table has as a whole. */
  nRows(name: string): number;
  /** Of a capped page: the span of time of which every table has all rows. */
  readonly window: Span | null;
  /** Whether everything that was asked for is here. */
  readonly isComplete: boolean;
  /** Share of the events (or else of the parts) that have arrived, 0 to 1. */
  readonly progress: number;
  /** Why something cannot come, in words for the reader; "" while nothing is wrong. */
  readonly problem: string;
  /** Grows when names arrive that were "" before. */
  readonly namesGeneration: number;
  /** Calls `listener` when anything arrived, and when a problem came up. */
  onChange(listener: () => void, signal: AbortSignal): void;
  /** Calls `listener` when a table or list (of those named, if any are) became whole that was not before. */
  onTables(listener: () => void, signal: AbortSignal, names?: readonly string[]): void;
  /** From the first use on, events are loaded. */
  readonly events: Events;
  /** Rows of the table `stats` (key, kind, bits) of one event. */
  stats(position: number): Promise<Table>;
  /** Tiles in this span come first. */
  wantSpan(span: Span): void;
  /** Resolves when the tables and lists are whole, or when a capped page holds no more of them than their window. */
  ready(names: readonly string[]): Promise<void>;
  /** Parts of some tables that have arrived, and of how many. */
  arrived(names: readonly string[]): readonly [number, number];
  /** Whether there is no kernel, and never will be, as in an exported page. */
  readonly isOffline: boolean;
  /** Whether the kernel has answered at all. */
  readonly hasKernel: boolean;
  /** What becomes of the events that are not here. */
  readonly eventsState: EventsState;
  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Reply>;
}

/** So long a kernel may take to send what a page has only a window of. */
const WINDOW_AFTER_MS = 2500;

const STORES_KEY = Symbol.for("tfprof_widgets.data");

function stores(): Map<string, Store> {
  const page = globalThis as unknown as Record<symbol, Map<string, Store> | undefined>;
  page[STORES_KEY] ??= new Map();
  return page[STORES_KEY];
}

export async function connectData(host: Host, ref: string, signal: AbortSignal): Promise<TraceData> {
  const model = await host.getModel(ref, { signal });
  signal.throwIfAborted();
  const store = acquire(String(model.get("data_id")), model, ref, signal);
  await store.whenReady;
  signal.throwIfAborted();
  if (!store.isOffline) store.transport.join(model, signal);
  return new StoreData(store);
}

function acquire(id: string, model: AnyModel, ref: string, signal: AbortSignal): Store {
  const all = stores();
  const store = all.get(id) ?? new Store(model, ref);
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

class StoreData implements TraceData {
  constructor(readonly store: Store) {}

  get meta() {
    return this.store.meta;
  }
  get events() {
    return this.store.events;
  }
  get window() {
    return this.store.sections.window;
  }
  get problem() {
    return this.store.problem;
  }
  get isComplete() {
    return this.store.isComplete;
  }
  get namesGeneration() {
    return this.store.names.generation;
  }
  get isOffline() {
    return this.store.isOffline;
  }
  get hasKernel() {
    return this.store.transport.hasAnswered;
  }
  get eventsState(): EventsState {
    const { isOffline, hasKernel, problem } = this;
    return { isOffline, hasKernel, problem, isFull: this.store.isOverBudget };
  }
  get progress() {
    if (this.store.hasEvents) return this.events.n > 0 ? this.events.nLoaded / this.events.n : 1;
    const [here, all] = this.arrived(this.store.sections.names);
    return all > 0 ? here / all : 1;
  }
  readonly table = (name: string) => (name === "names" ? this.store.names.table : this.store.sections.table(name));
  isWhole(name: string) {
    return this.store.sections.isWhole(name);
  }
  nRows(name: string) {
    return this.store.sections.nRows(name);
  }
  arrived(names: readonly string[]) {
    return this.store.sections.count(names);
  }

  onChange(listener: () => void, signal: AbortSignal) {
    this.#listen(() => listener(), signal);
  }
  onTables(listener: () => void, signal: AbortSignal, names: readonly string[] = []) {
    this.#listen((change, name) => {
      const isMeant = names.length === 0 || name === "window" || names.includes(name);
      if (change === "tables" && isMeant) listener();
    }, signal);
  }
  #listen(listener: (change: Change, name: string) => void, signal: AbortSignal) {
    if (signal.aborted) return;
    const told = guarded(listener, signal);
    this.store.listeners.add(told);
    atEnd(signal, () => this.store.listeners.delete(told));
  }

  async ready(names: readonly string[]): Promise<void> {
    const { store } = this;
    const areWhole = () => names.every((name) => store.sections.isWhole(name));
    if (areWhole() || (store.isOffline && store.sections.hasWindow)) return;
    for (const name of names) store.needed.add(name);
    await new Promise<void>((resolve) => {
      // Whether a kernel will answer is not known: a page that was saved has its window, if that is all there will be.
      const timer = setTimeout(() => store.sections.hasWindow && end(), WINDOW_AFTER_MS);
      const listener = () => {
        if (areWhole()) end();
      };
      const end = () => {
        clearTimeout(timer);
        store.listeners.delete(listener);
        resolve();
      };
      store.listeners.add(listener);
      store.transport.pump();
    });
  }

  wantSpan(span: Span) {
    const { store } = this;
    if (store.wanted?.t0 === span.t0 && store.wanted.t1 === span.t1) return;
    store.wanted = span;
    if (!store.events.isComplete) store.transport.pump();
  }

  async stats(position: number): Promise<Table> {
    const { store, events } = this;
    const tile = events.tileOf(position);
    store.wantStats(tile);
    const isHere = () => store.stats.has(tile) && events.isLoaded(tile);
    if (!isHere()) {
      await new Promise<void>((resolve) => {
        const listener = () => {
          if (!isHere()) return;
          store.listeners.delete(listener);
          resolve();
        };
        store.listeners.add(listener);
      });
    }
    return store.stats.of(events, position);
  }

  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    return this.store.transport.call(name, args, signal);
  }
}
