/**
 * Totals by name of the slices in a span of time (how many, how long, how much of it their own), and its flame.
 *
 * A slice counts when any part of it lies in the span; its time and self time count as far as they lie in it, its length
 * (for mean, shortest and longest) as a whole. Where the next slice of its row outlives it, its time ends there, as drawn.
 * Each tile is added up once, so that a span costs its two edges and one sum over the tiles between them.
 * The work goes in steps with a clock to stop at.
 */

import { hierarchy, partition } from "d3-hierarchy";
import { isInRange, lowerBound, overlapPs, type RangePs, type Span } from "../data/columns";
import { coveredIn, type Events, intervals, subtreeOf } from "../data/events";
import type { Table } from "../data/pack";
import { lastBefore } from "./rows";
import type { Marks } from "./search";
import { formatBytes, formatCount, formatNumber } from "./text";

abstract class Stepwise {
  #job: Generator<undefined> | null = null;
  isDone = false;

  /** Yields where the clock may be asked. */
  protected abstract work(): Generator<undefined>;

  protected restart(): void {
    this.#job = null;
    this.isDone = false;
  }

  /** Goes on until it is done or `isOver` says stop; whether it is done. */
  step(isOver: () => boolean = () => false): boolean {
    this.#job ??= this.work();
    while (!this.isDone) {
      this.isDone = this.#job.next().done === true;
      if (isOver()) break;
    }
    return this.isDone;
  }
}

interface Sums extends Readonly<Record<"count" | "total" | "self" | "whole" | "least", Float64Array>> {
  readonly longest: Int32Array;
}

type TileTotals = Sums & { readonly names: Int32Array };

function newSums(n: number): Sums {
  const [count, total, self, whole, least] = [0, 0, 0, 0, Number.POSITIVE_INFINITY].map((value) =>
    new Float64Array(n).fill(value),
  );
  return { count, total, self, whole, least, longest: new Int32Array(n).fill(-1) };
}

class Accumulator {
  readonly sums: Sums;
  readonly names: number[] = [];

  constructor(nNames: number) {
    this.sums = newSums(nNames);
  }

  add(name: number, count: number, total: number, self: number, whole = total) {
    if (this.sums.count[name] === 0) this.names.push(name);
    this.sums.count[name] += count;
    this.sums.total[name] += total;
    this.sums.self[name] += self;
    this.sums.whole[name] += whole;
  }

  subtract(name: number, total: number, self: number) {
    this.sums.total[name] -= total;
    this.sums.self[name] -= self;
  }

  /** Of equally long ones the first stays the longest. */
  offer(name: number, position: number, duration: ArrayLike<number>, least = duration[position]) {
    const best = this.sums.longest[name];
    if (least < this.sums.least[name]) this.sums.least[name] = least;
    if (best < 0 || duration[position] > duration[best]) this.sums.longest[name] = position;
  }

  merge(totals: TileTotals, duration: ArrayLike<number>) {
    const { names, count, total, self, whole, least, longest } = totals;
    for (let k = 0; k < names.length; k++) {
      this.add(names[k], count[k], total[k], self[k], whole[k]);
      this.offer(names[k], longest[k], duration, least[k]);
    }
  }

  clear() {
    const { count, total, self, whole, least, longest } = this.sums;
    for (const name of this.names) {
      count[name] = 0;
      total[name] = 0;
      self[name] = 0;
      whole[name] = 0;
      least[name] = Number.POSITIVE_INFINITY;
      longest[name] = -1;
    }
    this.names.length = 0;
  }

  toTile(): TileTotals {
    const names = Int32Array.from(this.names);
    const { count, total, self, whole, least, longest } = this.sums;
    const at = (values: Float64Array) => Float64Array.from(names, (name) => values[name]);
    const tile = { names, count: at(count), total: at(total), self: at(self), whole: at(whole), least: at(least) };
    return { ...tile, longest: Int32Array.from(names, (name) => longest[name]) };
  }
}

export interface NameTotals
  extends Readonly<Record<"name" | "count" | "totalPs" | "selfPs" | "meanPs" | "maxPs" | "longest", number>> {
  /** Of the shortest and of the longest slice, as a whole, and the position of the longest. */
  readonly minPs: number;
}

