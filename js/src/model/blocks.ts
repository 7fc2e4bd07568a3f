/** The addresses of an allocator: its blocks, the regions that they lie in, what is free between them, and their picture. */

import { firstWhere, lowerBound, type Span, upperBound } from "../data/columns";
import type { SessionMeta } from "../data/meta";
import { freeBytes, type MemoryEvents } from "./memory";

type BlockColumn = "row" | "address" | "bytes" | "at" | "start" | "end";
/**
 * Pieces of memory, by address: `row` of the event of the allocation, or of the release of one from before the capture; `at`: where
 * it begins on the axis; `start` and `end` in ps, those of the session where the capture does not have them.
 */
export interface Blocks extends Readonly<Record<BlockColumn, Float64Array>> {
  readonly n: number;
  readonly regions: readonly Region[];
  /** The length of the axis in bytes. */
  readonly length: number;
}

/** Addresses without a long stretch that was never used; `at`: where it begins on the axis. */
export type Region = Readonly<Record<"address" | "bytes" | "at", number>>;

/** What was never used is left out where it is longer than this part of what was. */
const HOLE_RATIO = 1 / 8;
/** Room on the axis between two regions, and for all such room, as parts of what was used. */
const BREAK_RATIO = 1 / 64;
const BREAKS_RATIO = 1 / 2;

export function blocksOf(events: MemoryEvents, sessions: readonly SessionMeta[]): Blocks {
  const { begin, end, address, allocated, time, isFree, freedAt, session } = events;
  const rows: number[] = [];
  for (let i = begin; i < end; i++) if (address[i] > 0 && allocated[i] > 0) rows.push(i);
  rows.sort((a, b) => address[a] - address[b] || a - b);
  const f8 = (value: (row: number) => number) => Float64Array.from(rows, value);
  const of = (row: number) => sessions[session[row]] ?? { start_ps: time[begin], stop_ps: time[end - 1] };
  const blocks = {
    n: rows.length,
    row: f8((row) => row),
    address: f8((row) => address[row]),
    bytes: f8((row) => allocated[row]),
    start: f8((row) => (isFree[row] ? Math.min(of(row).start_ps, time[row]) : time[row])),
    end: f8((row) => (isFree[row] ? time[row] : freedAt[row] >= 0 ? time[freedAt[row]] : of(row).stop_ps)),
  };
  const regions = regionsOf(blocks, (bytes) => isPiece(events, bytes));
  const last = regions[regions.length - 1];
  const at = blocks.address.map((own) => placeOf(regions, own));
  return { ...blocks, at, regions, length: last ? last.at + last.bytes : 0 };
}

/** Whether the largest free piece ever had just this size, as far as the allocator tells it. */
function isPiece(events: MemoryEvents, bytes: number): boolean {
  const { begin, end, piece } = events;
  for (let i = begin; i < end; i++) if (isSame(piece[i], bytes, freeBytes(events, i))) return true;
  return false;
}

/** TensorFlow tells what is free in pieces in six digits. */
const TOLD_RATIO = 2e-6;
const GRAIN_BYTES = 512;

function isSame(pieceBytes: number, bytes: number, freeBytes: number): boolean {
  return pieceBytes > 0 && Math.abs(pieceBytes - bytes) <= freeBytes * TOLD_RATIO + GRAIN_BYTES;
}

function regionsOf(
  { n, address, bytes }: Pick<Blocks, "n" | "address" | "bytes">,
  isKept: (bytes: number) => boolean,
): Region[] {
  const used: { from: number; to: number }[] = [];
  for (let k = 0; k < n; k++) {
    const last = used[used.length - 1];
    if (last && address[k] <= last.to) last.to = Math.max(last.to, address[k] + bytes[k]);
    else used.push({ from: address[k], to: address[k] + bytes[k] });
  }
  const total = used.reduce((sum, { from, to }) => sum + to - from, 0);
  const joined: { from: number; to: number }[] = [];
  for (const one of used) {
    const last = joined[joined.length - 1];
    if (last && (one.from - last.to <= total * HOLE_RATIO || isKept(one.from - last.to))) last.to = one.to;
    else joined.push({ ...one });
  }
  const room = total * Math.min(BREAK_RATIO, BREAKS_RATIO / joined.length);
  let at = 0;
  return joined.map(({ from, to }) => {
    const region = { address: from, bytes: to - from, at };
    at += to - from + room;
    return region;
  });
}

