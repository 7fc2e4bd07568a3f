/**
 * Turns the shared TraceData model into decoded tables, once per page.
 *
 * The overview comes with the model's state; the rest is asked for chunk by chunk and replaces the overview's tables when
 * the last chunk is there. Views share one store per trace: each has its own copy of this module, so the store lives on
 * globalThis. Every connected view feeds it, hence any one of them may be closed while chunks arrive.
 */
import type { AnyModel, Host } from "./afm";
import type { TraceMeta } from "./core/meta";
import { concatTables, decodePack, fromBase64, type Pack, type Table } from "./core/wire";

export interface TraceData {
  readonly meta: TraceMeta;
  table(name: string): Table | undefined;
  /** Whether all rows of the trace are here, or still only the overview's. */
  readonly isComplete: boolean;
  /** Share of the detail that has arrived, 0 to 1. */
  readonly progress: number;
  /** Why the detail cannot come, in words for the reader; "" while nothing is wrong. */
  readonly problem: string;
  /** Calls `listener` when more arrived, when everything is here and when a problem came up. */
  onChange(listener: () => void, signal: AbortSignal): void;
}

const STORES_KEY = Symbol.for("tfprof_widgets.data");
const STALL_MS = 5000;

/** Plain data: module copies of one version share it. */
interface Store {
  n_views: number;
  overview: Promise<Pack>;
  pack: Pack | null;
  tables: Record<string, Table>;
  chunks: Map<number, Pack>;
  n_chunks: number;
  is_complete: boolean;
  problem: string;
  encoding: "binary" | "base64";
  asked_at: number;
  heard_at: number;
  listeners: Set<() => void>;
}

function stores(): Map<string, Store> {
  const page = globalThis as unknown as Record<symbol, Map<string, Store> | undefined>;
  page[STORES_KEY] ??= new Map();
  return page[STORES_KEY];
}

export async function connectData(host: Host, ref: string, signal: AbortSignal): Promise<TraceData> {
  const model = await host.getModel(ref, { signal });
  signal.throwIfAborted();
  const id = String(model.get("data_id"));
  const store = acquire(id, model, signal);
  store.pack ??= await store.overview;
  if (!store.is_complete) listen(store, model, signal);
  return new StoreData(store, store.pack.meta as unknown as TraceMeta);
}

function acquire(id: string, model: AnyModel, signal: AbortSignal): Store {
  const all = stores();
  const store = all.get(id) ?? newStore(model);
  all.set(id, store);
  store.n_views += 1;
  signal.addEventListener(
    "abort",
    () => {
      store.n_views -= 1;
      if (store.n_views === 0 && all.get(id) === store) all.delete(id);
    },
    { once: true },
  );
  return store;
}

function newStore(model: AnyModel): Store {
  return {
    n_views: 0,
    overview: decodePack(fromBase64(String(model.get("overview")))),
    pack: null,
    tables: {},
    chunks: new Map(),
    n_chunks: Number(model.get("n_chunks") ?? 0),
    is_complete: Boolean(model.get("is_complete")),
    problem: "",
    encoding: "binary",
    asked_at: 0,
    heard_at: 0,
    listeners: new Set(),
  };
}

/** Takes chunks for as long as the view lives, and asks for what is missing. */
function listen(store: Store, model: AnyModel, signal: AbortSignal) {
  const ask = () => {
    store.asked_at = Date.now();
    let from = 0;
    while (store.chunks.has(from)) from += 1;
    model.send({ kind: "detail?", encoding: store.encoding, from });
  };
  const onMessage = (message: DetailMessage, buffers?: unknown[]) => {
    if (message?.kind === "error") {
      store.problem = String(message.message ?? "The kernel could not send the details.");
      notify(store);
    } else if (message?.kind === "detail") {
      store.heard_at = Date.now();
      const bytes = message.data ? fromBase64(message.data) : asBytes(buffers?.[0]);
      // Some front ends drop binary buffers: the first view that notices asks again for text.
      if (bytes) void take(store, message.index, message.count, bytes);
      else if (store.encoding === "binary") {
        store.encoding = "base64";
        ask();
      }
    }
  };
  model.on("msg:custom", onMessage);
  // A kernel that is busy answers later, so silence is no reason to ask again; a stream that stopped half-way is.
  const timer = setInterval(() => {
    if (store.is_complete) clearInterval(timer);
    else if (store.heard_at > store.asked_at && Date.now() - store.heard_at > STALL_MS) ask();
  }, 1000);
  signal.addEventListener(
    "abort",
    () => {
      model.off("msg:custom", onMessage);
      clearInterval(timer);
    },
    { once: true },
  );
  if (Date.now() - Math.max(store.asked_at, store.heard_at) > STALL_MS) ask();
}

interface DetailMessage {
  kind: string;
  index: number;
  count: number;
  data?: string;
  message?: string;
}

/** Keeps a chunk; with the last one the detail replaces the overview's tables of the same names. */
async function take(store: Store, index: number, count: number, bytes: Uint8Array) {
  if (store.is_complete || store.chunks.has(index)) return;
  try {
    const pack = await decodePack(bytes);
    if (store.is_complete || store.chunks.has(index)) return;
    store.chunks.set(index, pack);
    store.n_chunks = count;
    if (store.chunks.size === count) finish(store);
  } catch (error) {
    store.problem = `Chunk ${index + 1} of ${count} of the details is unreadable: ${String(error)}`;
  }
  notify(store);
}

function finish(store: Store) {
  const parts: Record<string, Table[]> = {};
  for (let i = 0; i < store.n_chunks; i++) {
    const chunk = store.chunks.get(i);
    if (!chunk) throw new Error(`chunk ${i} is missing`);
    for (const [name, table] of Object.entries(chunk.tables)) {
      parts[name] ??= [];
      parts[name].push(table);
    }
  }
  store.tables = Object.fromEntries(Object.entries(parts).map(([name, tables]) => [name, concatTables(tables)]));
  store.chunks.clear();
  store.is_complete = true;
}

function notify(store: Store) {
  for (const listener of [...store.listeners]) listener();
}

function asBytes(buffer: unknown): Uint8Array | null {
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  if (ArrayBuffer.isView(buffer)) return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return null;
}

class StoreData implements TraceData {
  constructor(
    readonly store: Store,
    readonly meta: TraceMeta,
  ) {}
  table(name: string): Table | undefined {
    return this.store.tables[name] ?? this.store.pack?.tables[name];
  }
  get isComplete() {
    return this.store.is_complete;
  }
  get progress() {
    if (this.store.is_complete) return 1;
    return this.store.n_chunks > 0 ? this.store.chunks.size / this.store.n_chunks : 0;
  }
  get problem() {
    return this.store.problem;
  }
  onChange(listener: () => void, signal: AbortSignal) {
    if (signal.aborted) return;
    this.store.listeners.add(listener);
    signal.addEventListener("abort", () => this.store.listeners.delete(listener), { once: true });
  }
}
