/**
 * The link and the data of a trace -> the same as if the linked host alone had been recorded, for the views to draw from.
 *
 * Rows of steps, pipelines and allocators are numbered anew, so steps are translated on their way to and from the link.
 */

import type { Events } from "../model/events/events";
import { hostMeta } from "../model/hosts/host_meta";
import { HostTables, newRows } from "../model/hosts/host_tables";
import { hostsOf } from "../model/hosts/hosts";
import type { Span } from "../model/time/viewport";
import type { TraceMeta } from "../model/wire/meta";
import type { Table } from "../model/wire/wire";
import type { TraceData } from "./data";
import { guarded } from "./failures";
import type { Link, LinkField, TimeRange } from "./link";

interface Chosen {
  readonly tables: HostTables;
  readonly meta: TraceMeta;
}

export class OneHost {
  readonly link: Link;
  readonly data: TraceData;
  #chosen: Chosen | null = null;
  /** What a change of the host changes: all tables. */
  readonly #listeners = new Set<() => void>();

  constructor(
    readonly wholeLink: Link,
    readonly whole: TraceData,
    /** Whether a time range means nothing to the view in a reduced profile. */
    readonly ignoresRange: () => boolean,
  ) {
    this.link = new HostLink(this);
    this.data = new HostData(this);
    this.choose();
  }

  /** "" for all hosts. */
  get name(): string {
    return this.#chosen?.tables.name ?? "";
  }
  get tables(): HostTables | null {
    return this.#chosen?.tables ?? null;
  }
  get meta(): TraceMeta {
    return this.#chosen?.meta ?? this.whole.meta;
  }

  /** Takes the linked host; one that the trace does not know is none. */
  choose(): void {
    const { meta } = this.whole;
    const name = this.wholeLink.host;
    if (name === "" || hostsOf(meta).length < 2 || !hostsOf(meta).includes(name)) {
      this.#chosen = null;
      return;
    }
    const tables = new HostTables(meta, (table) => this.whole.table(table), name);
    this.#chosen = { tables, meta: hostMeta(tables) };
  }

  /** Lists that came meanwhile are read again. */
  renew(): void {
    if (this.#chosen !== null) this.#chosen = { ...this.#chosen, meta: hostMeta(this.#chosen.tables) };
  }

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  onChosen(listener: () => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    const told = guarded(listener, signal);
    this.#listeners.add(told);
    signal.addEventListener("abort", () => this.#listeners.delete(told), { once: true });
  }
}

class HostLink implements Link {
  constructor(readonly of: OneHost) {}

  get timeRange(): TimeRange | null {
    return this.of.ignoresRange() ? null : this.of.wholeLink.timeRange;
  }
  get selection() {
    return this.of.wholeLink.selection;
  }
  get hover() {
    return this.of.wholeLink.hover;
  }
  get host() {
    return this.of.name;
  }
  get step() {
    const { wholeLink, tables, whole } = this.of;
    const { step } = wholeLink;
    if (tables === null || step < 0) return step;
    return newRows(tables.stepRows(), whole.table("steps")?.n ?? 0)[step] ?? -1;
  }
  setStep(step: number) {
    const { wholeLink, tables } = this.of;
    wholeLink.setStep(tables === null || step < 0 ? step : (tables.stepRows()[step] ?? -1));
  }
  setTimeRange(range: TimeRange | null) {
    this.of.wholeLink.setTimeRange(range);
  }
  setSelection(names: readonly string[]) {
    this.of.wholeLink.setSelection(names);
  }
  setHover(name: string) {
    this.of.wholeLink.setHover(name);
  }
  setHost(name: string) {
    this.of.wholeLink.setHost(name);
  }
  on(field: LinkField, listener: () => void, signal: AbortSignal) {
    this.of.wholeLink.on(field, listener, signal);
  }
}

class HostData implements TraceData {
  constructor(readonly of: OneHost) {}

  get meta() {
    return this.of.meta;
  }
  table(name: string): Table | undefined {
    return this.of.tables === null ? this.of.whole.table(name) : this.of.tables.table(name);
  }
  nRows(name: string) {
    const { tables, whole } = this.of;
    return tables !== null && whole.isWhole(name) ? (tables.table(name)?.n ?? 0) : whole.nRows(name);
  }
  isWhole(name: string) {
    return this.of.whole.isWhole(name);
  }
  get window() {
    return this.of.whole.window;
  }
  get isComplete() {
    return this.of.whole.isComplete;
  }
  get progress() {
    return this.of.whole.progress;
  }
  get problem() {
    return this.of.whole.problem;
  }
  get namesGeneration() {
    return this.of.whole.namesGeneration;
  }
  onChange(listener: () => void, signal: AbortSignal) {
    this.of.whole.onChange(listener, signal);
  }
  onTables(listener: () => void, signal: AbortSignal, names?: readonly string[]) {
    const renewed = () => {
      this.of.renew();
      listener();
    };
    this.of.whole.onTables(renewed, signal, names);
    this.of.onChosen(listener, signal);
  }
  get events(): Events {
    return this.of.whole.events;
  }
  stats(position: number) {
    return this.of.whole.stats(position);
  }
  wantSpan(span: Span) {
    this.of.whole.wantSpan(span);
  }
  ready(names: readonly string[]) {
    return this.of.whole.ready(names);
  }
  arrived(names: readonly string[]) {
    return this.of.whole.arrived(names);
  }
  get isOffline() {
    return this.of.whole.isOffline;
  }
  get hasKernel() {
    return this.of.whole.hasKernel;
  }
  get eventsState() {
    return this.of.whole.eventsState;
  }
  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) {
    return this.of.whole.call(name, args, signal);
  }
}
