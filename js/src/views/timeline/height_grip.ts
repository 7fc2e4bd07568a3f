/** The edge below the tracks, dragged or moved by keys -> how tall the timeline is; kept in this browser for the next one. */

import { h, on, onKeys } from "../../ui/dom";

const LEAST_PX = 160;
const MOST_PX = 1600;
const STEP_PX = 40;
const KEPT = "tfprof_widgets.timeline_px";

/** A frame without an origin of its own refuses its storage: then nothing is kept. */
function kept(): number {
  try {
    return Number(localStorage.getItem(KEPT));
  } catch {
    return 0;
  }
}

function keep(px: number, usual: number): void {
  try {
    if (px === usual) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, String(px));
  } catch {
    // As above.
  }
}

/**
 * The edge; calls `set` with the height at once and whenever it changes.
 *
 * @param usual the height where none was kept, and after a double click
 */
export function heightGrip(usual: number, set: (px: number) => void, signal: AbortSignal): HTMLElement {
  const grip = h("div.tl-grip", {
    tabindex: 0,
    role: "separator",
    "aria-orientation": "horizontal",
    "aria-label": "Height of the timeline",
    "aria-valuemin": LEAST_PX,
    "aria-valuemax": MOST_PX,
    title: "Drag: height of the timeline. Double-click: the usual height",
  });
  let height = usual;
  /** Where a drag began: the pointer's place minus the height. */
  let from: number | null = null;
  const take = (px: number) => {
    height = Math.round(Math.min(MOST_PX, Math.max(LEAST_PX, px)));
    grip.setAttribute("aria-valuenow", String(height));
    set(height);
  };
  const settle = () => {
    from = null;
    keep(height, usual);
  };
  const keys: Record<string, () => number> = {
    ArrowUp: () => height - STEP_PX,
    ArrowDown: () => height + STEP_PX,
    Home: () => LEAST_PX,
    End: () => MOST_PX,
    Enter: () => usual,
  };
  on(grip, signal, {
    pointerdown: (event) => {
      if (event.button !== 0) return;
      from = event.clientY - height;
      grip.setPointerCapture(event.pointerId);
    },
    pointermove: (event) => {
      if (from !== null) take(event.clientY - from);
    },
    pointerup: settle,
    pointercancel: settle,
    dblclick: () => {
      take(usual);
      settle();
    },
  });
  onKeys(grip, signal, (event) => {
    const next = keys[event.key];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return false;
    take(next());
    settle();
    return true;
  });
  take(kept() || usual);
  return grip;
}
