/** Turns a regular expression and names into flags in a worker with a time limit: some patterns take longer than a reader lives. */
import { atEnd } from "../../host/failures";
import { matchNames } from "../../model/events/search";

const SOURCE = `onmessage = ({ data: { source, names } }) => {
  const pattern = new RegExp(source, "i");
  const flags = Uint8Array.from(names, (name) => (pattern.test(name) ? 1 : 0));
  postMessage(flags, [flags.buffer]);
};`;
const LIMIT_MS = 2000;

export class PatternMatcher {
  #worker: Worker | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #url = "";

  constructor(signal: AbortSignal) {
    atEnd(signal, () => this.cancel());
  }

  /**
   * One flag per name to `done`, null when it takes too long; the call before this one is given up. Where a page allows no
   * worker it happens at once, without a limit. Throws a SyntaxError for a pattern that is none.
   */
  run(names: readonly string[], source: string, done: (flags: Uint8Array | null) => void) {
    this.cancel();
    const here = () => done(matchNames(names, { text: source, isRegex: true }));
    new RegExp(source, "i");
    const worker = this.#start();
    if (!worker) return here();
    const end = (act: () => void) => {
      if (worker !== this.#worker) return;
      this.cancel();
      act();
    };
    worker.onmessage = ({ data }: MessageEvent<Uint8Array>) => end(() => done(data));
    worker.onerror = () => end(here);
    this.#timer = setTimeout(() => end(() => done(null)), LIMIT_MS);
    worker.postMessage({ source, names });
  }

  /** Whether an answer is still to come. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = "";
  }

  #start(): Worker | null {
    if (typeof Worker === "undefined") return null;
    try {
      this.#url = URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" }));
      this.#worker = new Worker(this.#url);
    } catch {
      this.cancel();
    }
    return this.#worker;
  }
}
