/** A grid of values -> cells on a canvas, by a ramp of one colour that gets darker (in the dark theme lighter) with the value. */

import type { HostGrid } from "../../model/hosts/host_grid";
import { h } from "../../ui/dom";

/** From this size on cells stand apart. */
const GAP_FROM_PX = 5;
const N_COLORS = 256;
/** One straggler must not make all others the same shade: small differences take more of the ramp than large ones. */
const EXPONENT = 0.5;

/** The value of the shade in the middle of the ramp. */
export function middleOf([least, most]: readonly [number, number]): number {
  return least + 0.5 ** (1 / EXPONENT) * (most - least);
}

export interface Ramp {
  /** As a style sheet has it. */
  readonly css: string;
  /** RGBA of each of 256 shades. */
  readonly rgba: Uint8ClampedArray;
}

/** A category has its own colour; times of several categories have that of the text, which means none. */
export function colorRamp(root: HTMLElement, of: string): Ramp {
  const color = of === "own" || of === "step" ? "var(--ink)" : `var(--c-${of})`;
  const mixes = [7, 40, 96].map((percent) => `color-mix(in srgb, ${color} ${percent}%, var(--bg))`);
  const css = `linear-gradient(to right, ${mixes.join(", ")})`;
  const canvas = h("canvas", { width: N_COLORS, height: 1 });
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  if (!ctx) return { css, rgba: new Uint8ClampedArray(4 * N_COLORS) };
  const probe = h("span", { hidden: true });
  root.append(probe);
  const resolved = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  ctx.fillStyle = resolved("var(--bg)");
  ctx.fillRect(0, 0, N_COLORS, 1);
  const gradient = ctx.createLinearGradient(0, 0, N_COLORS, 0);
  for (const [k, mix] of mixes.entries()) gradient.addColorStop(k / (mixes.length - 1), resolved(mix));
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, N_COLORS, 1);
  probe.remove();
  return { css, rgba: ctx.getImageData(0, 0, N_COLORS, 1).data };
}

export interface CellPlace {
  readonly left: number;
  readonly width: number;
  readonly height: number;
  /** Of the canvas. */
  readonly total: { readonly width: number; readonly height: number };
}

export function paintCells(
  canvas: HTMLCanvasElement,
  grid: HostGrid,
  [least, most]: readonly [number, number],
  ramp: Ramp,
  place: CellPlace,
): void {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(place.total.width * ratio);
  canvas.height = Math.round(place.total.height * ratio);
  const ctx = canvas.getContext("2d");
  const cells = h("canvas", { width: grid.nColumns, height: grid.nRows });
  const inner = cells.getContext("2d");
  if (!ctx || !inner || grid.value.length === 0) return;
  const image = inner.createImageData(grid.nColumns, grid.nRows);
  const span = Math.max(1e-12, most - least);
  for (let i = 0; i < grid.value.length; i++) {
    const ratio = Math.max(0, Math.min(1, (grid.value[i] - least) / span));
    const shade = Math.round(ratio ** EXPONENT * (N_COLORS - 1));
    image.data.set(ramp.rgba.subarray(4 * shade, 4 * shade + 4), 4 * i);
  }
  inner.putImageData(image, 0, 0);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(cells, place.left, 0, place.width, place.height);
  drawGaps(ctx, grid, place);
}

function drawGaps(ctx: CanvasRenderingContext2D, { nRows, nColumns }: HostGrid, place: CellPlace): void {
  const { left, width, height } = place;
  if (width / nColumns >= GAP_FROM_PX) {
    for (let c = 1; c < nColumns; c++) ctx.clearRect(Math.round(left + (c / nColumns) * width), 0, 1, height);
  }
  if (height / nRows >= GAP_FROM_PX) {
    for (let r = 1; r < nRows; r++) ctx.clearRect(left, Math.round((r / nRows) * height), width, 1);
  }
}