/** Totals of pieces of time that lie in a span as a whole, which several aggregates may share. */
type TotalsCache = Readonly<Record<"groups" | "tiles" | "parts", Map<number, TileTotals>>>;

export function newCache(): TotalsCache {
  return { groups: new Map(), tiles: new Map(), parts: new Map() };
}

const TILES_PER_GROUP = 12;
/** A tile is looked at in so many parts, between which the clock is asked. */
const PARTS = 8;
const MAX_PARTS_KEPT = 64;

export class Aggregate extends Stepwise {
  progress = 1;
  span: Span = { t0: 0, t1: 0 };
  readonly #sum: Accumulator;
  readonly #scratch: Accumulator;

  constructor(
    readonly events: Events,
    nNames: number,
    /** Which lines count: those that repeat the work of others do not. */
    readonly isCounted: (line: number) => boolean,
    readonly cache: TotalsCache = newCache(),
  ) {
    super();
    this.isDone = true;
    this.#sum = new Accumulator(nNames);
    this.#scratch = new Accumulator(nNames);
  }

  start(span: Span) {
    this.span = span;
    this.#sum.clear();
    this.progress = 0;
    this.restart();
  }

  protected override *work(): Generator<undefined> {
    const { events, span } = this;
    const { n } = events.tiles;
    const first = events.tileAt(span.t0);
    const last = n === 0 ? first - 1 : events.tileAt(span.t1);
    for (let tile = first; tile <= last; ) {
      const isGroup = tile % TILES_PER_GROUP === 0 && tile + TILES_PER_GROUP - 1 <= last;
      if (isGroup && this.#isWhole(tile, TILES_PER_GROUP)) {
        yield* this.#addGroup(tile);
        tile += TILES_PER_GROUP;
      } else {
        yield* this.#addTile(tile);
        tile += 1;
      }
      this.progress = Math.min(0.999, (tile - first) / (last - first + 1));
      yield;
    }
    this.#cutAtEdges();
    this.progress = 1;
  }

