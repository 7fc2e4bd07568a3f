/** Tables -> a Pack as Python's views/payload/wire.py writes it; for tests and the development page. */

import { deflateSync } from "node:zlib";
import {
  CONSTRUCTORS,
  type Dtype,
  type Header,
  inflate,
  type Pack,
  parsePack,
  type TypedArray,
} from "../src/data/pack";

/** Decodes a Pack. */
export async function decodePack(bytes: Uint8Array): Promise<Pack> {
  return parsePack(await inflate(bytes));
}

/** The inverse of what a page does with a Pack. */
export async function encodePack(pack: Pack): Promise<Uint8Array> {
  const header: Header = { meta: { ...pack.meta }, tables: {} };
  const parts: { offset: number; bytes: Uint8Array }[] = [];
  let offset = 0;
  for (const [name, table] of Object.entries(pack.tables)) {
    header.tables[name] = { n: table.n, columns: {} };
    for (const [column, values] of Object.entries(table.columns)) {
      if (values.length !== table.n)
        throw new Error(`${name}.${column} has ${values.length} values for ${table.n} rows`);
      header.tables[name].columns[column] = { dtype: dtypeOf(values), offset };
      parts.push({ offset, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) });
      offset += Math.ceil(values.byteLength / 8) * 8;
    }
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = Math.ceil((4 + json.byteLength) / 8) * 8;
  const raw = new Uint8Array(start + offset);
  new DataView(raw.buffer).setUint32(0, start - 4, true);
  raw.fill(0x20, 4, start);
  raw.set(json, 4);
  for (const part of parts) raw.set(part.bytes, start + part.offset);
  return new Uint8Array(deflateSync(raw, { level: 1 }));
}

function dtypeOf(values: TypedArray): Dtype {
  const found = Object.entries(CONSTRUCTORS).find(([, Constructor]) => values instanceof Constructor);
  if (!found) throw new TypeError(`no wire type for ${values.constructor.name}`);
  return found[0] as Dtype;
}
