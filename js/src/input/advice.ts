/** What a pipeline costs and which iterator is slowest -> the panel that says what to change. */

import { wrapCode } from "../core/code";
import { formatCount, formatTime } from "../core/format";
import type { PipelineMeta } from "../core/meta";
import type { NodeStats } from "../core/pipeline";
import { copyButton, h } from "../draw/dom";

/** Advance of a character of the code box, and its padding. */
const CODE_CHARACTER_PX = 6.65;
const CODE_PADDING_PX = 16;

export interface Finding {
  readonly pipeline: PipelineMeta;
  readonly nPipelines: number;
  readonly root: number;
  /** The bottleneck of what is shown, -1 for none. */
  readonly slow: number;
  readonly stats: NodeStats;
  readonly nBatches: number;
}

/** Fills `aside`: the finding, the fix where one is known, and the figures of the pipeline. */
export function showAdvice(aside: HTMLElement, finding: Finding, signal: AbortSignal): void {
  const { suggestion, suggestion_code: code, bottleneck } = finding.pipeline;
  const parts: Node[] = [h("h3", {}, headline(finding))];
  // The suggestion is about the bottleneck of the whole capture.
  if (finding.slow < 0 || finding.slow === (bottleneck ?? -1)) {
    if (suggestion) parts.push(h("p", {}, suggestion));
    if (code) {
      const copy = copyButton("Copy the fix", () => code, signal);
      parts.push(h("pre", {}, wrapCode(code, codeColumns(aside))), h("p", {}, copy));
    }
  }
  aside.replaceChildren(...parts, facts(finding));
}

function headline({ pipeline, slow, stats, nBatches }: Finding): string {
  if (slow < 0) return "No iterator of this pipeline kept a step waiting.";
  const { name } = pipeline.nodes[slow];
  const cost = formatTime(stats.selfPs[slow] / Math.max(1, nBatches));
  if (slow !== (pipeline.bottleneck ?? -1)) return `${name} is the slowest here: ${cost} a batch.`;
  return pipeline.summary || `${name} is the bottleneck: ${cost} a batch.`;
}

function facts({ pipeline, nPipelines, root, stats, nBatches }: Finding): HTMLElement {
  const list = h("dl", { class: "tfp-kv" });
  const fact = (term: string, text: string) => list.append(h("dt", {}, term), h("dd", {}, text));
  if (nPipelines > 1) fact("pipeline", pipeline.name);
  const batches = nBatches === 1 ? "batch" : "batches";
  fact("fetched", `${formatCount(nBatches)} ${batches} in ${formatTime(stats.totalPs[root])}`);
  const { min_latency_us: least, max_latency_us: most } = pipeline;
  if (typeof least === "number" && typeof most === "number" && most > 0)
    fact("each", `${formatTime(least * 1e6)} to ${formatTime(most * 1e6)}`);
  return list;
}

/** Characters in a line of the code box. */
function codeColumns(aside: HTMLElement): number {
  const padding = Number.parseFloat(getComputedStyle(aside).paddingLeft || "0") + CODE_PADDING_PX;
  return Math.max(16, Math.floor(((aside.clientWidth || 292) - padding) / CODE_CHARACTER_PX));
}
