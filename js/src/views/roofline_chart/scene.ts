/** Works and the room for a chart -> its axes, its roofs and where each op is: powers of ten on both axes. */

import type { RooflineMeta } from "../../model/wire/roofline_meta";
import { hasPlace, type Work } from "./work";

/** Room for the numbers of the axes. */
const LEFT_PX = 44;
const BOTTOM_PX = 19;
const TOP_PX = 8;
const MAX_RADIUS_PX = 20;
const MIN_RADIUS_PX = 1.5;
/** Ops of one look that are nearer to each other are one circle: drawn over each other their areas would not add up. */
const SAME_PX = 5;
/** Part of the time whose outliers do not stretch an axis: they are drawn on its edge. */
const OUTLIERS = 0.02;

export interface Roof {
  readonly kind: number;
  /** Float operations a second. */
  readonly peak: number;
  /** Whether an op of the chart runs on it. */
  readonly isUsed: boolean;
}

/** A circle: an op, or several that are at one place, such as those of layers of one size. */
export interface Place {
  /** Most time first. */
  readonly works: readonly Work[];
  /** The time of all. */
  readonly ps: number;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

/** A line of powers of ten. */
class Axis {
  readonly #from: number;
  readonly #perDecade: number;

  constructor(
    readonly low: number,
    readonly high: number,
    readonly lowPx: number,
    readonly highPx: number,
  ) {
    this.#from = Math.log10(low);
    this.#perDecade = (highPx - lowPx) / (Math.log10(high) - this.#from);
  }

  toPx(value: number): number {
    const inside = Math.min(this.high, Math.max(this.low, value));
    return this.lowPx + (Math.log10(inside) - this.#from) * this.#perDecade;
  }

  /** The powers of ten on it. */
  get ticks(): number[] {
    const [first, last] = [Math.ceil(this.#from), Math.floor(Math.log10(this.high))];
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
  }
}

export class Scene {
  /** Most time first. */
  readonly places: readonly Place[];
  /** The time of all ops, also of those without a place. */
  readonly wholePs: number;
  /** The highest first. */
  readonly roofs: readonly Roof[];
  /** Float operations a byte, and a second. */
  readonly x: Axis;
  readonly y: Axis;

  constructor(
    readonly roofline: RooflineMeta,
    works: readonly Work[],
    readonly width: number,
    readonly height: number,
    /** For the words behind the roofs. */
    wordsPx: number,
  ) {
    const placed = works.filter(hasPlace);
    this.wholePs = works.reduce((sum, { ps }) => sum + ps, 0);
    this.roofs = roofsOf(roofline, placed);
    const ridges = this.roofs.filter(({ isUsed }) => isUsed).map(({ peak }) => this.ridge(peak));
    const [left, right] = reach(placed, (work) => work.intensity);
    const [bottom, top] = reach(placed, (work) => work.flopRate);
    const highest = Math.max(top, ...this.roofs.map(({ peak }) => peak));
    this.x = new Axis(left / 2, Math.max(right, ...ridges) * 2, LEFT_PX, Math.max(LEFT_PX + 80, width - wordsPx));
    this.y = new Axis(bottom / 2, highest * 1.5, height - BOTTOM_PX, TOP_PX);
    const groups = this.#groups(placed);
    const mostPs = Math.max(0, ...groups.map(({ ps }) => ps));
    const largest = Math.min(MAX_RADIUS_PX, height / 10);
    this.places = groups
      .map((group) => ({ ...group, radius: Math.max(MIN_RADIUS_PX, Math.sqrt(group.ps / mostPs) * largest) }))
      .sort((a, b) => b.ps - a.ps);
  }

  /** Each op joins the first of those with more time that looks the same and is at its place. */
  #groups(works: readonly Work[]) {
    const { kind } = this.roofline.ops;
    const groups: { works: Work[]; ps: number; readonly x: number; readonly y: number }[] = [];
    for (const work of works) {
      const [x, y] = [this.x.toPx(work.intensity), this.y.toPx(work.flopRate)];
      const group = groups.find(
        (one) =>
          Math.hypot(one.x - x, one.y - y) < SAME_PX &&
          one.works[0].bound === work.bound &&
          kind[one.works[0].row] === kind[work.row],
      );
      if (group === undefined) groups.push({ works: [work], ps: work.ps, x, y });
      else {
        group.works.push(work);
        group.ps += work.ps;
      }
    }
    return groups;
  }

  /** Float operations a byte from which on a roof is what holds ops up; 0 where the memory's rate is not known. */
  ridge(peak: number): number {
    const { bytes_per_s } = this.roofline;
    return bytes_per_s === null ? 0 : peak / bytes_per_s;
  }

  /** The memory's roof from its lower to its upper end, on the axes; null where it is not known. */
  get slope(): readonly [readonly [number, number], readonly [number, number]] | null {
    const { bytes_per_s } = this.roofline;
    if (bytes_per_s === null) return null;
    const from = Math.max(this.x.low, this.y.low / bytes_per_s);
    const to = Math.min(this.x.high, (this.roofs[0]?.peak ?? this.y.high) / bytes_per_s);
    return [
      [this.x.toPx(from), this.y.toPx(from * bytes_per_s)],
      [this.x.toPx(to), this.y.toPx(to * bytes_per_s)],
    ];
  }

  /** Whether an op is drawn on an edge, as it lies beyond it. */
  get hasOutliers(): boolean {
    return this.places.some(({ works: [{ intensity, flopRate }] }) => intensity < this.x.low || flopRate < this.y.low);
  }

  /** The op at a point: of those that are drawn there the smallest, else the nearest that is near. */
  at(x: number, y: number, nearPx: number): Place | null {
    let found: Place | null = null;
    let best = nearPx;
    for (const place of this.places) {
      const beyond = Math.hypot(place.x - x, place.y - y) - place.radius;
      const distance = beyond <= 0 ? place.radius - 1e6 : beyond;
      if (distance < best) [found, best] = [place, distance];
    }
    return found;
  }
}

function roofsOf({ kinds, ops }: RooflineMeta, works: readonly Work[]): Roof[] {
  const used = new Set(works.map(({ row }) => ops.kind[row]));
  return kinds
    .flatMap(({ peak }, kind) => (peak === null ? [] : [{ kind, peak, isUsed: used.has(kind) }]))
    .sort((a, b) => b.peak - a.peak);
}

/** The least and the largest value, but for the least ones of little time. */
function reach(works: readonly Work[], value: (work: Work) => number): [number, number] {
  const sorted = works.map((work) => ({ value: value(work), ps: work.ps })).sort((a, b) => a.value - b.value);
  let left = OUTLIERS * sorted.reduce((sum, { ps }) => sum + ps, 0);
  const first = sorted.find(({ ps }) => {
    left -= ps;
    return left < 0;
  });
  return [first?.value ?? 1, sorted[sorted.length - 1]?.value ?? 1];
}
