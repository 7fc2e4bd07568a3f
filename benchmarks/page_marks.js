// Runs in a page before its own scripts: notes when a canvas is first drawn on, how long frames and tasks take, and how many
// bytes came. `globalThis.tfprofBench` holds what was noted, times in milliseconds.
(() => {
  /** So many rectangles on a canvas are a picture; an empty frame has fewer. */
  const PICTURE_RECTANGLES = 40;
  const bench = { n_bytes: 0, longTasks: [], firstPaint: 0, cell: {}, frames: [], run: 0 };
  globalThis.tfprofBench = bench;
  const Socket = globalThis.WebSocket;
  globalThis.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) => {
        bench.n_bytes += data.byteLength ?? data.size ?? data.length;
      });
    }
  };

  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) bench.longTasks.push(entry.duration);
  }).observe({ entryTypes: ["longtask"] });

  /** Notes the end of the first frame in which enough was drawn on a canvas that `selector` matches. */
  bench.watchPaint = (selector) => {
    bench.firstPaint = 0;
    const proto = CanvasRenderingContext2D.prototype;
    const { fillRect } = proto;
    let n = 0;
    proto.fillRect = function (...given) {
      fillRect.apply(this, given);
      if (!this.canvas.closest?.(selector)) return;
      n += 1;
      if (n !== PICTURE_RECTANGLES) return;
      proto.fillRect = fillRect; // what follows is measured as it is
      requestAnimationFrame(() => {
        bench.firstPaint = Date.now(); // as the kernel dates its messages; performance.timeOrigin drifts from it
      });
    };
  };

  /** Notes in `shown` the end of the frame in which each of the selectors, by name, had text or something drawn in view. */
  bench.watchShown = (selectors) => {
    bench.shown = {};
    const waiting = new Set(Object.keys(selectors));
    const isShown = (element) => element.getClientRects().length > 0 && (element.innerText !== "" || element.childElementCount > 0);
    const look = () => {
      for (const name of waiting) {
        if (![...document.querySelectorAll(selectors[name])].some(isShown)) continue;
        waiting.delete(name);
        requestAnimationFrame(() => scheduler.postTask(() => (bench.shown[name] = Date.now())));
      }
      if (waiting.size > 0) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  };

  /** Notes the kernel's dates of a cell that runs now: of its output, and of its word that it is idle. Not when they arrive. */
  bench.watchCell = () => {
    bench.cell = {};
    const { kernel } = globalThis.jupyterapp.shell.currentWidget.context.sessionContext.session;
    const onMessage = (_, { msg }) => {
      if (msg?.parent_header?.msg_type !== "execute_request") return;
      const date = Date.parse(msg.header.date);
      if (["execute_result", "display_data"].includes(msg.header.msg_type)) bench.cell.shown ??= date; // what is published later is for saving
      if (msg.header.msg_type !== "status" || msg.content.execution_state !== "idle" || !bench.cell.shown) return;
      bench.cell.idle = date;
      kernel.anyMessage.disconnect(onMessage);
    };
    kernel.anyMessage.connect(onMessage);
  };

  /** Notes for each frame its time and how long the page worked on it. */
  bench.record = () => {
    bench.frames = [];
    bench.longTasks.length = 0;
    bench.run += 1;
    const { run } = bench;
    const onFrame = (time) => {
      if (bench.run !== run) return;
      const began = performance.now();
      const frame = [time];
      bench.frames.push(frame);
      // Runs when this frame's callbacks, layout and paint are over.
      void scheduler.postTask(() => frame.push(performance.now() - began), { priority: "user-blocking" });
      requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);
  };

  bench.stop = () => {
    bench.run += 1;
    return { frames: bench.frames, longTasks: [...bench.longTasks] };
  };
})();
