/** How a view gets its models and its place in a page: from anywidget, from the managers before it, or from saved state. */

import { fromBase64, inflate } from "./pack";

/** How long large traits are waited for, as outputs come one after the other. */
const WAIT_MS = 8000;
const ASK_MS = 500;
const LOOK_MS = 100;

export type Listener = (...args: never[]) => void;

/** A widget model: the state shared with Python. Methods may be called unbound of any particular widget manager. */
export interface AnyModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, listener: Listener): void;
  off(event?: string | null, listener?: Listener | null): void;
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[] | ArrayBufferView[]): void;
}

type Source = Pick<AnyModel, "get" | "send">;

interface HostWidget {
  render(options: { el: HTMLElement; signal?: AbortSignal }): Promise<unknown>;
}

export interface Host {
  getModel(ref: string, options?: { signal?: AbortSignal }): Promise<AnyModel>;
  getWidget(ref: string, options?: { signal?: AbortSignal }): Promise<HostWidget>;
}

export interface RenderProps {
  model: AnyModel;
  el: HTMLElement;
  host: Host;
  signal: AbortSignal;
}

export interface WidgetModule {
  render(props: RenderProps): unknown;
}

const SHOWN = new WeakMap<AbortSignal, (error: unknown) => void>();

export function showFailures(signal: AbortSignal, show: (error: unknown) => void): void {
  SHOWN.set(signal, show);
}

export function atEnd(signal: AbortSignal, act: () => void): void {
  signal.addEventListener("abort", act, { once: true });
}

/** A life that ends with that of `signal` or before, and whose errors are shown in the same place. */
export function within(signal: AbortSignal): AbortController {
  const part = new AbortController();
  if (signal.aborted) part.abort();
  signal.addEventListener("abort", () => part.abort(), { once: true, signal: part.signal });
  const show = SHOWN.get(signal);
  if (show !== undefined) SHOWN.set(part.signal, show);
  return part;
}

/** `fn` with its errors shown, those of its promise too; one whose signal is of no view is left as it is. */
export function guarded<A extends unknown[]>(fn: (...args: A) => unknown, signal: AbortSignal): (...args: A) => void {
  const show = SHOWN.get(signal);
  if (show === undefined) return fn;
  return (...args) => {
    try {
      const result = fn(...args);
      if (result instanceof Promise) result.catch(show);
    } catch (error) {
      show(error);
    }
  };
}

/** Who is told of changes, each until a signal, with errors shown. */
export class Listeners<A extends unknown[] = []> {
  readonly #all = new Set<(...args: A) => void>();

