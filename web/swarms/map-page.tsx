import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { FleetGraph, FleetNode } from '../../src/features/monitoring/mission-control/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { cellClass, Empty, Panel, TableFrame } from '../ui/panel.tsx'
import { SwarmsFrame } from './loaded-swarm.tsx'
import { placeInRings } from './places-of-nodes.ts'
import { graphQuery } from './team-api.ts'

const STATES: Record<FleetNode['status'], string> = { active: 'Running', idle: 'Idle', offline: 'Off' }
const ROLES: Record<FleetNode['role'], { word: string; hint: string }> = {
  orchestrator: { word: 'Summarizer', hint: 'Summarizes the answers of a swarm' },
  specialist: { word: 'In a swarm', hint: 'Has worked on tasks with other agents' },
  worker: { word: 'Not in a swarm', hint: 'Has not worked with other agents' },
}

/** Page `/team/map`. */
export function MapPage() {
  const query = useQuery(graphQuery)
  return (
    <SwarmsFrame
      title="Map"
      lead="Your agents and the tasks they share: thicker lines mean more tasks. Clones are linked to their parent."
    >
      <Loaded
        query={query}
        what="map"
        placeholder={
          <LoadingShapes what="map" className="grid gap-6">
            <Skeleton className="h-96 rounded-xl" />
            <Skeleton className="h-40 rounded-xl" />
          </LoadingShapes>
        }
      >
        {(graph) => <Graph graph={graph} />}
      </Loaded>
    </SwarmsFrame>
  )
}

function Graph({ graph }: { graph: FleetGraph }) {
  if (graph.degraded) {
    return (
      <Notice tone="problem" title="Could not load your agents">
        The server has a database problem. This page retries every ten seconds.
      </Notice>
    )
  }
  if (graph.nodes.length === 0) {
    return (
      <Empty title="No agents yet">
        <p>Agents appear here, linked when they work on a task together.</p>
        <Link to="/agents/new" className={buttonClass('primary')}>
          Create agent
        </Link>
      </Empty>
    )
  }
  return (
    <>
      <FleetDrawing graph={graph} />
      {graph.edges.length === 0 && (
        <p className="text-sm text-muted">
          No links yet. They appear once agents work on a task together in a{' '}
          <Link to="/team/swarms" className="text-accent underline underline-offset-2">
            swarm
          </Link>
          .
        </p>
      )}
      <NodeTable graph={graph} />
    </>
  )
}

const nodeColumns = {
  Name: 'text',
  Status: 'text',
  Work: 'text',
  Processor: 'number',
  Memory: 'number',
  'Worked with': 'text',
} as const

function NodeTable({ graph: { nodes, edges, stats } }: { graph: FleetGraph }) {
  const partnersOf = (id: string) =>
    edges.flatMap(({ from, to }) => (from === id ? [to] : to === id ? [from] : [])).map((other) => nameOf(nodes, other))
  const running = `${stats.activeAgents} of ${stats.totalAgents} running`
  return (
    <Panel title="Agents" actions={<span className="text-sm text-muted tabular-nums">{running}</span>}>
      <TableFrame label="Agents" columns={nodeColumns}>
        {nodes.map((node) => (
          <NodeRow key={node.id} node={node} partners={partnersOf(node.id)} />
        ))}
      </TableFrame>
    </Panel>
  )
}

function NodeRow({ node, partners }: { node: FleetNode; partners: string[] }) {
  const { word, hint } = ROLES[node.role]
  return (
    <tr>
      <td className={cellClass('text')}>
        <Link
          to="/agents/$agentId/overview"
          params={{ agentId: node.id }}
          className="inline-flex items-center gap-2.5 whitespace-nowrap"
        >
          <FieldMark seed={node.id} className="size-5" />
          {node.name}
        </Link>
      </td>
      <td className={cellClass('text')}>{STATES[node.status]}</td>
      <td className={`${cellClass('text')} whitespace-nowrap`} title={hint}>
        {word}
      </td>
      <td className={cellClass('number')}>{toPercent(node.load)}</td>
      <td className={cellClass('number')}>{toPercent(node.memory)}</td>
      <td className={cellClass('text')}>{partners.join(', ') || '—'}</td>
    </tr>
  )
}

function nameOf(nodes: FleetNode[], id: string): string {
  return nodes.find((node) => node.id === id)?.name ?? id
}

function toPercent(share: number | null): string {
  return share === null ? '—' : `${Math.round(share)}%`
}

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
