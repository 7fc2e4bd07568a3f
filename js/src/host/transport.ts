/**
 * The messages between a page and the kernel: parts that are asked for by key, and calls.
 *
 * Few keys are outstanding at a time, so that what comes on screen can overtake. A front end that drops binary buffers is
 * asked for text instead. Every connected view lends its model: any one of them may be closed while parts arrive.
 */

import { fromBase64 } from "../model/wire/wire";
import type { AnyModel } from "./afm";
import { atEnd } from "./failures";

export interface Reply {
  readonly message: Readonly<Record<string, unknown>>;
  readonly buffers: readonly Uint8Array[];
}

export interface Wishes {
  /** Whether a part that nobody asked for is wanted: the kernel sends what the reader will look at before it is free. */
  lacks(key: string): boolean;
  /** The next part to ask for, "" for none. */
  next(): string;
  take(key: string, bytes: Uint8Array): void;
  /** `key` cannot be had ("" when the kernel does not say which). */
  refuse(key: string, reason: string): void;
}

/** Parts asked for and not answered yet. */
const MAX_OUTSTANDING = 3;
const STALL_MS = 5000;
const CALL_LIMIT_MS = 60_000;

interface Message {
  readonly kind?: string;
  readonly key?: string;
  readonly id?: number;
  readonly data?: string;
  readonly message?: string;
}

export class Transport {
  readonly #models = new Set<AnyModel>();
  readonly #asked = new Set<string>();
  readonly #calls = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  #encoding: "binary" | "base64" = "binary";
  #askedAt = 0;
  #heardAt = 0;
  /** Silence after which outstanding keys are asked for again. */
  #patience = STALL_MS;
  #lastCall = 0;

  constructor(readonly wishes: Wishes) {}

  /** Whether the kernel has ever answered. */
  get hasAnswered() {
    return this.#heardAt > 0;
  }

  /** Listens to a model and speaks through it until the signal. */
  join(model: AnyModel, signal: AbortSignal) {
    const onMessage = (message: Message, buffers?: unknown[]) => this.#hear(message ?? {}, buffers ?? []);
    model.on("msg:custom", onMessage);
    this.#models.add(model);
    // A kernel that has not answered yet is busy and will; a stream that stopped half-way is a reason to ask again.
    const timer = setInterval(() => this.#watch(), 1000);
    const leave = () => {
      model.off("msg:custom", onMessage);
      this.#models.delete(model);
      clearInterval(timer);
    };
    atEnd(signal, leave);
    if (this.#asked.size > 0 && Date.now() - Math.max(this.#askedAt, this.#heardAt) > STALL_MS)
      this.#ask([...this.#asked]);
    this.pump();
  }

  /** Asks for what is wanted next, as far as few enough keys are outstanding. */
  pump() {
    if (this.#models.size === 0) return;
    const keys: string[] = [];
    while (this.#asked.size < MAX_OUTSTANDING) {
      const key = this.wishes.next();
      if (key === "") break;
      this.#asked.add(key);
      keys.push(key);
    }
    if (keys.length > 0) this.#ask(keys);
  }

  isAsked(key: string) {
    return this.#asked.has(key);
  }

  call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Reply> {
    this.#lastCall += 1;
    // Views share the model, each message reaches all of them: ids must differ between pages too.
    const id = Math.floor(Math.random() * 2 ** 30) * 1024 + (this.#lastCall % 1024);
    return new Promise<Reply>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#calls.delete(id);
        act();
      };
      const late = new Error(
        `The kernel did not answer "${name}" within ${CALL_LIMIT_MS / 1000} s: it is busy or gone.`,
      );
      const timer = setTimeout(() => end(() => reject(late)), CALL_LIMIT_MS);
      atEnd(signal, () => end(() => reject(new DOMException("cancelled", "AbortError"))));
      this.#calls.set(id, {
        resolve: (reply) => end(() => resolve(reply)),
        reject: (error) => end(() => reject(error)),
      });
      this.#send({ ...args, kind: "call", id, name, encoding: this.#encoding });
    });
  }

  #ask(keys: readonly string[]) {
    this.#askedAt = Date.now();
    this.#send({ kind: "parts?", keys: [...keys], encoding: this.#encoding });
  }

  #send(message: Readonly<Record<string, unknown>>) {
    const [model] = this.#models;
    try {
      model?.send(message);
    } catch (error) {
      // A restored model without a kernel throws; the page lives on with what it holds.
      this.wishes.refuse("", `There is no kernel to ask: ${String(error)}`);
    }
  }

  /** Twice as patient each time: a kernel that is busy after all answers every question when it is free. */
  #watch() {
    const isSilent = this.#heardAt > 0 && Date.now() - Math.max(this.#askedAt, this.#heardAt) > this.#patience;
    if (this.#asked.size === 0 || !isSilent) return;
    this.#patience *= 2;
    this.#ask([...this.#asked]);
  }

  #hear(message: Message, buffers: unknown[]) {
    if (message.kind === "part") this.#hearPart(message.key ?? "", message.data, buffers);
    else if (message.kind === "reply" && message.id !== undefined) {
      this.#calls
        .get(message.id)
        ?.resolve({ message: { ...message }, buffers: buffers.flatMap((b) => asBytes(b) ?? []) });
    } else if (message.kind === "error") this.#hearError(message);
  }

  /** Each view hears every message; the first to do so takes it. */
  #hearPart(key: string, data: string | undefined, buffers: unknown[]) {
    this.#heardAt = Date.now();
    this.#patience = STALL_MS;
    if (!this.#asked.has(key) && !this.wishes.lacks(key)) return;
    const bytes = data === undefined ? asBytes(buffers[0]) : fromBase64(data);
    if (!bytes) {
      if (this.#encoding === "base64") return;
      this.#encoding = "base64";
      this.#ask([...this.#asked]);
      return;
    }
    this.#asked.delete(key);
    this.wishes.take(key, bytes);
    this.pump();
  }

  #hearError({ id, key, message }: Message) {
    const reason = String(message ?? "The kernel could not answer.");
    if (id !== undefined) {
      this.#calls.get(id)?.reject(new Error(reason));
      return;
    }
    this.#heardAt = Date.now();
    if (key !== undefined && !this.#asked.delete(key)) return;
    this.wishes.refuse(key ?? "", reason);
    this.pump();
  }
}

function asBytes(buffer: unknown): Uint8Array | null {
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  if (ArrayBuffer.isView(buffer)) return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return null;
}