  add(listener: (...args: A) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    const told = guarded(listener, signal);
    this.#all.add(told);
    atEnd(signal, () => this.#all.delete(told));
  }

  tell(...args: A): void {
    for (const listener of [...this.#all]) listener(...args);
  }

  clear(): void {
    this.#all.clear();
  }
}

/** What a page has once, though each script in it has its own copy of this module; forgotten, it is made again. */
export function ofPage<T>(name: string, make: (forget: () => void) => T): T {
  const page = globalThis as unknown as Record<symbol, T | undefined>;
  const key = Symbol.for(`tfprof_widgets.${name}`);
  page[key] ??= make(() => void delete page[key]);
  return page[key];
}

const UNSEEN_MS = 300;

/** Resolves when the page has had the time to draw what is in it now; soon where nothing is drawn, as in a hidden tab. */
export function drawn(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, UNSEEN_MS);
    const end = () => {
      clearTimeout(timer);
      setTimeout(resolve);
    };
    globalThis.requestAnimationFrame?.(() => requestAnimationFrame(end));
  });
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type Traits = (name: string) => unknown;

type State = Readonly<Record<string, unknown>>;
type Find = (id: string) => State | undefined;

/** In a page, whose JSON has no "<". */
const STATE = /widget-state\+json">([^<]*)/;

/** What finds a model in the page of an output, one for each. */
const pages = () => ofPage("pages", () => new Set<Find>());

/** Lets views find what is in the page that an output holds, in sight or not, for as long as the front end has that output. */
export function notePage(holder: HTMLElement): void {
  const weak = new WeakRef(holder);
  let models: WeakRef<Record<string, { readonly state: State }>> | undefined;
  pages().add((id) => {
    const page = weak.deref()?.dataset.page;
    if (!page?.includes(id)) return undefined;
    const read = models?.deref() ?? JSON.parse(STATE.exec(page)?.[1] ?? '{"state":{}}').state;
    models = new WeakRef(read);
    return read[id]?.state;
  });
}

function keptState(id: string): State | undefined {
  return [...pages()].map((find) => find(id)).find(Boolean);
}

const isEmpty = (value: unknown) => value === "" || (Array.isArray(value) && value.length === 0);

function ask(model: Source): void {
  try {
    model.send({ kind: "whole?" });
  } catch {
    // A restored model without a kernel throws.
  }
}

/** The traits of a model; where `large` is empty, once the page that has it or the kernel gave it. */
export async function wholeTraits(model: Source, ref: string, large: string): Promise<Traits> {
  const id = modelId(ref);
  for (let waited = 0; isEmpty(model.get(large)) && waited < WAIT_MS; waited += LOOK_MS) {
    const kept = keptState(id);
    if (kept) return (name) => (isEmpty(model.get(name)) ? kept[name] : model.get(name));
    if (waited === ASK_MS) ask(model);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return (name) => model.get(name);
}

export interface Script {
  readonly text: string;
  readonly name: string;
}

type Run<T> = (script: Script, traits: Traits) => T | Promise<T>;

/**
 * What `run` makes of a library, the model that `ref` refers to: once a page, though each widget has its own copy of this
 * module; two versions in one page, such as an old saved output beside a new one, stay apart.
 */
export function runOnce<T>(model: Source, ref: string, run: Run<T>): Promise<T> {
  const name = `${String(model.get("name"))} ${String(model.get("version"))}`;
  return ofPage(name, (forget) =>
    start(model, ref, name, run).catch((error: unknown) => {
      forget();
      throw error;
    }),
  );
}

async function start<T>(model: Source, ref: string, name: string, run: Run<T>): Promise<T> {
  const traits = await wholeTraits(model, ref, "source");
  const text = await unpacked(traits("source"));
  if (text === "") throw new Error(`${name} is missing from this page; re-run the cell that made the view`);
  return run({ text, name }, traits);
}

/** The text of a trait that Python compressed; "" for none. */
export async function unpacked(trait: unknown): Promise<string> {
  return trait ? new TextDecoder().decode(await inflate(fromBase64(String(trait)))) : "";
}

/** Gives `use` an address of the script, for as long as it runs: neither needs a page that allows `eval`. */
export async function withAddress<T>(text: string, use: (url: string) => Promise<T>): Promise<T> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await use(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

interface Bundle {
  readonly VIEWS: ReadonlyMap<string, WidgetModule>;
  drawPage(page: Document, models: SavedModels, places: Places): Promise<void>;
}

const SHEET = "tfprof-styles";

export function loadBundle(model: Source, ref: string): Promise<Bundle & { readonly styles: string }> {
  return runOnce(model, ref, async ({ text }, traits) => {
    const styles = await unpacked(traits("styles"));
    const bundle = await withAddress(text, (url) => import(url) as Promise<Bundle>);
    return { VIEWS: bundle.VIEWS, drawPage: bundle.drawPage, styles };
  });
}

/** Puts the style sheet where it reaches an element: once into its document, or into the shadow root around it. */
export function addStyles(el: HTMLElement, styles: string): void {
  const root = el.getRootNode();
  const place = root.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? (root as ShadowRoot) : el.ownerDocument.head;
  const sheet = place.querySelector(`style.${SHEET}`) ?? el.ownerDocument.createElement("style");
  sheet.className = SHEET;
  // Of two versions in one page the later one draws both.
  if (sheet.textContent !== styles) sheet.textContent = styles;
  if (!sheet.isConnected) place.append(sheet);
}

/** A model as the manager keeps it, whose methods need their model. */
interface ManagedModel extends AnyModel {
  on(event: string, listener: Listener, context?: unknown): void;
  off(event?: string | null, listener?: Listener | null, context?: unknown): void;
}

interface Manager {
  get_model(id: string): Promise<ManagedModel> | undefined;
}

export function managerHost(manager: Manager | undefined, widget: WidgetModule, signal: AbortSignal): Host {
  if (!manager) throw new Error("it needs anywidget 0.9 or later: pip install -U anywidget, then restart the kernel.");
  const getModel = async (ref: string): Promise<AnyModel> => {
    const model = await manager.get_model(ref.replace("anywidget:", ""));
    if (model === undefined) throw new Error(`this page has no model "${ref}"; run the cell again`);
    const own = {};
    signal.addEventListener("abort", () => model.off(null, null, own));
    return {
      get: (name) => model.get(name),
      set: (name, value) => model.set(name, value),
      save_changes: () => model.save_changes(),
      send: (content, callbacks, buffers) => model.send(content, callbacks, buffers),
      on: (event, listener) => model.on(event, listener, own),
      off: (event, listener) => model.off(event, listener, own),
    };
  };
  const host: Host = {
    getModel,
    getWidget: async (ref) => {
      const model = await getModel(ref);
      return { render: async (place) => widget.render({ signal, ...place, model, host }) };
    },
  };
  return host;
}

/** Ids of models, each with the element that its view belongs in. */
export type Places = readonly (readonly [id: string, place: HTMLElement])[];

export type SavedModels = Readonly<Record<string, { readonly state: Record<string, unknown> }>>;

/** A model whose state lives in the page only: it can be read, set and listened to, and nothing answers a message. */
export function makeModel(state: Record<string, unknown>): AnyModel {
  const listeners = new Map<string, Set<Listener>>();
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      for (const listener of [...(listeners.get(`change:${name}`) ?? [])])
        (listener as (...a: unknown[]) => void)(undefined, value);
    },
    save_changes() {},
    send() {},
    on(event, listener) {
      const own = listeners.get(event) ?? new Set();
      listeners.set(event, own);
      own.add(listener);
    },
    off(event, listener) {
      for (const [name, own] of listeners) {
        if (event && name !== event) continue;
        if (listener) own.delete(listener);
        else own.clear();
      }
    },
  };
}

/** "anywidget:<id>" and "IPY_MODEL_<id>" both name a model. */
export const modelId = (ref: string) => ref.replace(/^(anywidget:|IPY_MODEL_)/, "");

/** Resolves references among saved models; `widget` draws those that have a view. */
export function makeHost(saved: SavedModels, widget: WidgetModule): Host {
  const models = new Map<string, AnyModel>();
  const model = (ref: string): AnyModel => {
    const id = modelId(ref);
    const found = saved[id];
    if (found === undefined) throw new Error(`this page has no model "${id}"; it holds ${Object.keys(saved).length}`);
    const made = models.get(id) ?? makeModel(found.state);
    models.set(id, made);
    return made;
  };
  const host: Host = {
    getModel: async (ref) => model(ref),
    getWidget: async (ref) => {
      const own = model(ref);
      if (!own.get("builder")) throw new Error(`the model "${modelId(ref)}" of this page has no view`);
      return {
        render: async ({ el, signal }) =>
          widget.render({ model: own, el, host, signal: signal ?? new AbortController().signal }),
      };
    },
  };
  return host;
}

/** What anywidget before 0.11 gives: no host and no signal, but the manager of the page by the model. */
type Given = Omit<RenderProps, "host" | "signal"> & Partial<RenderProps> & { model: { widget_manager?: Manager } };

export const loader: WidgetModule = {
  async render({ model, el, ...given }: Given) {
    const end = new AbortController();
    const { signal = end.signal } = given;
    try {
      const host = given.host ?? managerHost(model.widget_manager, loader, signal);
      const ref = String(model.get("script"));
      const { VIEWS, styles } = await loadBundle(await host.getModel(ref, { signal }), ref);
      const name = String(model.get("builder"));
      const view = VIEWS.get(name);
      if (view === undefined) throw new Error(`its JavaScript knows no view "${name}"; re-run the cell that made it`);
      addStyles(el, styles);
      await view.render({ model, el, host, signal });
    } catch (error) {
      if (signal.aborted) return;
      el.setAttribute("role", "alert");
      el.textContent = `This view cannot be drawn: ${reasonOf(error)}`;
    }
    return () => end.abort();
  },
};
