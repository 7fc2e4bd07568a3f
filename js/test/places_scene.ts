/** The scene of scene.ts, of which every op has a source line and a phase; and a scene of several hosts. */

import { CATEGORIES, type TraceMeta } from "../src/data/meta";
import type { Pack } from "../src/data/pack";
import { PHASES } from "../src/model/ops";
import { makeScene, type SceneOptions } from "./scene";

const SOURCE = [
  "images = tf.data.TFRecordDataset(FILES).map(decode)",
  "train = images.batch(32)",
  "",
  "model = keras.Sequential([",
  '    keras.layers.Conv2D(64, 3, activation="relu"),',
  '    keras.layers.Conv2D(64, 3, activation="relu"),',
  "    keras.layers.Dense(10)])",
  "model.fit(train)",
].join("\n");
const CELL = "/tmp/ipykernel_1/cell.py";
const LINES: readonly [part: RegExp, line: number][] = [
  [/Map|Decode|resize/, 1],
  [/Batch/, 2],
  [/conv2d\b/, 5],
  [/conv2d_1/, 6],
  [/dense/, 7],
];

export interface PlacesOptions extends SceneOptions {
  /** No op has a line. */
  readonly isWithoutLines?: boolean;
  /** A line of code in place of the model's. */
  readonly hostileCode?: string;
}

export function scenePlaces(options: PlacesOptions = {}): Pack {
  const scene = makeScene(options);
  const meta = scene.meta as unknown as TraceMeta;
  const names = meta.op_name.map((name) => meta.names[name]);
  const phase = names.map((name) => {
    if (name.startsWith("gradient_tape/")) return PHASES.indexOf("backward");
    if (name.startsWith("adam/")) return PHASES.indexOf("optimizer");
    return PHASES.indexOf(name.startsWith("Iterator") ? "other" : "forward");
  });
  const entries: NonNullable<TraceMeta["source_lines"]> = [];
  const line = names.map((name) => {
    const found = options.isWithoutLines ? undefined : LINES.find(([part]) => part.test(name));
    const bucket = found ? "" : name.startsWith("Iterator") ? "tf.data" : "Keras library";
    const at = found?.[1] ?? 0;
    const known = entries.findIndex((entry) => entry.line === at && entry.bucket === bucket);
    if (known >= 0) return known;
    return (
      entries.push({ file: found ? 0 : -1, line: at, function: "", code: SOURCE.split("\n")[at - 1] ?? "", bucket }) - 1
    );
  });
  const text = options.hostileCode ? SOURCE.replace("model.fit(train)", options.hostileCode) : SOURCE;
  const more = {
    source_files: options.isWithoutLines ? [] : [{ file: CELL, title: "Cell [7]", text }],
    source_lines: entries,
  };
  const places = {
    n: names.length,
    columns: {
      layer: new Int32Array(names.length),
      phase: Uint8Array.from(phase),
      line: Int32Array.from(line),
      line_phase: Uint8Array.from(phase, (id) => Math.min(id, 2)),
    },
  };
  return { meta: { ...scene.meta, ...more }, tables: { ...scene.tables, op_places: places } };
}

/** Every step on each host; the last host waits `moreMs` longer for input. */
export function sceneHosts(hosts: readonly string[], moreMs: number): Pack {
  const scene = makeScene({ nSteps: 10 });
  const { steps } = scene.tables;
  const rows = Array.from({ length: steps.n }, (_, step) => hosts.map((_, host) => ({ host, step }))).flat();
  const more = ({ host }: { host: number }) => (host === hosts.length - 1 && hosts.length > 1 ? moreMs : 0);
  const of = (name: string, row: { step: number }) => steps.columns[name][row.step] as number;
  const columns = Object.fromEntries(
    CATEGORIES.map((category) => [
      `${category}_ms`,
      Float64Array.from(rows, (row) => of(`${category}_ms`, row) + (category === "input" ? more(row) : 0)),
    ]),
  );
  const table = {
    host: Int32Array.from(rows, ({ host }) => host),
    step: Int32Array.from(rows, ({ step }) => step),
    row: Int32Array.from(rows, ({ step }) => step),
    step_time_ms: Float64Array.from(rows, (row) => of("duration_ps", row) / 1e9 + more(row)),
    ...columns,
  };
  const meta = { ...scene.meta, worker_hosts: [...hosts], worker_note: "" };
  return { meta, tables: { ...scene.tables, worker_steps: { n: rows.length, columns: table } } };
}
