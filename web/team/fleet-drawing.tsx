import { Link } from '@tanstack/react-router'
import type { FleetGraph, FleetNode } from '../../src/features/monitoring/mission-control/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { placeInRings } from './places-of-nodes.ts'

/** More names would overlap. */
const MAX_NAMED = 24
const DOTS: Record<FleetNode['status'], string> = {
  active: 'rounded-full bg-accent',
  idle: 'rounded-full border-2 border-dashed border-edge bg-surface',
  offline: 'rounded-full border-2 border-edge bg-surface',
}

/** Draws agents on rings, with a line for each pair that worked together. The table below has the same data. */
export function FleetDrawing({ graph: { nodes, edges } }: { graph: FleetGraph }) {
  const places = placeInRings(nodes.length)
  const placeOf = (id: string) => places[nodes.findIndex((node) => node.id === id)]
  const isNamed = nodes.length <= MAX_NAMED
  return (
    <div className="relative aspect-square w-full rounded-xl border border-line bg-surface sm:aspect-2/1">
      <svg aria-hidden="true" className="absolute inset-0 size-full">
        {edges.map(({ id, from, to, strength }) => {
          const [start, end] = [placeOf(from), placeOf(to)]
          if (!start || !end) return null
          return (
            <line
              key={id}
              x1={`${start.x}%`}
              y1={`${start.y}%`}
              x2={`${end.x}%`}
              y2={`${end.y}%`}
              strokeWidth={1 + 3 * strength}
              className="stroke-edge"
            />
          )
        })}
      </svg>
      <ul aria-label="Map of your agents">
        {nodes.map((node, index) => (
          <li
            key={node.id}
            style={{ left: `${places[index]?.x}%`, top: `${places[index]?.y}%` }}
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
              {isNamed && (
                <span className="line-clamp-2 max-w-20 rounded bg-surface px-1 break-words sm:max-w-32">
                  {node.name}
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
