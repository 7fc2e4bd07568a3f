/**
 * "Open in Perfetto": the trace from the kernel into a window of ui.perfetto.dev, by that page's message API.
 *
 * Nothing is fetched from that address by this code, and nothing happens before the click: the browser opens the page, and
 * the trace goes from window to window. Source: https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui
 */

import { fromBase64 } from "../../data/pack";
import type { Reply, TraceData } from "../../data/store";
import { reasonOf } from "../../data/widget";
import { button, h } from "../../ui/dom";

/** The one address in all of the bundles; tests/test_bundle.py knows it. */
export const PERFETTO = "https://ui.perfetto.dev";
const PING_MS = 50;
const READY_LIMIT_MS = 30_000;
const CLOSE_MS = 100;
const CLOSE_TRIES = 100;
const BY_HAND = `in Python, prof.to_chrome_trace("trace.json.gz") writes the file; open it there by hand.`;

export class PerfettoLink {
  #status = "";
  #isBusy = false;
  #element: HTMLElement | null = null;

  constructor(
    readonly data: TraceData,
    readonly title: string,
    readonly signal: AbortSignal,
    /** How long the other page may take; shorter in tests. */
    readonly limitMs = READY_LIMIT_MS,
  ) {}

  /** What it does, the button, and how it went; built anew each time that the panel opens. */
  panel(): HTMLElement {
    const reason = this.data.isOffline ? `This page has no kernel to write the trace: ${BY_HAND}` : "";
    const open = button("Open in Perfetto", () => void this.open(), this.signal, { "data-key": "perfetto" });
    open.disabled = reason !== "" || this.#isBusy;
    const about = `Opens ui.perfetto.dev in a new tab and hands it the trace, which stays in your browser: nothing is uploaded. Where it does not open: ${BY_HAND}`;
    const status = h("p.tl-perfetto-status", { role: "status" }, this.#status);
    this.#element = h("div.tl-perfetto", open, h("p.q", reason || about), status);
    return this.#element;
  }

  /** To be called from a click, else browsers open no window. */
  async open(): Promise<void> {
    if (this.#isBusy) return;
    let target: Window | null = null;
    try {
      target = window.open(PERFETTO, "_blank");
    } catch {
      // Sandboxed frames throw where others return null.
    }
    const why = "pop-ups are blocked for this page, or it is a sandboxed frame";
    if (!target) return this.#say(`The browser opened no window: ${why}. Instead, ${BY_HAND}`);
    this.#isBusy = true;
    this.#say("Waiting for the trace from the kernel and for ui.perfetto.dev…");
    try {
      const [buffer] = await Promise.all([this.#trace(), isReady(target, this.limitMs, this.signal)]);
      const message = { perfetto: { buffer, title: this.title, fileName: "trace.json.gz" } };
      target.postMessage(message, PERFETTO, [buffer]);
      this.#say("The trace is in the other tab.");
    } catch (error) {
      this.#say(`${reasonOf(error)} Instead, ${BY_HAND}`);
      closeSurely(target);
    } finally {
      this.#isBusy = false;
      this.#tell();
    }
  }

  async #trace(): Promise<ArrayBuffer> {
    const asked = this.data.call("chrome_trace", {}, this.signal);
    // A restored page without a kernel finds out when it sends; the call itself would wait for its time limit.
    if (this.data.problem && !this.data.hasKernel) {
      asked.catch(() => {});
      throw new Error(`There is no kernel to write the trace.`);
    }
    const whole = joined(await asked) ?? joined(await this.data.call("chrome_trace", { as_text: true }, this.signal));
    if (!whole) throw new Error("The trace from the kernel did not arrive whole.");
    return whole;
  }

  #say(text: string) {
    this.#status = text;
    this.#tell();
  }

  #tell() {
    const status = this.#element?.querySelector(".tl-perfetto-status");
    if (status) status.textContent = this.#status;
    const open = this.#element?.querySelector("button");
    if (open) open.disabled = this.#isBusy;
  }
}

function joined({ message, buffers }: Reply): ArrayBuffer | null {
  const texts = Array.isArray(message.data) ? message.data.map((text) => fromBase64(String(text))) : [];
  const pieces = texts.length > 0 ? texts : buffers;
  const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  if (size !== Number(message.n_bytes)) return null;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole.buffer;
}

/** Asks the window until it answers: messages that it gets before it listens are lost. */
function isReady(target: Window, limitMs: number, given: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = new AbortController();
    const end = (act: () => void) => {
      done.abort();
      clearInterval(pings);
      clearTimeout(limit);
      act();
    };
    const onMessage = (event: MessageEvent) => {
      if (event.source === target && event.origin === PERFETTO && event.data === "PONG") end(resolve);
    };
    window.addEventListener("message", onMessage, { signal: done.signal });
    const closed = () => end(() => reject(new Error("The view was closed.")));
    given.addEventListener("abort", closed, { signal: done.signal });
    // To whoever is there: until the page has loaded, a ping to its address would be an error in the console.
    const pings = setInterval(() => target.postMessage("PING", "*"), PING_MS);
    const unreachable = () => reject(new Error("ui.perfetto.dev did not answer: it cannot be reached from here."));
    const limit = setTimeout(() => end(unreachable), limitMs);
  });
}

/**
 * Chromium loses a request to close while a window changes from one page to another, and says `closed` of it all the same:
 * an empty page of this page's own process ends the change, and closes.
 */
function closeSurely(target: Window) {
  let nLeft = CLOSE_TRIES;
  target.location.replace("about:blank");
  const again = setInterval(() => {
    nLeft -= 1;
    if (target.closed || nLeft === 0) clearInterval(again);
    else target.close();
  }, CLOSE_MS);
}
