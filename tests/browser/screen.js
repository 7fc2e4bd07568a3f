/** What a test calls in a page that shows a dashboard: to wait until it is still, and to read what is on screen. */
(() => {
  const GIVE_UP_MS = 4000;
  /** Where the tracks of the timeline begin, and between two looks at them. */
  const [TRACKS_PX, TIP_PX] = [75, 15];
  const SAID = ["title", "aria-label", "aria-valuetext", "aria-description", "alt"];

  const frame = () => new Promise(requestAnimationFrame);
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /** After all that waits to be done; an idle callback may be half a second late. */
  const last = () => globalThis.scheduler.postTask(() => undefined, { priority: "background" });
  const view = (name) => [...document.querySelectorAll(`[data-tfprof="${name}"]`)].at(-1);

  /** Resolves when nothing was written for so long and the page has nothing to do. */
  async function quiet(ms) {
    let written = 0;
    const observer = new MutationObserver(() => {
      written += 1;
    });
    observer.observe(document.documentElement, { subtree: true, childList: true, characterData: true, attributes: true });
    for (let before = -1; before !== written; ) {
      before = written;
      await frame();
      await pause(ms);
      await last();
      await frame();
    }
    observer.disconnect();
  }

  /** By canvas the texts that it shows, by their place. */
  const written = new WeakMap();
  const { fillRect, clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
    const { a, d, e, f } = this.getTransform();
    const isAll = a * x + e <= 0 && d * y + f <= 0;
    if (isAll && a * (x + width) + e >= this.canvas.width && d * (y + height) + f >= this.canvas.height)
      written.delete(this.canvas);
    return fillRect.call(this, x, y, width, height);
  };
  CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
    const { a, d, e, f } = this.getTransform();
    const [left, top, right, bottom] = [a * x + e, d * y + f, a * (x + width) + e, d * (y + height) + f];
    for (const place of [...(written.get(this.canvas)?.keys() ?? [])]) {
      const [at, line] = place.split(",").map(Number);
      if (at >= left && at <= right && line >= top && line <= bottom) written.get(this.canvas).delete(place);
    }
    return clearRect.call(this, x, y, width, height);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...most) {
    const { a, d, e, f } = this.getTransform();
    const place = `${Math.round(a * x + e)},${Math.round(d * y + f)}`;
    if (!written.has(this.canvas)) written.set(this.canvas, new Map());
    if (text) written.get(this.canvas).set(place, text);
    return fillText.call(this, text, x, y, ...most);
  };

  const own = (element) => {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    return texts.map((node) => node.data.trim()).filter(Boolean).join(" | ");
  };
  const kind = (one) => {
    const column = one.dataset.column === undefined ? "" : `:${one.dataset.column}`;
    return `${one.localName}.${String(one.getAttribute("class") ?? "").split(" ")[0]}${column}`;
  };

  /** The elements of a parent, each with its place there. */
  function steps(elements) {
    const kinds = elements.map(kind);
    const count = {};
    for (const one of kinds) count[one] = (count[one] ?? 0) + 1;
    const next = {};
    return elements.map((element, i) => {
      const row = element.getAttribute("aria-rowindex");
      if (row !== null) return `row[${row}]`;
      next[kinds[i]] = (next[kinds[i]] ?? -1) + 1;
      return kinds[i] + (count[kinds[i]] > 1 ? `[${next[kinds[i]]}]` : "");
    });
  }

  /** Texts below an element by their place, and what a screen reader or a tooltip says, of all that is not hidden. */
  function texts(root) {
    const found = {};
    const visit = (element, path) => {
      if (["STYLE", "SCRIPT"].includes(element.tagName)) return;
      const { display, visibility } = getComputedStyle(element);
      if (display === "none") return;
      if (visibility !== "hidden") {
        const text = own(element);
        if (text) found[path] = text;
        for (const name of SAID) if (element.getAttribute(name)) found[`${path}@${name}`] = element.getAttribute(name);
        if (element instanceof HTMLCanvasElement)
          for (const [place, drawn] of written.get(element) ?? []) found[`${path}#${place}`] = drawn;
        if (element instanceof HTMLInputElement && element.value) found[`${path}@value`] = element.value;
      }
      const children = [...(element.shadowRoot?.children ?? []), ...element.children];
      steps(children).forEach((step, i) => {
        visit(children[i], `${path} ${step}`);
      });
    };
    visit(root, root.dataset.tfprof ?? "");
    return found;
  }

  function press(...keys) {
    const section = view("timeline").querySelector("section");
    for (const key of keys) section.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }

  /** The tabs that lead to a view, as patterns of their titles tell them; none where one of them is not offered. */
  function tabsOf(path) {
    const offered = [...view("dashboard").querySelectorAll("[role=tab]:not([hidden])")];
    const found = path.map((title) => offered.find((one) => new RegExp(`^(${title})\\s*[\\d,.]*( .?s · .* %)?$`).test(one.textContent)));
    return found.includes(undefined) ? [] : found;
  }
  const open = (path) => {
    for (const tab of tabsOf(path)) tab.click();
  };

  /** What a tab shows when it is open; a saved notebook gives its kernel some seconds to send what it has a part of. */
  async function ofTab(name, path) {
    open(path);
    const isComing = () => !view(name)?.hasChildNodes() || view(name).querySelector(".tfp-waiting");
    const end = performance.now() + GIVE_UP_MS;
    do await quiet(60);
    while (isComing() && performance.now() < end);
    return view(name) ? texts(view(name)) : {};
  }

  /** What is in each tab, what is above the tabs, and what the timeline shows in place of its tracks. */
  async function read(above, tabs, panes) {
    const found = {};
    for (const name of above) found[name] = texts(view(name));
    for (const [name, path] of Object.entries(tabs)) if (tabsOf(path).length > 0) found[name] = await ofTab(name, path);
    for (const pane of panes) {
      press("g");
      await quiet(130); // a table of sums is filled with such a pause
      found[pane] = texts(view("timeline"));
    }
    if (panes.length > 0) press("g");
    return found;
  }

  /** What a view shows under each of some choices in its bar, by choice. */
  async function choices(name, path, wanted) {
    const found = {};
    if (tabsOf(path).length > 0) open(path);
    for (const text of wanted) {
      const buttons = [...(view(name)?.querySelectorAll(".seg button") ?? [])];
      const button = buttons.find((one) => one.textContent === text);
      if (!button) continue;
      button.click();
      await quiet(60);
      found[text] = texts(view(name));
    }
    return found;
  }

  /** What a dashboard says of what its capture lacks. */
  function limits() {
    const notes = view("dashboard").querySelectorAll("details.note p, .tfp-limit");
    return Object.fromEntries([...notes].map((note, i) => [`limit[${i}]`, note.textContent]));
  }

  /** What the timeline says of the slices under the pointer, by height, at a share of its width. */
  async function tips(share) {
    const found = {};
    const canvas = view("timeline").querySelector("canvas");
    const tip = view("timeline").querySelector(".tfp-tip");
    const { left, top, width, height } = canvas.getBoundingClientRect();
    for (let y = TRACKS_PX; y < height; y += TIP_PX) {
      const at = { clientX: left + share * width, clientY: top + y, bubbles: true };
      canvas.dispatchEvent(new PointerEvent("pointermove", at));
      await frame();
      await frame();
      if (!tip.hidden) found[y] = tip.textContent;
    }
    return found;
  }

  /** Has all tabs made, so that what each waits for comes meanwhile. */
  async function openAll(tabs) {
    for (const path of Object.values(tabs)) {
      open(path);
      await frame();
    }
    await quiet(60);
  }

  globalThis.tfprof = { quiet, read, readView: (name) => texts(view(name)), choices, limits, tips, openAll, press };
})();