  /** Whether tiles are here and lie in the span with all that starts in them. */
  #isWhole(tile: number, count: number): boolean {
    const [low] = this.#timesOf(tile);
    const [, high] = this.#timesOf(tile + count - 1);
    if (low < this.span.t0 || high > this.span.t1) return false;
    for (let k = tile; k < tile + count; k++) if (!this.events.isLoaded(k)) return false;
    return true;
  }

  /** Events of a tile start in [t0, t1). */
  #timesOf(tile: number): readonly [t0: number, t1: number] {
    const { start, end, n } = this.events.tiles;
    return [start[tile], tile === n - 1 ? Math.max(start[tile], end[tile]) : start[tile + 1]];
  }

  *#addGroup(tile: number): Generator<undefined> {
    let totals = this.cache.groups.get(tile);
    if (!totals) {
      const tiles: TileTotals[] = [];
      for (let k = tile; k < tile + TILES_PER_GROUP; k++) tiles.push(yield* this.#totalsOf(k));
      this.#scratch.clear();
      for (const one of tiles) this.#scratch.merge(one, this.events.duration);
      totals = this.#scratch.toTile();
      this.cache.groups.set(tile, totals);
    }
    this.#sum.merge(totals, this.events.duration);
  }

  *#addTile(tile: number): Generator<undefined> {
    const { events } = this;
    if (!events.isLoaded(tile)) return;
    if (this.#isWhole(tile, 1)) this.#sum.merge(yield* this.#totalsOf(tile), events.duration);
    else {
      for (let part = 0; part < PARTS; part++) {
        this.#addPart(tile, part);
        yield;
      }
    }
  }

  /** Of the first and the last tile the outer parts reach as far as there are events. */
  #partTimes(tile: number, part: number): readonly [t0: number, t1: number] {
    const [low, high] = this.#timesOf(tile);
    const at = (k: number) => low + ((high - low) * k) / PARTS;
    const isFirst = tile === 0 && part === 0;
    const isLast = tile === this.events.tiles.n - 1 && part === PARTS - 1;
    return [isFirst ? Number.NEGATIVE_INFINITY : at(part), isLast ? Number.POSITIVE_INFINITY : at(part + 1)];
  }

  #addPart(tile: number, part: number) {
    const { span, events } = this;
    const [low, high] = this.#partTimes(tile, part);
    if (high <= span.t0 || low >= span.t1) return;
    if (low < span.t0 || high > span.t1) {
      this.#scan(tile, Math.max(low, span.t0), Math.min(high, span.t1), this.#sum);
      return;
    }
    const { parts } = this.cache;
    const key = tile * PARTS + part;
    let totals = parts.get(key);
    if (!totals) {
      this.#scratch.clear();
      this.#scan(tile, low, high, this.#scratch);
      totals = this.#scratch.toTile();
      if (parts.size >= MAX_PARTS_KEPT) parts.clear();
      parts.set(key, totals);
    }
    this.#sum.merge(totals, events.duration);
  }

  *#totalsOf(tile: number): Generator<undefined, TileTotals> {
    let totals = this.cache.tiles.get(tile);
    if (!totals) {
      this.#scratch.clear();
      for (let part = 0; part < PARTS; part++) {
        const [low, high] = this.#partTimes(tile, part);
        this.#scan(tile, low, high, this.#scratch);
        yield;
      }
      totals = this.#scratch.toTile();
      this.cache.tiles.set(tile, totals);
    }
    return totals;
  }

  rows(): NameTotals[] {
    return this.#sum.names.map((name) => this.#row(name));
  }

  of(name: number): NameTotals | null {
    return this.#sum.sums.count[name] > 0 ? this.#row(name) : null;
  }

  #row(name: number): NameTotals {
    const { count, total, self, whole, least, longest } = this.#sum.sums;
    return {
      name,
      count: count[name],
      totalPs: Math.max(0, total[name]),
      selfPs: Math.max(0, self[name]),
      meanPs: whole[name] / count[name],
      minPs: least[name],
      maxPs: this.events.duration[longest[name]] ?? 0,
      longest: longest[name],
    };
  }

  #scan(tile: number, t0: number, t1: number, into: Accumulator) {
    const { events } = this;
    const { start, name, duration, self } = events;
    const [, tileEnd] = this.#partTimes(tile, PARTS - 1);
    const run = events.runs.find((one) => one.lastTile >= tile);
    if (!run || run.isSample) return;
    for (let row = 0; row < run.low.length; row++) {
      if (run.high[row] === run.low[row] || !this.isCounted(events.rows.line[row])) continue;
      const low = lowerBound(events.start, t0, run.low[row], run.high[row]);
      const high = lowerBound(events.start, t1, low, run.high[row]);
      for (let p = low; p < high; p++) {
        const next = p + 1 < run.high[row] ? start[p + 1] : tileEnd;
        const drawn = next < tileEnd ? Math.min(duration[p], next - start[p]) : duration[p];
        into.add(name[p], 1, drawn, self[p], duration[p]);
        into.offer(name[p], p, duration);
      }
    }
  }

  /** What reaches over the edges of the span: of each row at most one slice at each. */
  #cutAtEdges() {
    const { events, span } = this;
    for (let row = 0; row < events.rows.n; row++) {
      if (!this.isCounted(events.rows.line[row])) continue;
      const before = lastBefore(events, row, span.t0);
      const end = before >= 0 ? this.#endOf(before, row) : span.t0;
      if (end > span.t0) {
        const self = end - span.t0 - this.#insideOf(row, span.t0, end);
        const name = events.name[before];
        this.#sum.add(name, 1, end - span.t0, Math.min(self, events.self[before]), events.duration[before]);
        this.#sum.offer(name, before, events.duration);
      }
      const last = lastBefore(events, row, span.t1);
      if (last < 0 || !this.#isIn(last, span)) continue;
      const lastEnd = this.#endOf(last, row);
      if (lastEnd <= span.t1) continue;
      const self = lastEnd - span.t1 - this.#insideOf(row, span.t1, lastEnd);
      this.#sum.subtract(events.name[last], lastEnd - span.t1, Math.min(self, events.self[last]));
    }
  }

  /** When a slice ends: where the next of its row and tile starts, if that outlives it, as it is drawn. */
  #endOf(position: number, row: number): number {
    const { events } = this;
    const end = events.endOf(position);
    const next = position + 1;
    if (next >= events.rows.offset[row + 1] || !events.has(next)) return end;
    const tile = events.tileOf(position);
    return events.isLoaded(tile) && events.tileOf(next) === tile ? Math.min(end, events.start[next]) : end;
  }

  /** Whether a slice was counted: it started before the span and reaches into it, or its tile is here. */
  #isIn(position: number, span: Span): boolean {
    const { events } = this;
    return events.start[position] < span.t0 || events.isLoaded(events.tileOf(position));
  }

  /** Time that the slices directly inside a slice of a row cover between two moments of it. */
  #insideOf(row: number, t0: number, t1: number): number {
    const { rows, runs } = this.events;
    const below = row + 1;
    if (below >= rows.n || rows.line[below] !== rows.line[row]) return 0;
    let covered = 0;
    const carried = lastBefore(this.events, below, t0);
    const first = this.events.runAt(t0);
    if (carried >= 0 && this.events.start[carried] < runs[first].span.t0) {
      covered += Math.max(0, Math.min(this.events.endOf(carried), t1) - t0);
    }
    for (let k = first; k < runs.length && runs[k].span.t0 < t1; k++) covered += coveredIn(runs[k], below, t0, t1);
    return covered;
  }
}

