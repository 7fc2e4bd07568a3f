/** The text of a file and the heat of its lines -> numbered lines with bars; a click or Enter picks a line. */

import type { FileHeat, LineHeat } from "../../model/ops/source_lines";
import { h, on, onKeys, setAria } from "../../ui/dom";
import { costText, Gutter, type HeatScale, type LineSamples } from "./heat";

/** A file of more lines is shown around its hot ones only. */
const MAX_LINES = 4000;
const AROUND = 40;

interface Row {
  readonly element: HTMLElement;
  readonly gutter: Gutter;
  heat: LineHeat | undefined;
}

export interface CodeListeners {
  onPick(line: LineHeat): void;
  /** `null` when the pointer leaves. */
  onHover(line: LineHeat | null, row: HTMLElement | null): void;
}

export class CodeList {
  readonly element = h("div.tfp-code", { role: "group" });
  readonly #rows = new Map<number, Row>();
  /** The line that Tab reaches. */
  #current = -1;

  constructor(
    readonly listeners: CodeListeners,
    signal: AbortSignal,
  ) {
    onKeys(this.element, signal, (event) => this.#key(event));
    on(this.element, signal, {
      click: (event) => this.#pick(event.target),
      pointerover: (event) => this.#hover(event.target),
      pointerleave: () => listeners.onHover(null, null),
    });
  }

  /** Shows other text. */
  setCode(title: string, code: ReadonlyMap<number, string>, hot: Iterable<number>): void {
    this.#rows.clear();
    this.#current = -1;
    this.element.setAttribute("aria-label", `${title}: time of each line`);
    const shown = chooseLines(code, hot);
    const children: HTMLElement[] = [];
    const width = String(Math.max(...shown, 0)).length;
    let before = 0;
    for (const line of shown) {
      if (line > before + 1 && (before > 0 || code.has(1))) children.push(h("div.gap", skipped(before, line)));
      const gutter = new Gutter();
      const number = h("span.no", { style: { "min-width": `${Math.max(3, width)}ch` } }, String(line));
      const element = h("div.ln", { "data-line": line }, gutter.element, number, h("span.tx", code.get(line) ?? ""));
      this.#rows.set(line, { element, gutter, heat: undefined });
      children.push(element);
      before = line;
    }
    if (code.size > 0 && before < Math.max(...code.keys()) && shown.length < code.size)
      children.push(h("div.gap", skipped(before, Math.max(...code.keys()) + 1)));
    this.element.replaceChildren(...children);
  }

  setHeat(heat: FileHeat | undefined, scale: HeatScale): void {
    for (const [line, row] of this.#rows) {
      const now = heat?.lines.get(line);
      if (now === undefined && row.heat === undefined) continue;
      row.heat = now;
      row.gutter.show(now, scale);
      row.element.classList.toggle("hot", now !== undefined);
      if (now === undefined) {
        for (const name of ["role", "tabindex", "aria-pressed", "aria-description"]) row.element.removeAttribute(name);
      } else {
        row.element.setAttribute("role", "button");
        row.element.setAttribute("aria-description", `line ${line}: ${costText(now, scale)}: ${now.code.trim()}`);
      }
    }
    if (this.#rows.get(this.#current)?.heat === undefined) this.#current = hottest(this.#rows);
    this.#roam();
  }

  /** Where the user's thread was found, by line. */
  setSamples(samples: ReadonlyMap<number, LineSamples>): void {
    for (const [line, { gutter }] of this.#rows) gutter.showSamples(samples.get(line));
  }

  /** Marks lines; the first mark that is out of sight is scrolled to when asked. */
  setSelected(isSelected: (heat: LineHeat) => boolean, reveal: boolean): void {
    const marked: number[] = [];
    for (const [line, { element, heat }] of this.#rows) {
      if (heat === undefined) continue;
      const is = isSelected(heat);
      setAria(element, "pressed", is);
      if (is) marked.push(line);
    }
    if (reveal && marked.length > 0 && !marked.some((line) => this.#isInSight(line))) this.reveal(marked[0]);
  }

  setHovered(isHovered: (heat: LineHeat) => boolean): void {
    for (const { element, heat } of this.#rows.values()) {
      if (heat !== undefined) element.classList.toggle("hover", isHovered(heat));
    }
  }

  /** Scrolls a line to the middle. */
  reveal(line: number): void {
    const row = this.#rows.get(line)?.element;
    if (row === undefined) return;
    const above = row.offsetTop - this.element.offsetTop - this.element.clientHeight / 2 + row.offsetHeight / 2;
    // By whole lines, so that the first one in sight is not cut under the heads.
    const height = Math.max(1, row.offsetHeight);
    this.element.scrollTop = Math.max(0, Math.ceil(above / height) * height);
  }

  #isInSight(line: number): boolean {
    const row = this.#rows.get(line)?.element;
    if (row === undefined) return false;
    const top = row.offsetTop - this.element.offsetTop - this.element.scrollTop;
    return top >= 0 && top + row.offsetHeight <= this.element.clientHeight;
  }

  #rowOf(target: EventTarget | null): Row | undefined {
    const element = target instanceof Element ? target.closest<HTMLElement>(".ln") : null;
    return element === null ? undefined : this.#rows.get(Number(element.dataset.line));
  }

  #pick(target: EventTarget | null): void {
    const row = this.#rowOf(target);
    if (row?.heat === undefined) return;
    this.#current = row.heat.line;
    this.#roam();
    this.listeners.onPick(row.heat);
  }

  #hover(target: EventTarget | null): void {
    // Over the code itself a tooltip would only hide the next lines.
    const isGutter = target instanceof Element && target.closest(".tfp-gut") !== null;
    const row = isGutter ? this.#rowOf(target) : undefined;
    this.listeners.onHover(row?.heat ?? null, row?.element ?? null);
  }

  #roam(): void {
    for (const [line, { element, heat }] of this.#rows) {
      if (heat !== undefined) element.tabIndex = line === this.#current ? 0 : -1;
    }
  }

  #key(event: KeyboardEvent): boolean {
    const row = this.#rowOf(event.target);
    if (row === undefined) return false;
    if (event.key === "Enter" || event.key === " ") this.#pick(event.target);
    else {
      const hot = [...this.#rows].filter(([, { heat }]) => heat !== undefined).map(([line]) => line);
      const at = hot.indexOf(this.#current);
      const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: hot.length - 1 }[event.key];
      if (next === undefined) return false;
      this.#current = hot[Math.max(0, Math.min(hot.length - 1, next))];
      this.#roam();
      this.#rows.get(this.#current)?.element.focus();
    }
    return true;
  }
}

function hottest(rows: ReadonlyMap<number, Row>): number {
  let [line, most] = [-1, -1];
  for (const [number, { heat }] of rows) if (heat && heat.selfPs > most) [line, most] = [number, heat.selfPs];
  return line;
}

/** All lines of a file, or of a very long one those around its hot lines. */
function chooseLines(code: ReadonlyMap<number, string>, hot: Iterable<number>): number[] {
  const all = [...code.keys()].sort((a, b) => a - b);
  if (all.length <= MAX_LINES) return all;
  const near = [...hot].sort((a, b) => a - b);
  let k = 0;
  return all.filter((line) => {
    while (k < near.length && near[k] + AROUND < line) k += 1;
    return k < near.length && near[k] - AROUND <= line;
  });
}

function skipped(before: number, next: number): string {
  return next - before === 2 ? `line ${before + 1} left out` : `lines ${before + 1} to ${next - 1} left out`;
}
