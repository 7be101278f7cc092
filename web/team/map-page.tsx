import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { FleetGraph, FleetNode } from '../../src/features/monitoring/mission-control/schemas.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { FleetDrawing } from './fleet-drawing.tsx'
import { graphQuery } from './team-api.ts'
import { TeamFrame } from './team-frame.tsx'

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
    <TeamFrame
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
    </TeamFrame>
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
