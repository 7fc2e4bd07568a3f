/** A page without a widget manager: models that record what a view does to them. */

import { setMaxListeners } from "node:events";
import type { Pack, Table } from "../src/data/pack";
import type { AnyModel, Host, Listener } from "../src/data/widget";
import { encodePack } from "./encoding";
import { tiled } from "./tiling";

// A view hangs dozens of listeners on its one signal; Node takes more than ten for a leak.
setMaxListeners(0);

export class FakeModel implements AnyModel {
  readonly listeners: [event: string, listener: Listener][] = [];
  readonly sent: unknown[] = [];
  nSaves = 0;

  constructor(readonly state: Record<string, unknown>) {}

  get(name: string) {
    return this.state[name];
  }
  set(name: string, value: unknown) {
    if (JSON.stringify(this.state[name]) === JSON.stringify(value)) return;
    this.state[name] = value;
    this.emit(`change:${name}`);
  }
  save_changes() {
    this.nSaves += 1;
  }
  on(event: string, listener: Listener) {
    this.listeners.push([event, listener]);
  }
  off(event?: string | null, listener?: Listener | null) {
    for (let i = this.listeners.length - 1; i >= 0; i--) {
      const [e, l] = this.listeners[i];
      if ((!event || e === event) && (!listener || l === listener)) this.listeners.splice(i, 1);
    }
  }
  send(content: unknown) {
    this.sent.push(content);
  }
  emit(event: string, ...args: unknown[]) {
    for (const [e, listener] of [...this.listeners]) if (e === event) (listener as (...a: unknown[]) => void)(...args);
  }
}

export interface FakePage {
  readonly host: Host;
  readonly link: FakeModel;
  readonly data: FakeModel;
  /** A view's own model. */
  readonly view: FakeModel;
}

let nPages = 0;
const numbers = new WeakMap<Table, number>();
let nTables = 0;
const encoded = new Map<string, [key: string, text: string][]>();

/** A pack with all events in one table is sent as show/embedding.py would send it; the same tables are encoded once. */
async function partsOf(given: Pack): Promise<[key: string, text: string][]> {
  const tables = Object.entries(given.tables).map(([name, table]) => {
    if (!numbers.has(table)) numbers.set(table, nTables++);
    return [name, numbers.get(table)];
  });
  const key = JSON.stringify([given.meta, tables]);
  const known = encoded.get(key);
  if (known !== undefined) return known;
  const cut = given.tables.events ? tiled(given) : { first: given, parts: new Map<string, Pack>() };
  const packs: [string, Pack][] = [["first:0", cut.first], ...cut.parts];
  const parts = await Promise.all(
    packs.map(async ([name, pack]): Promise<[string, string]> => [name, await text(pack)]),
  );
  encoded.set(key, parts);
  return parts;
}

const text = async (pack: Pack) => Buffer.from(await encodePack(pack)).toString("base64");

interface FakeState extends Record<string, unknown> {
  /** Beside those of the pack. */
  readonly parts?: readonly (readonly [key: string, text: string])[];
}

export async function fakePage(given: Pack, { parts = [], ...data }: FakeState = {}): Promise<FakePage> {
  nPages += 1;
  const models: Record<string, FakeModel> = {
    link: new FakeModel({ time_range: [], whole_capture: false, selection: [], hover: "", step: -1 }),
    data: new FakeModel({ data_id: `data${nPages}`, parts: [...(await partsOf(given)), ...parts], ...data }),
  };
  models.bokeh = new FakeModel({ name: "bokeh", version: "test", source: "" });
  const refs = { link: `anywidget:link${nPages}`, data: `anywidget:data${nPages}`, bokeh: "anywidget:bokeh" };
  const host: Host = {
    async getModel(ref) {
      return models[ref.replace(/^anywidget:/, "").replace(/\d+$/, "")];
    },
    async getWidget(ref) {
      throw new Error(`no widget ${ref}`);
    },
  };
  return { host, link: models.link, data: models.data, view: new FakeModel({ ...refs, options: "{}" }) };
}
