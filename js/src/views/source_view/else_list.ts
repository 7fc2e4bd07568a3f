/** Other files, and time that no line is charged with -> rows of the same shape, so that shares add up to 100 %. */

import type { BucketHeat, FileHeat, Heat } from "../../model/ops/source_lines";
import { plural } from "../../model/text/format";
import { h, on, setAria } from "../../ui/dom";
import { bucketNote } from "./buckets";
import { costText, Gutter, type HeatScale } from "./heat";

export interface ElseRow {
  readonly heat: Heat;
  readonly text: string;
  readonly note: string;
  /** A file to open, or a bucket whose ops are picked. */
  readonly target: { readonly file: number } | { readonly bucket: BucketHeat };
}

/** The sum of a file's lines. */
function fileTotal(file: FileHeat): Heat {
  const lines = [...file.lines.values()];
  const sum = (value: (heat: Heat) => number) => lines.reduce((total, line) => total + value(line), 0);
  const parts = new Map<string, { category: string; isBackward: boolean; ps: number }>();
  for (const { category, isBackward, ps } of lines.flatMap((line) => line.parts)) {
    const key = `${category} ${isBackward}`;
    parts.set(key, { category, isBackward, ps: (parts.get(key)?.ps ?? 0) + ps });
  }
  return {
    entries: lines.flatMap((line) => line.entries),
    selfPs: file.selfPs,
    forwardPs: sum((heat) => heat.forwardPs),
    backwardPs: sum((heat) => heat.backwardPs),
    otherPs: sum((heat) => heat.otherPs),
    occurrences: sum((heat) => heat.occurrences),
    parts: [...parts.values()],
    ops: lines.flatMap((line) => line.ops).sort((a, b) => b.ps - a.ps),
  };
}

export class ElseList {
  readonly element = h("div.tfp-else", { role: "group", "aria-label": "Other files, and time without a line" });
  #rows: readonly { element: HTMLButtonElement; row: ElseRow }[] = [];

  constructor(
    readonly onPick: (row: ElseRow) => void,
    onHover: (row: ElseRow | null, element: HTMLElement | null) => void,
    signal: AbortSignal,
  ) {
    const rowOf = (target: EventTarget | null) => {
      const element = target instanceof Element ? target.closest("button") : null;
      return this.#rows.find((one) => one.element === element);
    };
    on(this.element, signal, {
      click: (event) => {
        const found = rowOf(event.target);
        if (found !== undefined) this.onPick(found.row);
      },
      pointerover: (event) => {
        const found = rowOf(event.target);
        onHover(found?.row ?? null, found?.element ?? null);
      },
      pointerleave: () => onHover(null, null),
    });
  }

  show(rows: readonly ElseRow[], scale: HeatScale): void {
    const focused = this.#rows.findIndex(({ element }) => element === document.activeElement);
    const key = this.#rows[focused]?.row.text;
    this.#rows = rows.map((row) => {
      const gutter = new Gutter();
      gutter.show(row.heat, scale);
      const isFile = "file" in row.target;
      const name = h("span", { class: isFile ? "tx file" : "tx" }, row.text);
      const what = "bucket" in row.target ? bucketNote(row.target.bucket.bucket) : "";
      const label = `${row.text}: ${costText(row.heat, scale)}`;
      const attributes = {
        type: "button",
        class: "ln hot bare",
        "aria-description": what ? `${label}. ${what}` : label,
      };
      const element = h("button", attributes, gutter.element, name, h("span.q", row.note));
      return { element, row };
    });
    this.element.replaceChildren(...this.#rows.map(({ element }) => element));
    if (key !== undefined) this.#rows.find(({ row }) => row.text === key)?.element.focus();
  }

  setSelected(isSelected: (heat: Heat) => boolean): void {
    for (const { element, row } of this.#rows) setAria(element, "pressed", isSelected(row.heat));
  }
}

/** Rows of all files but `shown`, and of the buckets, most time first. */
export function elseRows(
  files: readonly FileHeat[],
  buckets: readonly BucketHeat[],
  shown: number,
  titleOf: (file: number) => string,
): ElseRow[] {
  const rows: ElseRow[] = files
    .filter(({ file }) => file !== shown)
    .map((file) => ({
      heat: fileTotal(file),
      text: titleOf(file.file),
      note: plural(file.lines.size, "line"),
      target: { file: file.file },
    }));
  for (const bucket of buckets)
    rows.push({ heat: bucket, text: bucket.bucket, note: plural(bucket.ops.length, "op"), target: { bucket } });
  return rows.sort((a, b) => b.heat.selfPs - a.heat.selfPs);
}
