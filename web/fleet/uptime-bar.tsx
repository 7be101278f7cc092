/** Below this percentage, an hour counts as down. */
const HALF = 50

const looks = { up: 'fill-(--plot-a)', part: 'fill-(--plot-c)', down: 'fill-bad', unknown: 'fill-line' } as const

/** The newest hour is at the right; one path per colour. */
export function UptimeBar({ hours, className = '' }: { hours: readonly (number | null)[]; className?: string }) {
  const paths: Record<keyof typeof looks, string> = { up: '', part: '', down: '', unknown: '' }
  for (const [index, percent] of hours.entries()) {
    const kind = percent === null ? 'unknown' : percent >= 99.95 ? 'up' : percent >= HALF ? 'part' : 'down'
    // The height differs as well as the colour.
    const top = { up: 0, part: 4, down: 10, unknown: 0 }[kind]
    paths[kind] += `M${index * 4} ${top}h3V16h-3z`
  }
  const words = describe(hours)
  return (
    <svg role="img" aria-label={words} viewBox={`0 0 ${hours.length * 4 - 1} 16`} className={`block h-4 ${className}`}>
      <title>{words}</title>
      {Object.entries(paths).map(
        ([kind, path]) => path && <path key={kind} d={path} className={looks[kind as keyof typeof looks]} />,
      )}
    </svg>
  )
}

function describe(hours: readonly (number | null)[]): string {
  const known = hours.filter((percent) => percent !== null)
  if (known.length === 0) return `Not monitored in the last ${hours.length} hours`
  const mean = known.reduce((sum, percent) => sum + percent, 0) / known.length
  return `Up ${mean.toFixed(mean < 99.95 && mean > 0.05 ? 1 : 0)}% of the last ${hours.length} hours`
}
