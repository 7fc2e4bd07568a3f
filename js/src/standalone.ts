/** The widgets of an exported page -> live views without a kernel: the host that anywidget and the manager are elsewhere. */

import "./style.css";
import type { AnyModel, Host, Listener, WidgetModule } from "./afm";
import { h } from "./draw/dom";

/** One widget: its traits, and the entry whose module draws it (null for a model without a view). */
interface SavedModel {
  readonly state: Record<string, unknown>;
  readonly entry?: string | null;
  readonly esm?: string | null;
}

export interface Snapshot {
  readonly root: string;
  readonly models: Readonly<Record<string, SavedModel>>;
}

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
function modelId(ref: string): string {
  return ref.replace(/^(anywidget:|IPY_MODEL_)/, "");
}

/** Resolves references among the models of one snapshot; `load` gives the module of an entry. */
export function makeHost(snapshot: Snapshot, load: (entry: string) => Promise<WidgetModule>): Host {
  const models = new Map<string, AnyModel>();
  const model = (ref: string): AnyModel => {
    const id = modelId(ref);
    const saved = snapshot.models[id];
    if (saved === undefined)
      throw new Error(`this page has no model "${id}"; it holds ${Object.keys(snapshot.models).length}`);
    const made = models.get(id) ?? makeModel(saved.state);
    models.set(id, made);
    return made;
  };
  const host: Host = {
    getModel: async (ref) => model(ref),
    getWidget: async (ref) => {
      const saved = snapshot.models[modelId(ref)];
      const entry = saved?.entry ?? saved?.esm;
      if (!entry) throw new Error(`the model "${modelId(ref)}" of this page has no view`);
      const module = await load(entry);
      return {
        render: async ({ el, signal }) =>
          module.render({ model: model(ref), el, host, signal: signal ?? new AbortController().signal }),
      };
    },
  };
  return host;
}

const modules = new Map<string, Promise<WidgetModule>>();

/** The module whose text the page holds in `<script type="text/plain" id="esm-...">`, imported once. */
function loadModule(entry: string): Promise<WidgetModule> {
  const known = modules.get(entry);
  if (known) return known;
  const text = document.getElementById(`esm-${entry}`)?.textContent;
  if (!text) return Promise.reject(new Error(`this page holds no script for the view "${entry}"`));
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const loading = import(url).then((module: { default: WidgetModule }) => module.default);
  modules.set(entry, loading);
  return loading;
}

/** Themes follow the system until the reader chooses; views watch the attribute that JupyterLab sets as well. */
function addThemeSwitch(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen: boolean | null = null;
  const toggle = h("button", { type: "button", class: "tfp-theme-switch" });
  const apply = () => {
    const isDark = chosen ?? system.matches;
    document.body.dataset.jpThemeLight = String(!isDark);
    document.documentElement.style.colorScheme = isDark ? "dark" : "light";
    document.body.style.background = isDark ? "#212121" : "#ffffff";
    toggle.textContent = isDark ? "Light theme" : "Dark theme";
    (toggle.parentElement as HTMLElement).dataset.theme = isDark ? "dark" : "light";
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    apply();
  });
  document.body.style.margin = "0";
  const line = h("div", { class: "tfp" }, toggle);
  toggle.style.cssText = "display:block;margin:4px 10px 0 auto";
  document.body.append(line);
  system.addEventListener("change", apply);
  apply();
}

async function start(): Promise<void> {
  const scripts = [...document.querySelectorAll('script[type="application/x-tfprof+json"]')];
  if (scripts.length === 0) return;
  addThemeSwitch();
  for (const script of scripts) {
    const place = h("main", {});
    document.body.append(place);
    try {
      const snapshot = JSON.parse(script.textContent ?? "") as Snapshot;
      const widget = await makeHost(snapshot, loadModule).getWidget(snapshot.root);
      await widget.render({ el: place });
    } catch (error) {
      place.setAttribute("role", "alert");
      place.textContent = `This page could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

if (typeof document !== "undefined") void start();
