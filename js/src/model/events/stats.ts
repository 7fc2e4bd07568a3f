/** Turns rows of the `stats` table into text: exact for 64-bit integers. */
import { formatBytes, formatCount, formatNumber } from "../text/format";
import type { Table } from "../wire/wire";

const KIND = { double: 2, uint64: 3, int64: 4, name: 5, bytes: 6 } as const;

export interface Stat {
  readonly key: string;
  readonly value: string;
}

/** `table`: the rows of one event. */
export function statsOfEvent(table: Table, names: readonly string[]): Stat[] {
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
