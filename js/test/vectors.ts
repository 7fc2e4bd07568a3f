/** `tests/vectors/*.json`, which Python writes -> its captures as a page holds them, and comparisons of its tables. */

import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Table, TypedArray } from "../src/data/pack";
import { connectData, type TraceData } from "../src/data/store";
import { encodePack } from "./encoding";
import { fakePage } from "./fake_host";

export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** What travelled: of a column its dtype and its values, null for what is no number. */
export interface SentPack {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly tables: Readonly<Record<string, Readonly<Record<string, readonly [string, readonly (number | null)[]]>>>>;
}

const KINDS: Readonly<Record<string, { from(values: Iterable<number>): TypedArray }>> = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
};

export function vector<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../tests/vectors/${name}.json`, import.meta.url), "utf-8"));
}

function tableOf(columns: SentPack["tables"][string]): Table {
  const made = Object.entries(columns).map(([name, [dtype, values]]) => {
    return [name, KINDS[dtype].from(values.map((value) => value ?? Number.NaN))] as const;
  });
  return { n: made[0]?.[1].length ?? 0, columns: Object.fromEntries(made) };
}

/** The data of a page that has received the pack. */
export async function dataOf({ meta, tables }: SentPack): Promise<TraceData> {
  const made = Object.entries(tables).map(([name, columns]) => [name, tableOf(columns)] as const);
  const isOfTile = ([name]: readonly [string, Table]) => name.includes(":");
  const page = await fakePage({ meta, tables: Object.fromEntries(made.filter((one) => !isOfTile(one))) });
  const tiles = Object.fromEntries(made.filter(isOfTile).map(([name, table]) => [name.replace(/:0$/, ""), table]));
  const pack = Buffer.from(await encodePack({ meta: {}, tables: tiles })).toString("base64");
  if (tiles.events) page.data.state.parts = [...(page.data.state.parts as unknown[]), ["events:0", pack]];
  return connectData(page.host, page.view.get("data") as string, new AbortController().signal);
}

/** Expects the same rows in the same order: numbers to 9 digits, where a vector says null no number. */
export function expectRows(found: readonly Row[], expected: readonly Row[]): void {
  expect(found.map(close)).toEqual(expected.map(close));
}

/** The same in any order: Python breaks ties as it pleases, and tells rows apart by some columns. */
export function expectSameRows(found: readonly Row[], expected: readonly Row[], keys: readonly string[]): void {
  const key = (row: Row) => keys.map((name) => row[name]).join("\n");
  const sorted = (rows: readonly Row[]) => [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  expectRows(sorted(found), sorted(expected));
}

function close(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value !== "number") return [name, value];
      return [name, Number.isFinite(value) ? Number(value.toPrecision(9)) + 0 : null];
    }),
  );
}
