// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import type { TraceBuilder } from "../src/ui/view";
import { copyTable } from "../src/views/copy_table/copy_table";
import { hloTable } from "../src/views/hlo_table/hlo_table";
import { inputGraph } from "../src/views/input_graph/input_graph";
import { kernelTable } from "../src/views/kernel_table/kernel_table";
import { layerTable } from "../src/views/layer_table/layer_table";
import { opTable } from "../src/views/op_table/op_table";
import { rooflineChart } from "../src/views/roofline_chart/roofline_chart";
import { sourceView } from "../src/views/source_view/source_view";
import { stepChart } from "../src/views/step_chart/step_chart";
import { treeView } from "../src/views/tree_view/tree_view";
import { workerChart } from "../src/views/worker_chart/worker_chart";
import { makeScene } from "./scene";
import { showWidget, withLayout } from "./shown";
import { tableScene } from "./table_scene";

const VIEWS = {
  ...{ copyTable, hloTable, inputGraph, kernelTable, layerTable, opTable },
  ...{ rooflineChart, sourceView, stepChart, treeView, workerChart },
};
const OF_TENSORFLOW = /tensorflow|keras|\btf\.|%%tfprofile|trace_steps|model\.(fit|compile)/i;

/** A pack, said to be of a framework. */
function packOf(framework: string, { meta, tables }: Pack): Pack {
  const { overview } = meta as unknown as TraceMeta;
  return { meta: { ...meta, overview: { ...overview, environment: { ...overview.environment, framework } } }, tables };
}

/** What a view says where nothing was recorded, and, as far as it draws no chart, where ops were and nothing else. */
async function words(view: TraceBuilder, framework: string): Promise<string[]> {
  const { meta, tables } = tableScene({ isBare: true });
  const packs = [
    makeScene({ isEmpty: true }),
    ...(view === stepChart ? [] : [{ meta: { ...meta, roofline: [] }, tables }]),
  ];
  const shown = packs.map((pack) => showWidget(view, packOf(framework, pack)));
  return (await Promise.all(shown)).flatMap(({ root }) =>
    [...root.querySelectorAll(".empty")].map(({ textContent }) => textContent ?? ""),
  );
}

withLayout();

describe("an empty view", () => {
  it.each(Object.entries(VIEWS))("%s speaks of the framework that recorded the trace", async (_, view) => {
    const own = await words(view, "TensorFlow");
    expect(own.some((text) => OF_TENSORFLOW.test(text))).toBe(true);
    for (const framework of ["JAX", "PyTorch/XLA"]) {
      const told = await words(view, framework);
      expect(told.length).toBe(own.length);
      expect(told.filter((text) => OF_TENSORFLOW.test(text))).toEqual([]);
    }
  });
});

describe("layers", () => {
  it.each([
    ["JAX", 1],
    ["TensorFlow", 0],
  ])("of %s are there below the scope of a loss: %i", async (framework, isThere) => {
    const { meta, tables } = tableScene();
    const layers = ((meta as unknown as TraceMeta).layers ?? []).map((layer) =>
      layer.kind === "layer" ? { ...layer, layer: "loss/dense", kind: "loss" } : layer,
    );
    const { root } = await showWidget(layerTable, packOf(framework, { meta: { ...meta, layers }, tables }));
    expect(root.querySelectorAll(".empty").length).toBe(1 - isThere);
    expect(root.querySelectorAll('[data-layer="loss/dense"]').length).toBe(isThere);
  });
});
