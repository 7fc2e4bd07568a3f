/** A column of a table -> plain numbers to index. */

import type { Table, TypedArray } from "./wire";

type NumberArray = Exclude<TypedArray, BigUint64Array>;

const NONE = new Float64Array(0);

/** The values of a column; empty for a table without rows. Throws where the table has rows but not the column. */
export function numbers(table: Table, column: string): NumberArray {
  const values = table.columns[column];
  if (values === undefined) {
    if (table.n === 0) return NONE;
    throw new Error(
      `a table of ${table.n} rows has no column "${column}"; it has ${Object.keys(table.columns).join(", ")}`,
    );
  }
  if (values instanceof BigUint64Array) throw new Error(`column "${column}" holds 64 raw bits, not numbers`);
  return values;
}

/** The values of several columns, in the order asked for. */
export function columns<const N extends readonly string[]>(
  table: Table,
  ...names: N
): { readonly [K in keyof N]: NumberArray } {
  return names.map((name) => numbers(table, name)) as { [K in keyof N]: NumberArray };
}