const WHOLE: Span = { t0: Number.NEGATIVE_INFINITY, t1: Number.POSITIVE_INFINITY };
const CHUNK = 4096;

interface KeyOptions {
  readonly span: Span | null;
  readonly nSteps: number;
  /** Leaves out what would count the same work twice: other sides of an op, derived lines. */
  readonly counts: (event: number) => boolean;
  readonly limit: number;
}

/** Loaded events of a key that overlap a span, and their time in it: the rule of the op table. */
export class KeyFigures extends Stepwise {
  count = 0;
  totalPs = 0;
  minPs = Number.POSITIVE_INFINITY;
  maxPs = 0;
  /** Position of the longest, -1 for none. */
  longest = -1;
  /** Time in each step, ps; NaN for steps without it. */
  readonly perStep: Float64Array;
  hasSteps = false;
  /** Of evenly chosen events. */
  readonly durations: number[] = [];

  constructor(
    readonly events: Events,
    /** Of all events of the key, and perhaps others. */
    readonly marked: Marks,
    readonly key: number,
    readonly options: KeyOptions,
  ) {
    super();
    this.perStep = new Float64Array(options.nSteps).fill(Number.NaN);
  }

  protected override *work(): Generator<undefined> {
    const { events, marked, key, options } = this;
    const { span, counts } = options;
    const range = span && ([span.t0, span.t1] as const);
    const stride = Math.max(1, Math.ceil(marked.n / options.limit));
    let looked = 0;
    for (const { low, high } of intervals(events, span ?? WHOLE)) {
      for (let p = marked.next(low, high); p >= 0; p = marked.next(p + 1, high)) {
        if (++looked % CHUNK === 0) yield;
        if (events.keyOf(p) !== key || !isInRange(events.start[p], events.duration[p], range) || !counts(p)) continue;
        if (this.count % stride === 0) this.durations.push(events.duration[p]);
        this.#add(p, range);
      }
    }
  }

  #add(p: number, range: RangePs) {
    const { events, perStep } = this;
    const duration = events.duration[p];
    this.count += 1;
    this.totalPs += overlapPs(events.start[p], duration, range);
    if (duration < this.minPs) this.minPs = duration;
    if (this.longest < 0 || duration > this.maxPs) {
      this.maxPs = duration;
      this.longest = p;
    }
    const step = events.step[p];
    if (step < 0 || step >= perStep.length) return;
    perStep[step] = (Number.isNaN(perStep[step]) ? 0 : perStep[step]) + duration;
    this.hasSteps = true;
  }
}

export class Inside extends Stepwise {
  readonly #counts = new Map<number, number>();
  readonly #selfs = new Map<number, number>();

  constructor(
    readonly events: Events,
    readonly event: number,
  ) {
    super();
  }

