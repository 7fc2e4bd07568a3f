/** An invented graph of ops as it travels, with the scene of scene.ts around it. */
import type { StructureMeta, TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import { makeScene, type SceneOptions } from "./scene";

export const coded = (texts: readonly string[]) => {
  const known = [...new Set(texts)];
  return { texts: known, codes: texts.map((text) => known.indexOf(text)) };
};

export interface StructureOptions {
  /** Names of ops with their types; each is fed by the one before it. */
  readonly ops: readonly (readonly [name: string, type: string, micros: number])[];
  readonly framework?: readonly number[];
  readonly noEdges?: boolean;
  readonly noCode?: boolean;
  readonly isPerStep?: boolean;
}

/** Scopes are what the names say; the calls are one of `train.py:1` with one of `model.py` for each op inside it. */
export function structureMeta(options: StructureOptions): StructureMeta {
  const { ops } = options;
  const scopes = { name: [""], parent: [-1] };
  const rows = new Map([["", 0]]);
  const scope = ops.map(([name]) => {
    let [path, at] = ["", 0];
    for (const part of name.split("/").slice(0, -1)) {
      path = path ? `${path}/${part}` : part;
      const row = rows.get(path) ?? scopes.name.push(part) - 1;
      if (!rows.has(path)) scopes.parent.push(at);
      rows.set(path, row);
      at = row;
    }
    return at;
  });
  const n = ops.length;
  const calls = options.noCode ? 0 : n;
  const files = ["", ...(calls ? ["/home/train.py", ...ops.map(() => "/home/model.py")] : [])];
  const edges = options.noEdges ? [] : ops.slice(1).map((_, i) => i);
  return {
    names: ops.map(([name]) => name),
    types: coded(ops.map(([, type]) => type)),
    devices: coded(ops.map((_, i) => (i % 2 ? "/device:GPU:0" : "/host:CPU"))),
    shapes: coded(ops.map(() => "32x10")),
    scope,
    frame: ops.map((_, i) => (calls ? i + 2 : 0)),
    figures: {
      micros: ops.map(([, , micros]) => micros),
      accelerator_micros: ops.map(([, , micros], i) => (i % 2 ? micros : 0)),
      cpu_micros: ops.map(([, , micros], i) => (i % 2 ? 0 : micros)),
      bytes: ops.map((_, i) => i * 1024),
      occurrence: ops.map(() => 1),
      run_count: ops.map(() => 2),
    },
    scopes,
    frames: {
      files: coded(files),
      line: files.map((_, i) => i),
      function: files.map((_, i) => (i > 0 ? "build" : "")),
      text: files.map((_, i) => (i > 0 ? `x = layer_${i}(x)` : "")),
      parent: files.map((_, i) => [-1, 0][i] ?? 1),
    },
    edges: { back: edges.map(() => 1), op: edges.map(() => 1), n: edges.map((i) => (i === 0 ? 0 : 1)) },
    n_ops: n,
    n_named: n,
    n_edges: edges.length,
    of_framework_op: (options.framework ?? []).map((row, id, all) => row - (all[id - 1] ?? 0)),
    n_steps: 4,
    is_stored: false,
    is_per_step: options.isPerStep ?? false,
    no_code: options.noCode ? "no call stacks were noted." : "",
    no_edges: options.noEdges ? "no graph was noted." : "",
  };
}

/** The scene's own ops as a graph. */
export function sceneStructure(options: SceneOptions & Partial<StructureOptions> = {}): Pack {
  const scene = makeScene(options);
  const meta = scene.meta as unknown as TraceMeta;
  const all = meta.op_name.map((name, i) => [meta.names[name], meta.names[meta.op_type[i]]] as const);
  const names = [...new Set(all.map(([name]) => name))];
  const ops = names.map((name, i) => [name, all.find(([one]) => one === name)?.[1] ?? "", 100 * (i + 1)] as const);
  const framework = all.map(([name]) => names.indexOf(name));
  const structure = structureMeta({ ops, framework, ...options });
  return { meta: { ...scene.meta, structure: [structure] }, tables: scene.tables };
}