/** Where an address lies on the axis; between regions the end of the one before it. */
export function placeOf(regions: readonly Region[], address: number): number {
  const region = regions[firstWhere(regions.length, (k) => regions[k].address > address) - 1];
  return region ? region.at + Math.min(region.bytes, address - region.address) : 0;
}

/** Addresses [from, to) that hold no block; `isInside`: blocks lie on both sides, so that it is no larger. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly isInside: boolean;
}

/** What is not held at a time, from the lowest address that was used to the highest. */
export function gapsAt(blocks: Blocks, timePs: number): Gap[] {
  const { n, address, bytes, regions } = blocks;
  if (n === 0) return [];
  const gaps: Gap[] = [];
  let reached = address[0];
  let isInside = false;
  for (let k = 0; k < n; k++) {
    if (!livesAt(blocks, k, timePs)) continue;
    if (address[k] > reached) gaps.push({ from: reached, to: address[k], isInside });
    reached = Math.max(reached, address[k] + bytes[k]);
    isInside = true;
  }
  const last = regions[regions.length - 1];
  const end = last.address + last.bytes;
  if (reached < end) gaps.push({ from: reached, to: end, isInside: false });
  return gaps;
}

function livesAt({ start, end }: Blocks, k: number, timePs: number): boolean {
  return start[k] <= timePs && timePs < end[k];
}

/** The block at a time and a place on the axis, -1 for none. */
export function blockAt(blocks: Blocks, timePs: number, place: number): number {
  for (let k = upperBound(blocks.at, place) - 1; k >= 0; k--) {
    if (place < blocks.at[k] + blocks.bytes[k] && livesAt(blocks, k, timePs)) return k;
  }
  return -1;
}

/** "" where it cannot be told where the largest free piece lies, as blocks from before the capture may lie in what looks free. */
export type Piece = { readonly where: "inside"; readonly gap: Gap } | { readonly where: "beyond" | "" };

/** Where the largest free piece lies, of which the allocator tells the size: in a gap of just that size, or where all gaps are smaller beyond them. */
export function largestFree(blocks: Blocks, timePs: number, pieceBytes: number, freeBytes: number): Piece {
  const gaps = gapsAt(blocks, timePs);
  const gap = gaps.find(({ from, to, isInside }) => isInside && isSame(pieceBytes, to - from, freeBytes));
  if (gap) return { where: "inside", gap };
  const isLarger = pieceBytes > 0 && gaps.every(({ from, to }) => to - from < pieceBytes);
  return { where: isLarger ? "beyond" : "" };
}

/** For how long, around a time, no block touches the addresses. */
export function freeAround(blocks: Blocks, { from, to }: Gap, timePs: number, within: Span): Span {
  let { t0, t1 } = within;
  const last = lowerBound(blocks.address, to);
  for (let k = 0; k < last; k++) {
    if (blocks.address[k] + blocks.bytes[k] <= from) continue;
    if (blocks.end[k] <= timePs) t0 = Math.max(t0, blocks.end[k]);
    else if (blocks.start[k] > timePs) t1 = Math.min(t1, blocks.start[k]);
  }
  return { t0, t1 };
}

/** A window of time and of places on the axis. */
export interface MapWindow extends Span {
  readonly low: number;
  readonly high: number;
}

