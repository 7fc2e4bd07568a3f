/** The heat of files, lines and buckets in the linked range, what is chosen of it, and its CSV. */

import { groupBy, type Scope } from "../../data/columns";
import { CATEGORIES } from "../../data/meta";
import { EMPTY_TABLE } from "../../data/pack";
import { opColors } from "../../model/colors";
import { shortName } from "../../model/names";
import { opName, opsOfScope, sideOf, withoutWaiting } from "../../model/ops";
import { formatPart } from "../../model/overview";
import { scopeOf } from "../../model/range";
import {
  type BucketHeat,
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
} from "../../model/source";
import { type CsvColumns, formatCount, formatMsNumber, formatPercent, formatTime, plural } from "../../model/text";
import type { Where } from "../../ui/controls";
import { h } from "../../ui/dom";
import type { TraceView } from "../../ui/view";

const NOTES: Readonly<Record<string, string>> = {
  "tf.data": "The input pipeline's own work. What your functions do in map() and filter() is charged to their lines.",
  "Keras optimizer": "Weight updates of the optimizer, which no line of yours computes.",
  "Keras loss/metrics": "Losses and metrics of Keras. A loss function of yours has lines.",
  "Keras library": "What fit(), evaluate() and predict() do around the layers.",
  "TensorFlow library": "Ops that TensorFlow made by itself, not for a line of yours.",
  "eager op, line unknown": "Ops outside any graph leave no traceback, and no sample of your thread shows their line.",
  "eager op, several lines": "Ops outside any graph leave no traceback, and samples of your thread show several lines.",
  "not in a traced graph":
    "Ops whose graph was gone when the capture ended, or that TensorFlow made when it rewrote it.",
};

/** A sentence, or nothing for a name that needs none. */
export function bucketNote(bucket: string): string {
  return NOTES[bucket] ?? "";
}

/** What a figure is divided by, and what bars are measured against. */
export interface HeatScale {
  readonly maxPs: number;
  readonly wholePs: number;
  /** Steps that times were divided by; null where they are not a step. */
  readonly nSteps: number | null;
  readonly opName: (op: number) => string;
}

export type LineSamples = Readonly<Record<"n" | "ratio", number>>;

/** The cells left of a line; `show` fills or empties them. */
export class Gutter {
  readonly element = h("span.tfp-gut");
  readonly #bar = h("span.tfp-heat");
  readonly #ms = h("span.v");
  readonly #share = h("span.v");
  readonly #samples = h("span.v.smp");

