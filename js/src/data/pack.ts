/**
 * A Pack, the bytes that Python sends, as typed arrays and back.
 *
 * It is zlib of: uint32 LE header length | JSON header, padded with spaces so that the columns start at a multiple of 8 |
 * columns, each padded to 8 bytes, most of them coded. Column offsets count from the end of the header.
 * Python's side is show/pack.py. A worker inflates, so that no frame waits for it.
 */

interface Code {
  readonly base: "plain" | "delta" | "less" | "gap" | "bits";
  readonly width: number;
  /** Another column, which names none itself. */
  readonly of?: string;
  readonly first?: number;
  readonly scale?: number;
  readonly over?: number;
}

/** A column whose bytes, low ones of all rows first, are `bytes`; `other` is the one that its code names. */
function decoded(
  Constructor: Constructed,
  n: number,
  code: Code,
  bytes: Uint8Array,
  other: TypedArray | null,
): TypedArray {
  if (code.base === "bits") return joinBytes(new Constructor(n), bytes, code.width);
  // All loops are over doubles: one over several kinds of arrays is some times slower.
  const values = numbersOf(bytes, n, code.width);
  const scale = code.scale ?? 1;
  const of = other === null || other instanceof Float64Array ? other : new Float64Array(other as Int32Array);
  if (code.base === "plain" || code.base === "less") {
    if (of !== null) for (let i = 0; i < n; i++) values[i] = values[i] * scale + of[i];
    else if (scale !== 1) for (let i = 0; i < n; i++) values[i] *= scale;
  } else {
    let value = code.first ?? 0;
    for (let i = 0; i < n; i++) {
      if (i > 0) value += (of === null ? 0 : of[i - 1]) + values[i] * scale;
      values[i] = value;
    }
  }
  if (code.over !== undefined) for (let i = 0; i < n; i++) values[i] /= code.over;
  return Constructor === Float64Array ? values : new (Constructor as Int32ArrayConstructor)(values);
}

/** Undoes zigzag. Doubles, because numbers have up to 53 digits. */
function numbersOf(bytes: Uint8Array, n: number, width: number): Float64Array {
  const found = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let low = 0;
    let high = 0;
    for (let plane = 0, at = i; plane < width; plane++, at += n) {
      if (plane < 4) low |= bytes[at] << (plane * 8);
      else high |= bytes[at] << (plane * 8 - 32);
    }
    const half = (high >>> 0) * 2 ** 31 + (low >>> 1);
    found[i] = low & 1 ? -half - 1 : half;
  }
  return found;
}

function joinBytes(column: TypedArray, bytes: Uint8Array, width: number): TypedArray {
  const n = column.length;
  const to = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  for (let plane = 0; plane < width; plane++) {
    const at = plane * n;
    for (let i = 0; i < n; i++) to[i * width + plane] = bytes[at + i];
  }
  return column;
}

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
type Constructed = (typeof CONSTRUCTORS)[Dtype];

export const EMPTY_TABLE: Table = { n: 0, columns: {} };

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
  return decoded(Constructor, n, code, body.subarray(offset, end), other);
}

/** Base64 of any length to bytes (atob needs a binary string in between). */
export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export interface Inflater {
  run(bytes: Uint8Array): Promise<Uint8Array>;
  close(): void;
}

const SOURCE = `onmessage = async ({ data: { id, bytes } }) => {
  try {
    const body = new Response(bytes).body.pipeThrough(new DecompressionStream("deflate"));
    const raw = await new Response(body).arrayBuffer();
    postMessage({ id, raw }, [raw]);
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};`;
/** Without a worker: what is inflated between two breaths of the page. */
const SLICE_BYTES = 1 << 16;

interface Answer {
  readonly id: number;
  readonly raw?: ArrayBuffer;
  readonly error?: string;
}

export function newInflater(): Inflater {
  return new WorkerInflater();
}

class WorkerInflater implements Inflater {
  #worker: Worker | null = null;
  #hasFailed = typeof Worker === "undefined";
  #url = "";
  #lastId = 0;
  readonly #waiting = new Map<number, { bytes: Uint8Array; done: (a: Answer) => void }>();

  async run(bytes: Uint8Array): Promise<Uint8Array> {
    if (!this.#hasFailed && !this.#worker) this.#start();
    if (!this.#worker) return inflateGently(bytes);
    const worker = this.#worker;
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = await new Promise<Answer>((done) => {
      this.#waiting.set(id, { bytes, done });
      worker.postMessage({ id, bytes });
    });
    if (answer.raw) return new Uint8Array(answer.raw);
    if (answer.error) throw new Error(answer.error);
    return inflateGently(bytes);
  }

  close() {
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#hasFailed = true;
    this.#release();
  }

  /** Some hosts forbid workers, at once or when the worker starts: then the page does the work itself. */
  #start() {
    try {
      this.#url = URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" }));
      const worker = new Worker(this.#url);
      worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        this.#waiting.get(data.id)?.done(data);
        this.#waiting.delete(data.id);
      };
      worker.onerror = () => this.close();
      this.#worker = worker;
    } catch {
      this.#hasFailed = true;
    }
  }

  #release() {
    for (const [id, { done }] of this.#waiting) done({ id });
    this.#waiting.clear();
  }
}

/** Inflates on this thread, which gets to do other things after each slice. */
async function inflateGently(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes.byteLength <= SLICE_BYTES) return inflate(bytes);
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  const whole = new Response(stream.readable as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
  const feed = async () => {
    for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
      await writer.write(bytes.slice(at, at + SLICE_BYTES));
      await new Promise((resolve) => setTimeout(resolve));
    }
    await writer.close();
  };
  const [raw] = await Promise.all([whole, feed()]);
  return new Uint8Array(raw);
}
