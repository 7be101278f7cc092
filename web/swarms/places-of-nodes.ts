const RING = 12
/** In percent of width and height; marks and names need the rest. */
const RADIUS = 35

/** Returns positions in percent: alone in the center, otherwise on rings that start at the top. */
export function placeInRings(count: number): { x: number; y: number }[] {
  if (count === 1) return [{ x: 50, y: 50 }]
  const rings = Math.ceil(count / RING)
  return Array.from({ length: count }, (_, index) => {
    const ring = Math.floor(index / RING)
    const inRing = Math.min(RING, count - ring * RING)
    const angle = (2 * Math.PI * (index % RING)) / inRing - Math.PI / 2
    const radius = (RADIUS * (rings - ring)) / rings
    return { x: 50 + radius * Math.cos(angle), y: 50 + radius * Math.sin(angle) }
  })
}
