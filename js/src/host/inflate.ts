/** Turns the bytes of a part into those of a pack: in a worker, so that a frame never waits; else slice by slice. */
import { inflate } from "../model/wire/wire";

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
