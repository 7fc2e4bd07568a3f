/**
 * Turns a Pack (bytes from Python's views/payload/wire.py) into typed arrays and back.
 *
 * A Pack is zlib of: uint32 LE header length | JSON header, padded with spaces so that the columns start at a multiple of
 * 8 | columns, each padded to 8 bytes. Column offsets count from the end of the header.
 */

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

type Dtype = "f8" | "f4" | "i4" | "u4" | "u2" | "u1" | "u8";

interface Header {
  meta: Record<string, unknown>;
  tables: Record<string, { n: number; columns: Record<string, { dtype: Dtype; offset: number }> }>;
}

const CONSTRUCTORS = {
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
  return pipe(bytes, new DecompressionStream("deflate"));
}

/** Decodes a Pack; throws an Error that names the table and column where the bytes do not fit. */
export async function decodePack(bytes: Uint8Array): Promise<Pack> {
  return parsePack(await inflate(bytes));
}

/** Decodes the bytes of a Pack after decompression. Columns are views into `raw` where its alignment allows. */
export function parsePack(raw: Uint8Array): Pack {
  if (raw.byteLength < 8) throw new Error(`Pack of ${raw.byteLength} bytes is shorter than its header`);
  // A message's buffer may start anywhere inside a larger one; typed arrays need multiples of 8.
  const bytes = raw.byteOffset % 8 === 0 ? raw : raw.slice();
  const headerLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const start = 4 + headerLength;
  if (start > bytes.byteLength)
    throw new Error(`Pack header of ${headerLength} bytes exceeds ${bytes.byteLength} bytes`);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start))) as Header;
  const tables: Record<string, Table> = {};
  for (const [name, table] of Object.entries(header.tables)) {
    const columns: Record<string, TypedArray> = {};
    for (const [column, { dtype, offset }] of Object.entries(table.columns)) {
      const Constructor = CONSTRUCTORS[dtype];
      const end = start + offset + table.n * (Constructor?.BYTES_PER_ELEMENT ?? 0);
      if (!Constructor || end > bytes.byteLength) {
        throw new Error(`Pack column ${name}.${column} (${table.n} x ${dtype} at ${offset}) does not fit its bytes`);
      }
      columns[column] = new Constructor(bytes.buffer as ArrayBuffer, bytes.byteOffset + start + offset, table.n);
    }
    tables[name] = { n: table.n, columns };
  }
  return { meta: header.meta, tables };
}

/** The inverse of decodePack; for tests and the development page. */
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
  return pipe(raw, new CompressionStream("deflate"));
}

function dtypeOf(values: TypedArray): Dtype {
  const found = Object.entries(CONSTRUCTORS).find(([, Constructor]) => values instanceof Constructor);
  if (!found) throw new TypeError(`no wire type for ${values.constructor.name}`);
  return found[0] as Dtype;
}

/** Base64 of any length to bytes (atob needs a binary string in between). */
export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function pipe(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const source = new Response(bytes as Uint8Array<ArrayBuffer>).body;
  if (!source) throw new Error("this browser gives no stream of bytes to decompress");
  return new Uint8Array(await new Response(source.pipeThrough(stream)).arrayBuffer());
}
