/** A view's data and switches -> the heat of files, lines and buckets in the linked range, and what is chosen of it. */

import { opColors } from "../../colors/op_colors";
import { opsOfScope, withoutWaiting } from "../../model/ops/ranged_ops";
import {
  type Charges,
  type FileHeat,
  fileTitles,
  type Heat,
  hottestLine,
  knownRatio,
  LINE_PHASES,
  type LineHeat,
  type SourceFile,
  type SourceHeat,
  sourceHeat,
} from "../../model/ops/source_lines";
import { formatPercent } from "../../model/text/format";
import { scopeOf } from "../../model/time/scope";
import type { Scope } from "../../model/time/viewport";
import { CATEGORIES } from "../../model/wire/categories";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TraceView } from "../../ui/view";
import type { Where } from "../../ui/where_switch";
import { bucketNote } from "./buckets";
import type { HeatScale, LineSamples } from "./heat";

/** Samples of which more are at one line say nothing. */
const MOST_AT_ONE_LINE = 0.9;

export interface Chosen {
  /** "Line 3" or the name of a bucket. */
  readonly title: string;
  readonly heat: Heat;
  /** Which function the line is in, or what the bucket means. */
  readonly note: string;
}

export class SourceModel {
  readonly files: readonly SourceFile[];
  readonly charges: Charges;
  where: Where = "both";
  /** The file on the screen, -1 before the first. */
  file = -1;
  heat: SourceHeat = { wholePs: 0, files: [], buckets: [] };
  /** For how much of the time lines are known; "" where that is all of it. */
  known = "";
  #nSteps: number | null = null;
  readonly #titles: readonly string[];
  readonly #idsByName = new Map<string, number[]>();
  /** Entries of the line or bucket that was picked here. */
  #picked: ReadonlySet<number> = new Set();
  #selected: ReadonlySet<number> = new Set();

  constructor(readonly view: TraceView) {
    const { data } = view;
    this.files = data.meta.source_files ?? [];
    this.#titles = fileTitles(this.files);
    const places = data.table("op_places") ?? EMPTY_TABLE;
    this.charges = {
      entries: data.meta.source_lines ?? [],
      line: (places.columns.line as Int32Array | undefined) ?? [],
      phase: (places.columns.line_phase as Uint8Array | undefined) ?? [],
      categoryOf: opColors(data.meta).categoryOf,
    };
    data.meta.op_name.forEach((id, op) => {
      const name = data.meta.names[id];
      const ops = this.#idsByName.get(name);
      if (ops === undefined) this.#idsByName.set(name, [op]);
      else ops.push(op);
    });
  }

  get scope(): Scope {
    return scopeOf(this.view.link, this.view.data.table);
  }

  /** After a change of the range or of what counts. */
  compute(): void {
    const { data } = this.view;
    const all = opsOfScope(data.meta, data.table, this.scope);
    const totals = withoutWaiting(data.meta, all);
    this.#nSteps = all.nSteps;
    this.heat = sourceHeat(this.charges, totals, (op) => this.where === "both" || this.where === this.sideOf(op));
    const hasDevice = totals.selfPs.some((ps, op) => ps > 0 && this.sideOf(op) === "device");
    const side = hasDevice ? "device" : "host";
    const known = knownRatio(sourceHeat(this.charges, totals, (op) => this.sideOf(op) === side));
    const of = hasDevice ? "device time" : "op time";
    this.known = known < 0.995 ? `source lines are known for ${formatPercent(known)} of ${of}` : "";
  }

