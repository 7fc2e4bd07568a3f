/** Turns the names of lines and counters into what the label column calls them: short, and never two the same. */
import type { TraceMeta } from "../wire/meta";

/** Without the thread's long id, numbered where that leaves several of a plane the same. */
export function lineLabels(meta: TraceMeta): string[] {
  const short = meta.lines.map((line) => line.name.replace(/\/-?\d{5,}$/, "") || "unnamed");
  const keys = short.map((name, id) => `${meta.lines[id].plane}|${name}`);
  const count = new Map<string, number>();
  for (const key of keys) count.set(key, (count.get(key) ?? 0) + 1);
  const seen = new Map<string, number>();
  return short.map((name, id) => {
    if (name === meta.lines[id].name || count.get(keys[id]) === 1) return name;
    seen.set(keys[id], (seen.get(keys[id]) ?? 0) + 1);
    return `${name} ${seen.get(keys[id])}`;
  });
}
