import { Link } from '@tanstack/react-router'
import type { FleetGraph, FleetNode } from '../../src/features/views/mission-control/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'

/** Around the outermost agents, in the units of the server: space for their marks and names. */
const MARGIN = 70
/** Beyond so many names would lie over each other. */
const MAX_NAMED = 24
const DOTS: Record<FleetNode['status'], string> = {
  active: 'rounded-full bg-accent',
  idle: 'rounded-full border-2 border-dashed border-edge bg-surface',
  offline: 'rounded-full border-2 border-edge bg-surface',
}

/** The agents where the server places them, and a line for each pair that worked together. The table below tells the same. */
export function FleetDrawing({ graph: { nodes, edges } }: { graph: FleetGraph }) {
  const box = boxAround(nodes)
  const placeOf = (id: string) => nodes.find((node) => node.id === id)
  const toLeft = (x: number) => `${((x - box.left) / box.width) * 100}%`
  const toTop = (y: number) => `${((y - box.top) / box.height) * 100}%`
  const isNamed = nodes.length <= MAX_NAMED
  return (
    <div className="relative mx-auto aspect-square w-full max-w-2xl rounded-xl border border-line bg-surface sm:aspect-4/3 sm:max-w-none">
      <svg aria-hidden="true" className="absolute inset-0 size-full">
        {edges.map(({ id, from, to, strength }) => {
          const [start, end] = [placeOf(from), placeOf(to)]
          if (!start || !end) return null
          return (
            <line
              key={id}
              x1={toLeft(start.x)}
              y1={toTop(start.y)}
              x2={toLeft(end.x)}
              y2={toTop(end.y)}
              strokeWidth={1 + 3 * strength}
              className="stroke-edge"
            />
          )
        })}
      </svg>
      <ul aria-label="Map of your agents">
        {nodes.map((node) => (
          <li
            key={node.id}
            style={{ left: toLeft(node.x), top: toTop(node.y) }}
            className="absolute -translate-x-1/2 -translate-y-1/2"
          >
            <Link
              to="/agents/$agentId/overview"
              params={{ agentId: node.id }}
              title={node.name}
              aria-label={isNamed ? undefined : node.name}
              className="grid justify-items-center gap-1 rounded-md text-center text-xs text-ink no-underline hover:text-accent"
            >
              <span className="relative">
                <FieldMark seed={node.id} className={isNamed ? 'size-9' : 'size-5'} />
                <span aria-hidden className={`absolute -right-1 -bottom-1 size-3 ${DOTS[node.status]}`} />
              </span>
              {isNamed && <span className="max-w-20 truncate rounded bg-surface px-1 sm:max-w-32">{node.name}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

function boxAround(nodes: FleetNode[]): { left: number; top: number; width: number; height: number } {
  const xs = nodes.map(({ x }) => x)
  const ys = nodes.map(({ y }) => y)
  const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN]
  return { left, top, width: Math.max(...xs) + MARGIN - left, height: Math.max(...ys) + MARGIN - top }
}