  /** Bars of one file and of the rows below it share their scale, so that lengths compare. */
  scale(rows: readonly Heat[]): HeatScale {
    const maxPs = rows.reduce((most, { selfPs }) => Math.max(most, selfPs), 0);
    return { maxPs, wholePs: this.heat.wholePs, nSteps: this.#nSteps, opName: (op) => this.opName(op) };
  }

  /** Whether times of several threads may add up. */
  get sumsThreads(): boolean {
    if (this.where === "device") return false;
    const lines = [...this.heat.files.flatMap(({ lines: own }) => [...own.values()]), ...this.heat.buckets];
    return lines.some(({ ops }) => ops.some(({ op }) => this.sideOf(op) === "host"));
  }

  sideOf(op: number): "host" | "device" {
    return this.view.data.meta.op_device[op] === 1 ? "device" : "host";
  }

  opName(op: number): string {
    const { meta } = this.view.data;
    return meta.names[meta.op_name[op]] ?? "";
  }

  titleOf(file: number): string {
    return this.#titles[file] ?? "";
  }

  get shownFile(): FileHeat | undefined {
    return this.heat.files.find(({ file }) => file === this.file);
  }

  /** Samples of the user's thread in the file on the screen; they are of the whole capture, hence none within a range. */
  get shownSamples(): ReadonlyMap<number, LineSamples> {
    const samples =
      this.view.link.timeRange === null && this.hasSamples ? (this.view.data.meta.source_samples ?? []) : [];
    const own = samples.filter(({ file }) => file === this.file);
    return new Map(own.map(({ line, n_samples: n, time_ratio: ratio }) => [line, { n, ratio }]));
  }

  /** Whether samples tell lines apart: during `fit`, all are at one. */
  get hasSamples(): boolean {
    const samples = this.view.data.meta.source_samples ?? [];
    return samples.length > 0 && samples[0].time_ratio < MOST_AT_ONE_LINE;
  }

  /** The file to open first: the one with the most op time, else where the thread was longest. */
  get firstFile(): number {
    return this.heat.files[0]?.file ?? this.view.data.meta.source_samples?.[0]?.file ?? 0;
  }

  get shownLines(): readonly LineHeat[] {
    return [...(this.shownFile?.lines.values() ?? [])];
  }

  /** Categories in the order of stacks, and whether any gradient is among them: the legend. */
  get used(): { readonly categories: readonly string[]; readonly hasBackward: boolean } {
    const all: readonly Heat[] = [...this.heat.files.flatMap(({ lines }) => [...lines.values()]), ...this.heat.buckets];
    const used = new Set(all.flatMap(({ parts }) => parts.map(({ category }) => category)));
    return {
      categories: CATEGORIES.filter((category) => used.has(category)),
      hasBackward: all.some(({ backwardPs }) => backwardPs > 0),
    };
  }

  isBackward(op: number): boolean {
    return LINE_PHASES[this.charges.phase[op]] === "backward";
  }

  /** Follows the link's selection. */
  select(names: readonly string[]): void {
    this.#selected = this.opsNamed(names);
  }

  opsNamed(names: readonly string[]): ReadonlySet<number> {
    return new Set(names.flatMap((name) => this.#idsByName.get(name) ?? []));
  }

  isSelected(heat: Heat): boolean {
    return this.#selected.size > 0 && heat.ops.some(({ op }) => this.#selected.has(op));
  }

  /** Picks a line or bucket, or drops it when it was picked before; gives the names to select. */
  pick(heat: Heat): string[] {
    const isPicked = this.#isPicked(heat);
    this.#picked = new Set(isPicked ? [] : heat.entries);
    return isPicked ? [] : [...new Set(heat.ops.map(({ op }) => this.opName(op)))];
  }

  #isPicked(heat: Heat): boolean {
    return this.isSelected(heat) && heat.entries.some((entry) => this.#picked.has(entry));
  }

  /** What was picked here, else what is selected elsewhere, else the hottest line of the file. */
  get chosen(): Chosen | undefined {
    const lines = this.shownLines;
    const { buckets } = this.heat;
    const isPicked = (heat: Heat) => this.#isPicked(heat);
    const isSelected = (heat: Heat) => this.isSelected(heat);
    const line = lines.find(isPicked) ?? (buckets.some(isPicked) ? undefined : lines.find(isSelected));
    const bucket = line === undefined ? (buckets.find(isPicked) ?? buckets.find(isSelected)) : undefined;
    if (bucket !== undefined) return { title: bucket.bucket, heat: bucket, note: bucketNote(bucket.bucket) };
    const shown = line ?? hottestLine(this.shownFile);
    if (shown === undefined) {
      const largest = buckets[0];
      return largest && { title: largest.bucket, heat: largest, note: bucketNote(largest.bucket) };
    }
    const title = line === undefined ? `Line ${shown.line}, the hottest` : `Line ${shown.line}`;
    const functions = shown.functions.join(", ");
    return { title, heat: shown, note: functions === "" ? "" : `in ${functions}` };
  }
}
