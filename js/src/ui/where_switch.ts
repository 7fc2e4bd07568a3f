/** The sides that ops ran on -> a switch between host, devices and both. */

import { type Choice, segmented } from "./dom";

export type Where = "both" | "host" | "device";

const CHOICES: readonly Choice<Where>[] = [
  { value: "both", text: "Both" },
  { value: "host", text: "Host" },
  { value: "device", text: "Device" },
];

/** At first both; false, which draws nothing, where only one side ran ops. `opDevice` is 1 for an op of a device. */
export function whereSwitch(
  opDevice: ArrayLike<number>,
  onWhere: (where: Where) => void,
  signal: AbortSignal,
): HTMLElement | false {
  const sides = new Set(Array.from(opDevice));
  return sides.size > 1 && segmented("Where: host, device or both", CHOICES, "both", onWhere, signal);
}
