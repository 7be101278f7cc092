import { encode } from 'uqr'

/** Dark on light in both themes, because readers expect that. */
export function QrPicture({ text, label }: { text: string; label: string }) {
  const { data: rows, size: side } = encode(text, { ecc: 'L', border: 4 })
  const dots = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${side} ${side}`}
      shapeRendering="crispEdges"
      className="size-48 rounded-lg border border-line"
    >
      <rect width={side} height={side} className="fill-white" />
      <path d={dots.join('')} className="fill-[#101010]" />
    </svg>
  )
}
