/**
 * The flame of a span of time: slices merged by the path of names that leads to them, and their rectangles.
 *
 * Every row is matched with the row around it by two pointers that move forward, so the cost is one look at each slice. The
 * work goes line by line with a clock to stop at.
 */

import { hierarchy, partition } from "d3-hierarchy";
import { lowerBound } from "../data/columns";
import type { Events } from "../data/events";
import type { Span } from "../data/time";
import { Stepwise } from "./aggregate";
import { lastBefore } from "./rows";

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

const CHUNK = 16_384;

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
      if (k % CHUNK === CHUNK - 1) yield;
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

export interface FlameRect {
  /** Of a rest the node that it is inside. */
  readonly node: number;
  /** How many nodes are too narrow to be drawn one by one; 0 for a node itself. */
  readonly nRest: number;
  readonly ps: number;
  readonly level: number;
  readonly x0: number;
  readonly x1: number;
}

interface Draft {
  readonly node: number;
  readonly nRest: number;
  readonly ps: number;
  readonly children: Draft[];
}

/** Deeper ones appear as the reader zooms in. */
const MAX_LEVELS = 200;

export function pathTo(tree: FlameTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > ROOT; at = tree.parent[at]) path.push(at);
  return path.reverse();
}

/**
 * The rectangles with `zoom` over the full width; what leads to it lies above it, over the full width too.
 * @param leastRatio what has a smaller share of the width is merged, so that the number of rectangles is bounded by the width
 */
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