/** By pixel, the top row first: 1 + the colour of the block that has most of it, 0 for none, and `EDGE` or `HATCH`; and how much of it blocks cover. */
export class Raster {
  readonly color: Uint8Array;
  readonly cover: Float32Array;
  readonly #most: Float32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    const n = width * height;
    this.color = new Uint8Array(n);
    [this.cover, this.#most] = [new Float32Array(n), new Float32Array(n)];
  }

  clear(): void {
    this.color.fill(0);
    this.cover.fill(0);
    this.#most.fill(0);
  }

  /** The same part of pixels [from, to), which go to the block that has the largest. */
  add(from: number, to: number, part: number, color: number): void {
    const { cover } = this;
    const most = this.#most;
    for (let i = from; i < to; i++) {
      cover[i] = Math.min(cover[i] + part, 1);
      if (part <= most[i]) continue;
      most[i] = part;
      this.color[i] = color;
    }
  }

  /** Whole pixels [x0, x1) of a row. */
  fill(y: number, x0: number, x1: number, color: number): void {
    if (x0 >= x1) return;
    const [from, to] = [y * this.width + x0, y * this.width + x1];
    this.color.fill(color, from, to);
    this.cover.fill(1, from, to);
    this.#most.fill(1, from, to);
  }
}

/** The first pixel of a block in address and time, where it has more than two each way. */
export const EDGE = 32;
/** The release or the allocation is not in the capture. */
export const HATCH = 64;
const MIN_EDGE_PX = 3;
const HATCH_PX = 8;

/** @param colorOf by block, less than 31 */
export function paintBlocks(blocks: Blocks, events: MemoryEvents, colorOf: Uint8Array, window: MapWindow, out: Raster) {
  out.clear();
  const { width, height } = out;
  const perPs = width / (window.t1 - window.t0);
  const perByte = height / (window.high - window.low);
  const { n, at, bytes, start, end, row } = blocks;
  for (let k = 0; k < n; k++) {
    if (end[k] <= window.t0 || start[k] >= window.t1 || at[k] >= window.high || at[k] + bytes[k] <= window.low)
      continue;
    const x0 = Math.max(0, (start[k] - window.t0) * perPs);
    const x1 = Math.min(width, (end[k] - window.t0) * perPs);
    const y0 = Math.max(0, height - (at[k] + bytes[k] - window.low) * perByte);
    const y1 = Math.min(height, height - (at[k] - window.low) * perByte);
    const [left, right, top, bottom] = [Math.round(x0), Math.round(x1), Math.round(y0), Math.round(y1)];
    const color = 1 + colorOf[k];
    if (left < right && top < bottom) {
      const isBefore = events.isFree[row[k]] === 1;
      const isOpen = events.freedAt[row[k]] < 0;
      const hatched = isBefore ? left : isOpen ? Math.max(left, right - HATCH_PX) : right;
      const isLarge = right - left >= MIN_EDGE_PX && bottom - top >= MIN_EDGE_PX;
      for (let y = top; y < bottom; y++) {
        out.fill(y, left, hatched, color);
        out.fill(y, hatched, right, color | HATCH);
        if (isLarge) out.fill(y, left, y === top ? right : left + 1, color | EDGE);
      }
    } else addThin(out, { x0, x1, y0, y1 }, color);
  }
}

type Box = Readonly<Record<"x0" | "x1" | "y0" | "y1", number>>;

/** Of a block thinner than a pixel, what it covers of each. */
function addThin(out: Raster, { x0, x1, y0, y1 }: Box, color: number): void {
  const bottom = Math.min(out.height, Math.ceil(y1));
  const left = Math.floor(x0);
  const last = Math.min(out.width, Math.ceil(x1)) - 1;
  for (let y = Math.floor(y0); y < bottom; y++) {
    const tall = Math.min(y1, y + 1) - Math.max(y0, y);
    const row = y * out.width;
    out.add(row + left, row + left + 1, tall * (Math.min(x1, left + 1) - x0), color);
    out.add(row + left + 1, row + last, tall, color);
    if (last > left) out.add(row + last, row + last + 1, tall * (x1 - last), color);
  }
}
