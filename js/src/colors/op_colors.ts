/** Ops -> their colours: the family of what they do, and the step-time category in which their time shows. */

import { FAMILIES } from "../model/wire/categories";
import type { TraceMeta } from "../model/wire/meta";
import { deviceOpCategory } from "./schemes";

interface ColoredOp {
  /** 1 on a device. */
  readonly device: number;
  readonly type: string;
  readonly isIdle: boolean;
}

/** Family and step-time category of framework ops, for their colours. */
export function opColors(meta: TraceMeta) {
  const familyOf = (op: number) => opFamily(meta, op);
  const categoryOf = (op: number) => {
    const row = { device: meta.op_device[op], type: meta.names[meta.op_type[op]] ?? "" };
    return opCategory({ ...row, isIdle: false }, familyOf(op));
  };
  return { familyOf, categoryOf };
}

/** The slice family of an op: what its type says, else its name. */
function opFamily({ op_family }: Pick<TraceMeta, "op_family">, op: number): string {
  return FAMILIES[op_family[op]] ?? "runtime";
}

/** The step-time category whose colour an op has: where its time would show in the step breakdown. */
export function opCategory(row: ColoredOp, family: string): string {
  if (row.isIdle) return "other";
  if (row.device === 1) return deviceOpCategory(row.type);
  return row.type === "Dataset" || family === "tfdata" || family === "image" ? "input" : "host_compute";
}