  rows(): { readonly name: number; readonly count: number; readonly selfPs: number }[] {
    return [...this.#counts]
      .map(([name, count]) => ({ name, count, selfPs: this.#selfs.get(name) ?? 0 }))
      .sort((a, b) => b.selfPs - a.selfPs || b.count - a.count);
  }

  protected override *work(): Generator<undefined> {
    const { events } = this;
    let looked = 0;
    for (const { low, high } of subtreeOf(events, this.event)) {
      for (let p = low; p < high; p++) {
        if (++looked % CHUNK === 0) yield;
        const name = events.name[p];
        this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
        this.#selfs.set(name, (this.#selfs.get(name) ?? 0) + events.self[p]);
      }
    }
  }
}

const KIND = { double: 2, uint64: 3, int64: 4, name: 5, bytes: 6 } as const;

export function statsOfEvent(table: Table, names: readonly string[]): { key: string; value: string }[] {
  const { key, kind, bits } = table.columns;
  if (!key || !kind || !(bits instanceof BigUint64Array)) return [];
  return Array.from(bits, (value, row) => ({
    key: names[Number(key[row])] ?? "?",
    value: statText(Number(kind[row]), value, names),
  }));
}

/** Value of one stat as text: ids and other integers digit by digit, doubles with six significant digits. */
export function statText(kind: number, bits: bigint, names: readonly string[]): string {
  if (kind === KIND.double) {
    const value = new Float64Array(BigUint64Array.of(bits).buffer)[0];
    return Number.isInteger(value) ? formatCount(value) : formatNumber(value, 6);
  }
  if (kind === KIND.uint64) return bits.toString();
  if (kind === KIND.int64) return BigInt.asIntN(64, bits).toString();
  if (kind === KIND.name) return names[Number(bits)] ?? "?";
  if (kind === KIND.bytes) return `${formatBytes(Number(bits))} of binary data`;
  return `0x${bits.toString(16)}`;
}

export const ROOT = 0;
const NONE = -1;

/** A growing table of nodes; a node's parent comes before it. */
export class FlameTree {
  n = 0;
  /** Name id; of the root and of groups -1 - group. */
  label = new Int32Array(1024);
  parent = new Int32Array(1024);
  total = new Float64Array(1024);
  count = new Float64Array(1024);
  /** Position of the longest slice, -1 for groups. */
  longest = new Int32Array(1024);
  #slots = new Int32Array(4096).fill(NONE);

  constructor() {
    this.#push(NONE, NONE);
  }

  child(parent: number, label: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash(parent, label) & mask;
    for (let node = this.#slots[slot]; node !== NONE; node = this.#slots[slot]) {
      if (this.parent[node] === parent && this.label[node] === label) return node;
      slot = (slot + 1) & mask;
    }
    const node = this.#push(parent, label);
    this.#slots[slot] = node;
    if (this.n * 2 > this.#slots.length) this.#rehash();
    return node;
  }

  #push(parent: number, label: number): number {
    if (this.n === this.label.length) this.#grow();
    const node = this.n++;
    this.label[node] = label;
    this.parent[node] = parent;
    this.longest[node] = NONE;
    return node;
  }

  #grow() {
    const grown = <T extends Int32Array | Float64Array>(old: T): T => {
      const larger = new (old.constructor as new (n: number) => T)(old.length * 2);
      larger.set(old as never);
      return larger;
    };
    this.label = grown(this.label);
    this.parent = grown(this.parent);
    this.total = grown(this.total);
    this.count = grown(this.count);
    this.longest = grown(this.longest);
  }

  #rehash() {
    this.#slots = new Int32Array(this.#slots.length * 2).fill(NONE);
    const mask = this.#slots.length - 1;
    for (let node = 1; node < this.n; node++) {
      let slot = hash(this.parent[node], this.label[node]) & mask;
      while (this.#slots[slot] !== NONE) slot = (slot + 1) & mask;
      this.#slots[slot] = node;
    }
  }
}

function hash(parent: number, label: number): number {
  let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(label, 0x85ebca6b);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

export interface FlameOptions {
  /** The group that a line is shown in, -1 to leave it out. */
  readonly groupOf: (line: number) => number;
  /** Only what lies in slices that pass; the outermost of them are the bottom. Everything when left out. */
  readonly isBase?: ((position: number) => boolean) | undefined;
}

const FLAME_CHUNK = 16_384;

/** Matches every row with the row around it by two pointers that move forward: one look at each slice. */
export class FlameBuilder extends Stepwise {
  readonly tree = new FlameTree();
  progress = 0;

  constructor(
    readonly events: Events,
    readonly span: Span,
    readonly options: FlameOptions,
  ) {
    super();
  }

  protected override *work(): Generator<undefined> {
    const { rows } = this.events;
    for (let line = 0; line < rows.nLines; line++) {
      const group = this.options.groupOf(line);
      if (group < 0) continue;
      const base = this.tree.child(ROOT, NONE - 1 - group);
      let around = new Level(0);
      for (let row = rows.firstRow[line]; row < rows.firstRow[line + 1]; row++) {
        const level = this.#levelOf(row);
        if (level.n === 0) break;
        yield* this.#match(level, around, rows.depth[row] === 0, base);
        around = level;
      }
      this.progress = line / rows.nLines;
    }
    this.progress = 1;
  }

  /** Slices of a row that reach into the span and are here. */
  #levelOf(row: number): Level {
    const { events, span } = this;
    const parts: (readonly [number, number])[] = [];
    const carried = lastBefore(events, row, span.t0);
    if (carried >= 0 && events.endOf(carried) > span.t0) parts.push([carried, carried + 1]);
    for (let k = events.runAt(span.t0); k < events.runs.length && events.runs[k].span.t0 < span.t1; k++) {
      const run = events.runs[k];
      const low = lowerBound(run.times.start, span.t0, run.low[row], run.high[row]);
      const high = lowerBound(run.times.start, span.t1, low, run.high[row]);
      if (!run.isSample && high > low) parts.push([low, high]);
      for (let i = low; run.isSample && i < high; i++) {
        // Of a span that is only sampled: what reaches out of it, around slices that are here.
        const p = run.positionOf(i);
        if (events.endOf(p) > run.span.t1) parts.push([p, p + 1]);
      }
    }
    const level = new Level(parts.reduce((n, [low, high]) => n + high - low, 0));
    for (const [low, high] of parts) for (let p = low; p < high; p++) level.position[level.n++] = p;
    return level;
  }

  /** Gives each slice of a level its node, under that of the slice around it. */
  *#match(level: Level, around: Level, isOutermost: boolean, base: number): Generator<undefined> {
    const { start, name } = this.events;
    const { isBase } = this.options;
    const bottom = isBase ? NONE : base;
    for (let k = 0, at = 0; k < level.n; k++) {
      const p = level.position[k];
      while (at + 1 < around.n && start[around.position[at + 1]] <= start[p]) at += 1;
      const isInside = at < around.n && start[around.position[at]] <= start[p];
      let parent = isOutermost ? bottom : isInside ? around.node[at] : NONE;
      if (parent === NONE && isBase?.(p)) parent = base;
      level.node[k] = parent === NONE ? NONE : this.tree.child(parent, name[p]);
      const next = k + 1 < level.n ? start[level.position[k + 1]] : Number.POSITIVE_INFINITY;
      if (parent !== NONE) this.#add(level.node[k], p, next);
      if (k % FLAME_CHUNK === FLAME_CHUNK - 1) yield;
    }
    yield;
  }

  /** `next`: start of the next slice of the row, where one ends that it outlives. */
  #add(node: number, position: number, next: number) {
    const { events, span, tree } = this;
    const start = events.start[position];
    const duration = events.duration[position];
    if (start < span.t0 && next <= span.t0) return;
    tree.total[node] += Math.min(start + duration, next, span.t1) - Math.max(start, span.t0);
    tree.count[node] += 1;
    const best = tree.longest[node];
    if (best < 0 || duration > events.duration[best]) tree.longest[node] = position;
  }
}

class Level {
  n = 0;
  readonly position: Int32Array;
  readonly node: Int32Array;

