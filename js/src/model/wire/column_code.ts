/** The coded bytes of a column (Python's views/payload/column_code.py, which says what the bases are) -> its numbers. */

import type { TypedArray } from "./wire";

export interface Code {
  readonly base: "plain" | "delta" | "less" | "gap" | "bits";
  /** Bytes of each row. */
  readonly width: number;
  /** Another column, which names none itself. */
  readonly of?: string;
  readonly first?: number;
  readonly scale?: number;
}

/** Fills a column whose bytes, low ones of all rows first, are `bytes`; `other` is the one that its code names. */
export function decodeInto(column: TypedArray, code: Code, bytes: Uint8Array, other: TypedArray | null): void {
  if (code.base === "bits") {
    joinBytes(column, bytes, code.width);
    return;
  }
  const left = numbersOf(bytes, column.length, code.width);
  const scale = code.scale ?? 1;
  const to = column as Float64Array;
  const of = other as Float64Array | null;
  if (code.base === "plain" || code.base === "less") {
    for (let i = 0; i < to.length; i++) to[i] = left[i] * scale + (of ? of[i] : 0);
    return;
  }
  let value = code.first ?? 0;
  for (let i = 0; i < to.length; i++) {
    if (i > 0) value += (of ? of[i - 1] : 0) + left[i] * scale;
    to[i] = value;
  }
}

/** Undoes zigzag. Doubles, because numbers have up to 53 digits. */
function numbersOf(bytes: Uint8Array, n: number, width: number): Float64Array {
  const found = new Float64Array(n);
  for (let plane = 0, factor = 1; plane < width; plane++, factor *= 256) {
    const at = plane * n;
    for (let i = 0; i < n; i++) found[i] += bytes[at + i] * factor;
  }
  for (let i = 0; i < n; i++) found[i] = found[i] % 2 === 0 ? found[i] / 2 : -(found[i] + 1) / 2;
  return found;
}

function joinBytes(column: TypedArray, bytes: Uint8Array, width: number) {
  const n = column.length;
  const to = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  for (let plane = 0; plane < width; plane++) {
    const at = plane * n;
    for (let i = 0; i < n; i++) to[i * width + plane] = bytes[at + i];
  }
}
