/** A cell of an icicle -> where its tooltip goes. */

/** About the height of a tooltip. */
const TIP_PX = 84;

/** Below the cell, or above it where it would be cut; in pixels of `place`. */
export function tipPlace(place: HTMLElement, cell: HTMLElement): { x: number; y: number } {
  const box = place.getBoundingClientRect();
  const at = cell.getBoundingClientRect();
  const below = at.bottom - box.top + 2;
  const y = below + TIP_PX > box.height && at.top - box.top > TIP_PX ? at.top - box.top - TIP_PX : below;
  return { x: Math.max(0, at.left - box.left), y };
}