  constructor(capacity: number) {
    this.position = new Int32Array(capacity);
    this.node = new Int32Array(capacity);
  }
}

export interface Flame {
  readonly tree: FlameTree;
  readonly self: Float64Array;
  /** Children of node k, longest first: children[offset[k] .. offset[k + 1]). */
  readonly offset: Int32Array;
  readonly children: Int32Array;
}

export function finishFlame(tree: FlameTree): Flame {
  // Slices of a node and of all inside it; a node comes after its parent.
  const slices = tree.count.slice(0, tree.n);
  for (let node = tree.n - 1; node > ROOT; node--) {
    const parent = tree.parent[node];
    slices[parent] += slices[node];
    if (tree.label[parent] < 0) tree.total[parent] += tree.total[node];
    if (tree.label[node] < 0) tree.count[node] = slices[node];
  }
  tree.count[ROOT] = slices[ROOT];
  const self = tree.total.slice(0, tree.n);
  const offset = new Int32Array(tree.n + 1);
  for (let node = 1; node < tree.n; node++) {
    self[tree.parent[node]] -= tree.total[node];
    offset[tree.parent[node] + 1] += 1;
  }
  for (let node = 0; node < tree.n; node++) {
    offset[node + 1] += offset[node];
    if (self[node] < 0) self[node] = 0;
  }
  const at = offset.slice();
  const children = new Int32Array(Math.max(0, tree.n - 1));
  for (let node = 1; node < tree.n; node++) children[at[tree.parent[node]]++] = node;
  for (let node = 0; node < tree.n; node++) {
    children.subarray(offset[node], offset[node + 1]).sort((a, b) => tree.total[b] - tree.total[a] || a - b);
  }
  return { tree, self, offset, children };
}

export interface FlameRect extends Readonly<Record<"ps" | "level" | "x0" | "x1", number>> {
  /** Of a rest the node that it is inside. */
  readonly node: number;
  /** How many nodes are too narrow to be drawn one by one; 0 for a node itself. */
  readonly nRest: number;
}

interface Draft extends Readonly<Record<"node" | "nRest" | "ps", number>> {
  readonly children: Draft[];
}

/** Deeper ones appear as the reader zooms in. */
const MAX_LEVELS = 200;

export function pathTo(tree: FlameTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > ROOT; at = tree.parent[at]) path.push(at);
  return path.reverse();
}

