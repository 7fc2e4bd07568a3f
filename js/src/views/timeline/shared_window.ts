/** Tells whoever holds several timelines the window of this one, and takes the window that they are to share. */
import { SHOW_WINDOW, type ShownWindow, type WantedWindow, WINDOW_SHOWN } from "../../model/time/shared_window";
import type { TimelineState } from "./state";

export function shareWindow(root: HTMLElement, state: TimelineState, signal: AbortSignal): void {
  const tell = () => {
    const detail: ShownWindow = { view: state.view, bounds: state.bounds };
    root.dispatchEvent(new CustomEvent(WINDOW_SHOWN, { bubbles: true, detail }));
  };
  const take = (event: Event) => {
    const { view, limits } = (event as CustomEvent<WantedWindow>).detail;
    state.limits = limits;
    state.setView(view);
  };
  root.addEventListener(SHOW_WINDOW, take, { signal });
  state.onView = tell;
  tell();
}
