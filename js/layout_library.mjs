/** Cuts from the layout library what no graph of ours makes it run, so that the bundle does not carry it. */
import { readFileSync } from "node:fs";

/**
 * The layout library comes as one bundle, whose lists of exports keep alive all that they list: 7 KB that nothing uses.
 * `F(N,{a:()=>x});` fills such a list, and `{a:y}=N` reads it.
 */
function withoutLists(bundle) {
  let text = bundle;
  for (const [call, list, entries] of text.matchAll(/\b\w+\((\w+),\{((?:\w+:\(\)=>[\w$]+,?)+)\}\);/g)) {
    const of = new Map(entries.split(",").map((entry) => entry.split(":()=>")));
    const read = new RegExp(`\\{([\\w$:,]+)\\}=${list}\\b`, "g");
    text = text
      .replace(call, () => `/* @__PURE__ */${call}`)
      .replace(read, (_, names) => {
        const pairs = names.split(",").map((pair) => pair.split(":"));
        return ` ${pairs.map(([name, own]) => `${own}=${of.get(name)}`).join(",")}`;
      });
  }
  return text;
}

/**
 * Steps of a layout that find nothing to do in a graph of ours, 5 KB: no node is inside another, no edge has a label, and
 * none leads back to its own node.
 */
const IDLE_STEPS = [
  "removeSelfEdges",
  "injectEdgeLabelProxies",
  "assignRankMinMax",
  "removeEdgeLabelProxies",
  "parentDummyChains",
  "addBorderSegments",
  "insertSelfEdges",
  "positionSelfEdges",
  "removeBorderNodes",
  "fixupEdgeLabelCoords",
];

/**
 * What nobody asks for in the other code, 6 KB: clusters that are laid out by themselves, another way to break cycles, the
 * borders of clusters that long arrows keep clear of, and what a later layout of the same graph would begin with.
 */
const UNASKED = [
  ["return In(e,q,n),e", "const g=Rn(e);return Cn(g,q,n),Tn(e,g),e"],
  ['e.graph().acyclicer==="greedy"?be(e,r(e)):', ""],
  [",Ut(e,t))", ")"],
  ["JSON.parse(JSON.stringify(e._nodes))", "0"],
];

/** The layout without both. The library names each step; the build fails where it is not the one that these lists are of. */
function withoutIdleSteps(bundle) {
  const idle = new Set(IDLE_STEPS);
  let text = bundle.replace(/\bn\(" {4}([\w.]+)",\(\)=>(\w+\((?:[^()]|\(\w+\))*\))\)/g, (_, name, call) =>
    idle.delete(name) ? "0" : call,
  );
  for (const [found, put] of UNASKED) {
    if (idle.size > 0 || !text.includes(found)) throw new Error(`The layout library has no ${[...idle, found]}`);
    text = text.replace(found, put);
  }
  return text;
}

/** For esbuild. */
export const onlyUsedLayout = {
  name: "only-used-layout",
  setup({ onLoad }) {
    onLoad({ filter: /dagre\.esm\.js$/ }, ({ path }) => ({
      contents: withoutIdleSteps(withoutLists(readFileSync(path, "utf8"))),
    }));
  },
};