/** The rectangles with `zoom`, and what leads to it above, over the full width; those under `leastRatio` of it are merged. */
export function layoutFlame(flame: Flame, zoom: number, leastRatio: number): FlameRect[] {
  const { tree } = flame;
  const whole = tree.total[zoom];
  if (!(whole > 0)) return [];
  const path = zoom === ROOT ? [] : [ROOT, ...pathTo(tree, zoom).slice(0, -1)];
  const above = path.map((node, level) => ({ node, nRest: 0, ps: tree.total[node], level, x0: 0, x1: 1 }));
  const root = draftOf(flame, zoom, whole * leastRatio, 0);
  const laid = partition<Draft>()(
    hierarchy(root, (draft) => draft.children).sum((draft) => draft.ps - sumOf(draft.children)),
  );
  const own = laid.descendants().map(({ data, depth, x0, x1 }) => {
    const { node, nRest, ps } = data;
    return { node, nRest, ps, level: path.length + depth, x0, x1 };
  });
  return [...above, ...own];
}

const sumOf = (drafts: readonly Draft[]) => drafts.reduce((sum, { ps }) => sum + ps, 0);

function draftOf(flame: Flame, node: number, leastPs: number, level: number): Draft {
  const { tree, offset, children } = flame;
  const drafts: Draft[] = [];
  let restPs = 0;
  let nRest = 0;
  for (let k = offset[node]; k < offset[node + 1]; k++) {
    const child = children[k];
    const ps = tree.total[child];
    if (ps >= leastPs && ps > 0 && level < MAX_LEVELS) drafts.push(draftOf(flame, child, leastPs, level + 1));
    else {
      restPs += ps;
      nRest += 1;
    }
  }
  if (restPs >= leastPs && restPs > 0) drafts.push({ node, nRest, ps: restPs, children: [] });
  // Slices that outlive the one around them must not make it narrower than they are.
  return { node, nRest: 0, ps: Math.max(tree.total[node], sumOf(drafts)), children: drafts };
}