  constructor() {
    this.element.append(this.#bar, this.#ms, this.#share, this.#samples);
  }

  showSamples(samples: LineSamples | undefined): void {
    this.#samples.textContent = samples === undefined ? "" : shareText(samples.ratio);
    this.#samples.title = samples === undefined ? "" : `in ${plural(samples.n, "sample")} of your thread`;
    this.#samples.style.setProperty("--share", `${(samples?.ratio ?? 0) * 100}%`);
  }

  show(heat: Heat | undefined, scale: HeatScale): void {
    this.#bar.replaceChildren(...(heat ? heatBar(heat, scale.maxPs) : []));
    this.#ms.textContent = heat ? formatMsNumber(heat.selfPs) : "";
    this.#share.textContent = heat ? shareText(heat.selfPs / scale.wholePs) : "";
  }
}

/** One piece per category and direction; backward is striped, so that hue stays the category's. */
function heatBar(heat: Heat, maxPs: number): HTMLElement[] {
  return heat.parts.map(({ category, isBackward, ps }) => heatPiece(category, isBackward, maxPs > 0 ? ps / maxPs : 0));
}

export function heatPiece(category: string, isBackward: boolean, share: number): HTMLElement {
  const style = { "--c": `var(--c-${category})`, width: `max(1px, ${share * 100}%)` };
  return h("i", { class: isBackward && "bw", style });
}

/** Per cent without the sign, to a tenth. */
function shareText(ratio: number): string {
  return Number.isFinite(ratio) ? formatPart(ratio * 100, 1) : "0";
}

export function costText(heat: Heat, scale: HeatScale): string {
  const each = scale.nSteps === null ? "" : " a step";
  const share = formatPercent(scale.wholePs > 0 ? heat.selfPs / scale.wholePs : 0);
  return `${formatTime(heat.selfPs)}${each}, ${share}`;
}

export function phaseText(heat: Heat): string {
  const phases: readonly [string, number][] = [
    ["forward", heat.forwardPs],
    ["backward", heat.backwardPs],
    ["other", heat.otherPs],
  ];
  return phases
    .filter(([, ps]) => ps > 0)
    .map(([name, ps]) => `${name} ${formatTime(ps)}`)
    .join(" · ");
}

export function countText(heat: Heat, scale: HeatScale): string {
  const each = scale.nSteps === null ? "" : " a step";
  return `${plural(heat.occurrences, "run")}${each} of ${plural(heat.ops.length, "op")}`;
}

const N_TIP_OPS = 4;

export function tipLines(heat: Heat, scale: HeatScale): string[] {
  const ops = heat.ops.slice(0, N_TIP_OPS).map(({ op, ps }) => `${shortName(scale.opName(op))} · ${formatTime(ps)}`);
  const more = heat.ops.length - ops.length;
  if (more > 0) ops.push(`${formatCount(more)} smaller`);
  return [phaseText(heat), countText(heat, scale), ...ops].filter(Boolean);
}

/** A line of a file, or a bucket. */
type SourceRow = Heat & Partial<LineHeat & BucketHeat> & { readonly path?: string | undefined };

/** Lines by file and number, then the buckets. */
export function sourceRows({ files, buckets }: SourceHeat, paths: readonly string[]): SourceRow[] {
  const lines = files.flatMap(({ file, lines: own }) =>
    [...own.values()].sort((a, b) => a.line - b.line).map((line) => ({ ...line, path: paths[file] })),
  );
  return [...lines, ...buckets];
}

export function sourceCsv(wholePs: number, opName: (op: number) => string): CsvColumns<SourceRow> {
  return {
    file: (row) => row.path,
    line: (row) => row.line ?? 0,
    function: (row) => row.functions?.join(" "),
    code: (row) => row.code,
    bucket: (row) => row.bucket,
    forward_time_us: (row) => row.forwardPs / 1e6,
    backward_time_us: (row) => row.backwardPs / 1e6,
    other_time_us: (row) => row.otherPs / 1e6,
    self_time_us: (row) => row.selfPs / 1e6,
    self_time_ratio: (row) => (wholePs > 0 ? row.selfPs / wholePs : 0),
    n_ops: (row) => row.ops.length,
    occurrences: (row) => row.occurrences,
    top_op: (row) => (row.ops.length > 0 ? opName(row.ops[0].op) : ""),
  };
}

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
  readonly #idsByName: ReadonlyMap<string, number[]>;
  /** Entries of the line or bucket that was picked here. */
  #picked: ReadonlySet<number> = new Set();
  readonly opName = (op: number) => opName(this.view.data.meta, op);
  readonly sideOf = (op: number) => sideOf(this.view.data.meta, op);
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
    this.#idsByName = groupBy(data.meta.op_name.keys(), (op) => data.meta.names[data.meta.op_name[op]]);
  }

  get scope(): Scope {
    return scopeOf(this.view.link, this.view.data.table);
  }

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
    return { maxPs, wholePs: this.heat.wholePs, nSteps: this.#nSteps, opName: this.opName };
  }

  get #heats(): readonly Heat[] {
    return [...this.heat.files.flatMap(({ lines }) => [...lines.values()]), ...this.heat.buckets];
  }

  /** Whether times of several threads may add up. */
  get sumsThreads(): boolean {
    if (this.where === "device") return false;
    return this.#heats.some(({ ops }) => ops.some(({ op }) => this.sideOf(op) === "host"));
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
    const all = this.#heats;
    const used = new Set(all.flatMap(({ parts }) => parts.map(({ category }) => category)));
    const hasBackward = all.some(({ backwardPs }) => backwardPs > 0);
    return { categories: CATEGORIES.filter((category) => used.has(category)), hasBackward };
  }

  isBackward(op: number): boolean {
    return LINE_PHASES[this.charges.phase[op]] === "backward";
  }

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
    const of = (one: BucketHeat) => ({ title: one.bucket, heat: one, note: bucketNote(one.bucket) });
    if (bucket !== undefined) return of(bucket);
    const shown = line ?? hottestLine(this.shownFile);
    if (shown === undefined) return buckets[0] && of(buckets[0]);
    const title = line === undefined ? `Line ${shown.line}, the hottest` : `Line ${shown.line}`;
    const functions = shown.functions.join(", ");
    return { title, heat: shown, note: functions === "" ? "" : `in ${functions}` };
  }
}
