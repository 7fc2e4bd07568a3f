/** What a pipeline costs and which iterator is slowest -> the panel that says what to change. */

import { wrapCode } from "../../model/text/code";
import { formatCount, formatMs, formatTime } from "../../model/text/format";
import type { AdviceMeta } from "../../model/wire/meta";
import { copyButton, h } from "../../ui/dom";
import { labelList, labelled } from "../../ui/label_list";
import type { InputScene } from "./scene";

/** Advance of a character of the code box, and its padding. */
const CODE_CHARACTER_PX = 6.65;
const CODE_PADDING_PX = 16;

export interface Finding {
  readonly scene: InputScene;
  readonly nPipelines: number;
  /** Whether the training waits for data at all, in one sentence about the whole capture. */
  readonly verdict: string;
  /** Of what to change in the run what is about its input: then that is the fix here, too. */
  readonly card: Pick<AdviceMeta, "title" | "fix"> | undefined;
}

/** Fills `aside`: the verdict and the finding, the fix where one is known, and the figures of the pipeline. */
export function showAdvice(aside: HTMLElement, finding: Finding, signal: AbortSignal): void {
  const { scene, verdict, card } = finding;
  const { bottleneck } = scene.pipeline;
  const words = card ? [card.title, card.fix.words] : [scene.pipeline.suggestion];
  const code = card?.fix.code;
  const parts = opening(scene, verdict);
  // The suggestion is about the bottleneck of the whole capture.
  if (scene.kept === null && (scene.slow < 0 || scene.slow === (bottleneck ?? -1))) {
    parts.push(...words.filter(Boolean).map((text) => h("p", text)));
    if (code) {
      const copy = copyButton("Copy the fix", () => code, signal);
      parts.push(h("pre", wrapCode(code, codeColumns(aside))), h("p", copy));
    }
  }
  aside.replaceChildren(...parts, facts(finding));
}

/** First what is shown: of a range its own finding, of the whole capture the verdict. */
function opening(scene: InputScene, verdict: string): HTMLElement[] {
  const found = headline(scene);
  if (!verdict) return [h("h3", found)];
  if (scene.range === null) return [h("h3", verdict), ...(scene.kept === null ? [h("p", found)] : [])];
  return [h("h3", found), h("p.q", `The whole capture: ${verdict}`)];
}

function headline({ pipeline, rank, range, slow, stats, nBatches, kept }: InputScene): string {
  if (kept !== null) return `The input keeps up here: it costs ${formatMs(kept.ms)} of a step.`;
  if (slow < 0) return "No iterator of this pipeline kept a step waiting.";
  const { name } = pipeline.nodes[slow];
  const wait = formatTime(stats.waitPs[slow] / Math.max(1, nBatches));
  if (rank !== null) return `${name} held this execution up: waited ${wait} for its own work.`;
  if (range !== null) return `${name} is the slowest here: ${wait} of waiting a batch.`;
  return pipeline.summary || `${name} is the bottleneck: ${wait} a batch.`;
}

function facts({ scene, nPipelines }: Finding): HTMLElement {
  const { pipeline, root, stats, nBatches } = scene;
  const list = labelList("tfp-kv", "Figures of the pipeline");
  const fact = (label: string, text: string) => list.append(labelled(label, [text]));
  if (nPipelines > 1) fact("pipeline", `${pipeline.name} on ${String(pipeline.host ?? "this host")}`);
  const batches = nBatches === 1 ? "batch" : "batches";
  fact("fetched", `${formatCount(nBatches)} ${batches} in ${formatTime(stats.totalPs[root])} of the fetching thread`);
  const { min_latency_us: least, max_latency_us: most, n_slow_calls: nSlow } = pipeline;
  if (
    scene.rank === null &&
    scene.range === null &&
    typeof least === "number" &&
    typeof most === "number" &&
    most > 0
  ) {
    const more = scene.startupPs > 0 ? ", with the first" : "";
    fact("each", `${formatTime(least * 1e6)} to ${formatTime(most * 1e6)}${more}`);
    if (typeof nSlow === "number") fact("> 50 µs", `${formatCount(nSlow)}${more}`);
  }
  if (scene.slow >= 0) fact("long name", pipeline.nodes[scene.slow].long_name);
  return list;
}

/** Characters in a line of the code box. */
function codeColumns(aside: HTMLElement): number {
  const padding = Number.parseFloat(getComputedStyle(aside).paddingLeft || "0") + CODE_PADDING_PX;
  return Math.max(16, Math.floor(((aside.clientWidth || 292) - padding) / CODE_CHARACTER_PX));
}
