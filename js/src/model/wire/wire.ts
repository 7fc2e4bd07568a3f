/**
 * Turns a Pack (bytes from Python's views/payload/wire.py) into typed arrays and back.
 *
 * A Pack is zlib of: uint32 LE header length | JSON header, padded with spaces so that the columns start at a multiple of
 * 8 | columns, each padded to 8 bytes, most of them coded. Column offsets count from the end of the header.
 */

import { type Code, decodeInto } from "./column_code";

export type TypedArray =
  | Float64Array
  | Float32Array
  | Int32Array
  | Uint32Array
  | Uint16Array
  | Uint8Array
  | BigUint64Array;

export interface Table {
  readonly n: number;
  readonly columns: Readonly<Record<string, TypedArray>>;
}

export interface Pack {
  readonly meta: Readonly<Record<string, unknown>>;
  readonly tables: Readonly<Record<string, Table>>;
}

export type Dtype = "f8" | "f4" | "i4" | "u4" | "u2" | "u1" | "u8";

interface SentColumn {
  readonly dtype: Dtype;
  readonly offset: number;
  readonly code?: Code;
}

interface SentTable {
  readonly n: number;
  readonly columns: Record<string, SentColumn>;
}

export interface Header {
  meta: Record<string, unknown>;
  tables: Record<string, SentTable>;
}

export const CONSTRUCTORS = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
  u8: BigUint64Array,
} as const;

/** A table of no rows: what a view gets for a table that the Pack does not have. */
export const EMPTY_TABLE: Table = { n: 0, columns: {} };

/** Undoes zlib. */
export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const source = new Response(bytes as Uint8Array<ArrayBuffer>).body;
  if (!source) throw new Error("this browser gives no stream of bytes to decompress");
  return new Uint8Array(await new Response(source.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/** Decodes the bytes of a Pack after decompression; throws an Error that names the table and column where they do not fit. Columns without a code are views into `raw` where its alignment allows. */
export function parsePack(raw: Uint8Array): Pack {
  if (raw.byteLength < 8) throw new Error(`Pack of ${raw.byteLength} bytes is shorter than its header`);
  // A message's buffer may start anywhere inside a larger one; typed arrays need multiples of 8.
  const bytes = raw.byteOffset % 8 === 0 ? raw : raw.slice();
  const headerLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const start = 4 + headerLength;
  if (start > bytes.byteLength)
    throw new Error(`Pack header of ${headerLength} bytes exceeds ${bytes.byteLength} bytes`);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start))) as Header;
  const body = bytes.subarray(start);
  const tables = Object.entries(header.tables).map(([name, table]) => [name, tableOf(name, table, body)] as const);
  return { meta: header.meta, tables: Object.fromEntries(tables) };
}

function tableOf(name: string, { n, columns }: SentTable, body: Uint8Array): Table {
  const made: Record<string, TypedArray> = {};
  const sent = Object.entries(columns);
  // A column that is another's base has none itself.
  for (const [column, one] of [...sent.filter(([, { code }]) => !code?.of), ...sent.filter(([, { code }]) => code?.of)])
    made[column] = columnOf(`${name}.${column}`, n, one, body, made);
  return { n, columns: Object.fromEntries(sent.map(([column]) => [column, made[column]])) };
}

function columnOf(
  name: string,
  n: number,
  { dtype, offset, code }: SentColumn,
  body: Uint8Array,
  others: Readonly<Record<string, TypedArray>>,
): TypedArray {
  const Constructor = CONSTRUCTORS[dtype];
  const end = offset + n * (code?.width ?? Constructor?.BYTES_PER_ELEMENT ?? 0);
  if (!Constructor || end > body.byteLength) {
    throw new Error(`Pack column ${name} (${n} x ${dtype} at ${offset}) does not fit its bytes`);
  }
  if (!code) return new Constructor(body.buffer as ArrayBuffer, body.byteOffset + offset, n);
  const other = code.of === undefined ? null : others[code.of];
  if (other === undefined) throw new Error(`Pack column ${name}: its base "${code.of}" is missing`);
  const column = new Constructor(n);
  decodeInto(column, code, body.subarray(offset, end), other);
  return column;
}

/** Base64 of any length to bytes (atob needs a binary string in between). */
export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
