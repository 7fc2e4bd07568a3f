/** A pack -> a timeline on a page of jsdom, and what a reader does with it. */

import { afterEach, beforeEach, vi } from "vitest";
import type { Pack } from "../src/data/pack";
import { mount } from "../src/ui/view";
import { type TimelineElement, timeline } from "../src/views/timeline/timeline";
import { type FakePage, fakePage } from "./fake_host";
import { trainingRun } from "./fixtures";

export const WIDTH = 1000;
export const LABEL = 128;
export const RULER_Y = 36;
export const RUN = trainingRun();
export const BATCH = "Iterator::Root::BatchV2";

/** jsdom has neither a canvas nor a layout. */
function fakeCanvas(): CanvasRenderingContext2D {
  const state: Record<string, unknown> = {};
  return new Proxy(state, {
    get: (_, name: string) =>
      name === "measureText" ? (text: string) => ({ width: text.length * 6 }) : (state[name] ?? (() => undefined)),
    set: (_, name: string, value) => {
      state[name] = value;
      return true;
    },
  }) as unknown as CanvasRenderingContext2D;
}

class FakeResizeObserver {
  constructor(readonly callback: (entries: unknown[]) => void) {}
  observe() {
    this.callback([{ contentRect: { width: WIDTH, height: 332 } }]);
  }
  disconnect() {}
}

interface Shown {
  readonly page: FakePage;
  readonly root: TimelineElement;
  readonly section: HTMLElement;
  readonly area: HTMLElement;
  readonly controller: AbortController;
}

/** Renders the timeline; with the whole capture in the window unless `isWhole` is false. */
export async function show(pack: Pack = RUN, data: Record<string, unknown> = {}, isWhole = true): Promise<Shown> {
  const page = await fakePage(pack, data);
  const controller = new AbortController();
  const el = document.body.appendChild(document.createElement("div"));
  await mount(timeline).render({ model: page.view, el, host: page.host, signal: controller.signal });
  const root = el.querySelector<TimelineElement>("[data-tfprof=timeline]") as TimelineElement;
  const section = root.querySelector("section") as HTMLElement;
  const area = root.querySelector(".tlc") as HTMLElement;
  await frame();
  if (isWhole) await press(section, "0");
  return { page, root, section, area, controller };
}

export const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

export function pointer(area: HTMLElement, type: string, x: number, y: number) {
  area.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, button: 0, bubbles: true }));
}

export async function click(area: HTMLElement, place: { x: number; y: number } | null) {
  if (!place) throw new Error("not on screen");
  pointer(area, "pointerdown", place.x, place.y);
  pointer(area, "pointerup", place.x, place.y);
  await frame();
}

export async function press(target: HTMLElement, key: string, more: KeyboardEventInit = {}) {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  await frame();
  return event;
}

/** The run, its batches now being an HLO op that is 70 % what it was and 30 % an op that no slice is most of. */
export function compiledRun(): Pack {
  const { meta, tables } = RUN;
  const [names, opName] = [meta.names as string[], meta.op_name as number[]];
  const batch = opName.findIndex((name) => names[name] === BATCH);
  const op = tables.events.columns.op as Int32Array;
  const known = opName.map((_, unit) => ({ unit, op: unit, ratio: unit === batch ? 0.7 : 1 }));
  const rows = known.toSpliced(batch + 1, 0, { unit: batch, op: opName.length, ratio: 0.3 });
  const shares = {
    unit: Int32Array.from(rows, (row) => row.unit),
    op: Int32Array.from(rows, (row) => row.op),
    ratio: Float64Array.from(rows, (row) => row.ratio),
  };
  const more = {
    names: [...names, "adam/Mul"],
    op_name: [...opName, names.length],
    op_type: [...(meta.op_type as number[]), opName[0]],
  };
  return {
    meta: { ...meta, ...more },
    tables: {
      ...tables,
      events: { ...tables.events, columns: { ...tables.events.columns, unit: op } },
      op_shares: { n: rows.length, columns: shares },
    },
  };
}

export const details = (root: HTMLElement) => root.querySelector(".det")?.textContent ?? "";

/** Gives each test of a file what jsdom lacks, and an empty page. */
export function usesFakePage() {
  beforeEach(() => {
    vi.stubGlobal("ResizeObserver", FakeResizeObserver);
    HTMLCanvasElement.prototype.getContext = (() => fakeCanvas()) as never;
    HTMLElement.prototype.setPointerCapture = () => undefined;
    HTMLElement.prototype.scrollBy = () => undefined;
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    document.body.replaceChildren();
  });
}
