import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { OverseenAgent, OverseenAgentList } from '../../src/features/admin/oversight/schemas.ts'
import { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { describeStatus, StatusBadge } from '../agents/status-badge.tsx'
import type { AllAgentsSearch } from '../routes/searches.ts'
import { Button } from '../ui/button.tsx'
import { Pills, SearchField } from '../ui/filters.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { Empty } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { allAgentsQuery, stopAnyAgent } from './oversight-api.ts'
import { Pages } from './paging.tsx'

const route = getRouteApi('/signed-in/admin/agents')

/** Page `/admin/agents`. */
export function AllAgentsPage() {
  const search = route.useSearch()
  const navigate = useNavigate()
  const query = useInfiniteQuery(allAgentsQuery(search))
  const change = (part: AllAgentsSearch) =>
    void navigate({ to: '/admin/agents', search: { ...search, ...part }, replace: true })
  return (
    <AdminFrame title="All agents" lead="Agents of every account, their status and owner.">
      <div className="grid grid-cols-1 gap-3">
        <SearchField
          label="Search by agent or owner"
          placeholder="Name, ID or owner"
          value={search.search ?? ''}
          maxLength={254}
          shortcut="/"
          onSearch={(words) => change({ search: words || undefined })}
          className="max-w-md"
        />
        <StatusPills
          statuses={query.data?.pages[0]?.statuses ?? {}}
          value={search.status}
          onChoose={(status) => change({ status })}
        />
      </div>
      <Pages query={query} what="agents" itemsOf={(page) => page.agents} empty={<NoAgents search={search} />}>
        {(agent) => <AgentRow key={agent.id} agent={agent} />}
      </Pages>
    </AdminFrame>
  )
}

type StatusPillsProps = {
  statuses: OverseenAgentList['statuses']
  value: AgentStatus | undefined
  onChoose: (status: AgentStatus | undefined) => void
}

function StatusPills({ statuses, value, onChoose }: StatusPillsProps) {
  const all = Object.values(statuses).reduce((sum, agents) => sum + agents, 0)
  const shown = AgentStatus.options.filter((status) => statuses[status] || value === status)
  return (
    <Pills
      label="Status"
      value={value}
      choices={[
        { value: undefined, label: 'All', count: all },
        ...shown.map((status) => ({ value: status, label: describeStatus(status), count: statuses[status] ?? 0 })),
      ]}
      onChoose={onChoose}
    />
  )
}

function NoAgents({ search: { search, status } }: { search: AllAgentsSearch }) {
  if (!search && !status) return <Empty title="No agents yet">Agents of every account appear here.</Empty>
  return (
    <Empty>
      <p>
        No agent {status && `with status ${describeStatus(status).toLowerCase()} `}
        {search && `matching “${search}”`}
      </p>
      <Link to="/admin/agents" className="text-accent underline underline-offset-2">
        Show all
      </Link>
    </Empty>
  )
}

function AgentRow({ agent }: { agent: OverseenAgent }) {
  const [isAsking, setAsking] = useState(false)
  const isOwn = useQuery(sessionQuery).data?.user?.id === agent.owner?.id
  const isStopped = agent.status === 'stopped'
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-3 sm:px-4">
      <FieldMark seed={agent.id} className="size-9" />
      <div className="grid min-w-0 flex-1 basis-40 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          {isOwn ? (
            <Link to="/agents/$agentId" params={{ agentId: agent.id }} className="min-w-0 font-medium break-words">
              {agent.name}
            </Link>
          ) : (
            <span className="min-w-0 font-medium break-words">{agent.name}</span>
          )}
          <StatusBadge status={agent.status} />
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <Owner owner={agent.owner} />
          <span className="break-all">{agent.model}</span>
          {agent.runtime && <span>{agent.runtime}</span>}
          <span>
            Since <Moment at={agent.createdAt} />
          </span>
        </p>
        {agent.lastError && <p className="text-sm wrap-anywhere text-bad">{agent.lastError}</p>}
      </div>
      <Button
        aria-label={`Stop ${agent.name}`}
        disabled={isStopped}
        title={isStopped ? 'Already stopped' : undefined}
        onClick={() => setAsking(true)}
      >
        Stop
      </Button>
      {isAsking && <StopDialog agent={agent} onClose={() => setAsking(false)} />}
    </li>
  )
}

function Owner({ owner }: { owner: OverseenAgent['owner'] }) {
  if (!owner) return <span title="Created by a service with the internal key">No owner</span>
  return (
    <Link to="/admin/users" search={{ search: owner.email }} className="break-all underline underline-offset-2">
      {owner.email}
    </Link>
  )
}

function StopDialog({ agent, onClose }: { agent: OverseenAgent; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Stop ${agent.name}?`}
      lead={`The agent stays stopped until ${agent.owner ? 'its owner starts' : 'a service starts'} it again. Files and conversations are kept. This action is recorded in the audit log.`}
      verb="Stop agent"
      run={() => stopAnyAgent(agent.id)}
      onClose={onClose}
    />
  )
}
