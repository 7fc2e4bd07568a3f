import * as dagre from "@dagrejs/dagre";
import * as esbuild from "esbuild";
import fc from "fast-check";
import { expect, it } from "vitest";
import { onlyUsedLayout } from "../layout_library.mjs";
import type * as input from "../src/model/input/graph";

type Edge = readonly [from: number, to: number, weight: number];

async function asInTheBundle<M>(contents: string): Promise<M> {
  const { outputFiles } = await esbuild.build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "esm",
    plugins: [onlyUsedLayout],
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

function placed(
  { Graph, layout }: typeof dagre,
  sizes: readonly (readonly [number, number])[],
  edges: readonly Edge[],
) {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 12, ranksep: 40, edgesep: 8 });
  sizes.forEach(([width, height], i) => void graph.setNode(String(i), { width, height }));
  for (const [from, to, weight] of edges) graph.setEdge(String(from), String(to), { weight });
  layout(graph);
  return [graph.nodes().map((id) => graph.node(id)), graph.edges().map((edge) => [edge, graph.edge(edge)])];
}

const px = fc.integer({ min: 20, max: 200 });
const graphs = fc.array(fc.tuple(px, px), { minLength: 2, maxLength: 25 }).chain((sizes) => {
  const node = fc.nat(sizes.length - 1);
  const edge = fc.tuple(node, node, fc.integer({ min: 1, max: 4 })).filter(([from, to]) => from !== to);
  return fc.tuple(fc.constant(sizes), fc.array(edge, { maxLength: 50 }));
});

it("places boxes and arrows as the whole library does", async () => {
  const cut = await asInTheBundle<typeof dagre>('export * from "@dagrejs/dagre"');
  fc.assert(
    fc.property(graphs, ([sizes, edges]) => {
      expect(placed(cut, sizes, edges)).toEqual(placed(dagre, sizes, edges));
    }),
    { numRuns: 60 },
  );
});

it("gets no arrow from a box to itself, which the bundle has no room for", async () => {
  const { placeGraph } = await asInTheBundle<typeof input>('export * from "../src/model/input/graph"');
  const size = { width: 900, nodeHeight: 60, gap: 40, rowGap: 20, minNodeWidth: 100, maxNodeWidth: 200 };
  expect(
    placeGraph([-1, 1], size)
      .nodes.map(({ y }) => y)
      .sort((a, b) => a - b),
  ).toEqual([2, 82]);
});
