/**
 * What all views of a trace are about: range, selection, step, host and hover, in the shared LinkModel.
 *
 * Changes reach the other views of the page at once (they hold the same model) and Python after a pause, so that a drag
 * does not flood the kernel. Hover stays in the page: it changes with every move of the mouse.
 */

import { type AnyModel, atEnd, type Host, Listeners, ofPage } from "./widget";

export class LateSave {
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly model: AnyModel,
    readonly afterMs: number,
    signal: AbortSignal,
  ) {
    atEnd(signal, () => this.#flush());
  }

  /** Sets a trait, and saves it with all that are set before it rests. */
  set(name: string, value: unknown): void {
    this.model.set(name, value);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#flush(), this.afterMs);
  }

  #flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.model.save_changes();
  }
}

type TimeRange = readonly [number, number];
type LinkField = "time_range" | "whole_capture" | "selection" | "stretches" | "hover" | "step" | "host";

const SAVE_AFTER_MS = 150;

/** One target per LinkModel and page. */
function hoverBus(ref: string): EventTarget & { value?: string } {
  const buses = ofPage("hover", () => new Map<string, EventTarget>());
  const bus = buses.get(ref) ?? new EventTarget();
  buses.set(ref, bus);
  return bus;
}

export async function connectLink(host: Host, ref: string, signal: AbortSignal): Promise<Link> {
  const model = await host.getModel(ref, { signal });
  signal.throwIfAborted();
  return new Link(model, hoverBus(ref), signal);
}

const READ = {
  time_range: (model: AnyModel): TimeRange | null => {
    const value = model.get("time_range");
    return Array.isArray(value) && value.length === 2 ? [Number(value[0]), Number(value[1])] : null;
  },
  whole_capture: (model: AnyModel): boolean => model.get("whole_capture") === true,
  selection: (model: AnyModel): readonly string[] => {
    const value = model.get("selection");
    return Array.isArray(value) ? value.map(String) : [];
  },
  stretches: (model: AnyModel): readonly number[] => {
    const value = model.get("stretches");
    return Array.isArray(value) ? value.map(Number) : [];
  },
  step: (model: AnyModel): number => Number(model.get("step") ?? -1),
  host: (model: AnyModel): string => String(model.get("host") ?? ""),
  hover: (model: AnyModel): string => String(model.get("hover") ?? ""),
};
type Values = { [F in LinkField]: ReturnType<(typeof READ)[F]> };

export class Link {
  readonly #values: Values;
  readonly #listeners = new Map<LinkField, Listeners>();
  readonly #saved: LateSave;
  readonly #bus: EventTarget & { value?: string };

  constructor(model: AnyModel, bus: EventTarget & { value?: string }, signal: AbortSignal) {
    this.#bus = bus;
    const fields = Object.keys(READ) as LinkField[];
    const read = fields.map((field) => [field, READ[field](model)]);
    this.#values = { ...(Object.fromEntries(read) as Values), hover: bus.value ?? "" };
    this.#saved = new LateSave(model, SAVE_AFTER_MS, signal);
    for (const field of fields) {
      const listener = () => this.#take(field, READ[field](model));
      model.on(`change:${field}`, listener);
      atEnd(signal, () => model.off(`change:${field}`, listener));
    }
    bus.addEventListener("hover", () => this.#take("hover", bus.value ?? ""), { signal });
  }

  /** In ns after the trace origin; null for none. */
  get timeRange() {
    return this.#values.time_range;
  }
  /** Whether figures without a range are of the whole capture; else they are of the averaged steps, a step. */
  get isWholeCapture() {
    return this.#values.whole_capture;
  }
  get selection() {
    return this.#values.selection;
  }
  /** Begin and end of what of the step a card is about, in turn. */
  get stretches() {
    return this.#values.stretches;
  }
  get hover() {
    return this.#values.hover;
  }
  /** Row of the `steps` table, -1 for none. */
  get step() {
    return this.#values.step;
  }
  /** Name of the host that the views are about, empty for all hosts. */
  get host() {
    return this.#values.host;
  }

  setTimeRange(range: TimeRange | null) {
    const whole = range && ([Math.round(range[0]), Math.round(range[1])] as const);
    if (same(whole, this.#values.time_range)) return;
    this.#saved.set("time_range", whole ? [...whole] : []);
    this.setStretches([]);
  }

  setWholeCapture(isWhole: boolean) {
    if (isWhole !== this.#values.whole_capture) this.#saved.set("whole_capture", isWhole);
  }

  setSelection(names: readonly string[]) {
    if (same(names, this.#values.selection)) return;
    this.#saved.set("selection", [...names]);
    this.setStretches([]);
  }

  /** Until another range or other ops are selected. */
  setStretches(stretches: readonly number[]) {
    if (!same(stretches, this.#values.stretches)) this.#saved.set("stretches", [...stretches]);
  }

  setStep(step: number) {
    if (step !== this.#values.step) this.#saved.set("step", step);
  }

  setHost(name: string) {
    if (name !== this.#values.host) this.#saved.set("host", name);
  }

  setHover(name: string) {
    if (name === (this.#bus.value ?? "")) return;
    this.#bus.value = name;
    this.#bus.dispatchEvent(new Event("hover"));
  }

  /** Calls `listener` after the field's value has changed, whoever changed it; never twice for one value. */
  on(field: LinkField, listener: () => void, signal: AbortSignal) {
    const listeners = this.#listeners.get(field) ?? new Listeners();
    this.#listeners.set(field, listeners);
    listeners.add(listener, signal);
  }

  #take(field: LinkField, value: unknown) {
    if (same(value, this.#values[field])) return;
    (this.#values as Record<string, unknown>)[field] = value;
    this.#listeners.get(field)?.tell();
  }
}

function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((value, i) => value === b[i]);
  return a === b;
}
