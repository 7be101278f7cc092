import { useId } from 'react'

const grounds = ['fill-(--plot-a)', 'fill-(--plot-b)', 'fill-(--plot-c)', 'fill-(--plot-d)', 'fill-(--plot-e)']

/** Draws the same picture for the same `seed`, so agents are easy to distinguish. */
export function FieldMark({ seed, className }: { seed: string; className: string }) {
  const clipId = useId()
  const field = drawField(seed)
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" className={`shrink-0 rounded-[22%] ${className}`}>
      <rect width="32" height="32" className={field.ground} />
      <g transform={`rotate(${field.turn} 16 16)`}>
        <Furrows angle={field.nearAngle} clipId={`${clipId}-near`} y={-12} height={field.fence + 12} />
        <rect x="-12" y={field.fence} width="56" height="40" className={field.farGround} />
        <Furrows angle={field.farAngle} clipId={`${clipId}-far`} y={field.fence} height={40} />
      </g>
    </svg>
  )
}

function Furrows({ angle, clipId, y, height }: { angle: number; clipId: string; y: number; height: number }) {
  return (
    <>
      <clipPath id={clipId}>
        <rect x="-12" y={y} width="56" height={height} />
      </clipPath>
      <g clipPath={`url(#${clipId})`}>
        <path
          transform={`rotate(${angle} 16 16)`}
          d="M-12-10h56M-12-4h56M-12 2h56M-12 8h56M-12 14h56M-12 20h56M-12 26h56M-12 32h56M-12 38h56"
          className="stroke-white/35"
          strokeWidth="1.6"
        />
      </g>
    </>
  )
}

function drawField(seed: string) {
  const bits = hash(seed)
  const ground = bits % grounds.length
  const farGround = (ground + 1 + ((bits >>> 4) % (grounds.length - 1))) % grounds.length
  return {
    ground: grounds[ground],
    farGround: grounds[farGround],
    fence: 12 + ((bits >>> 8) % 9),
    turn: ((bits >>> 12) % 8) * 45 + 20,
    nearAngle: ((bits >>> 16) % 5) * 30,
    farAngle: ((bits >>> 20) % 5) * 30 + 75,
  }
}

/** FNV-1a with a final mix, so similar ids look different. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d)
  return (value ^ (value >>> 13)) >>> 0
}
