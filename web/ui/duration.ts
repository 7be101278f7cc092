/** How long something took, in words: below a tenth of a second in milliseconds, so that nothing seems to take no time. */
export function formatDuration(ms: number): string {
  if (ms >= 100) return `${(ms / 1000).toFixed(1)} s`
  return ms < 1 ? 'under 1 ms' : `${Math.round(ms)} ms`
}
