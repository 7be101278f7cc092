import { Link } from '@tanstack/react-router'
import { Play, Square } from 'lucide-react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { canChange, useChangeAgent } from './agent-changes.ts'
import { AgentMenu } from './agent-menu.tsx'
import { FieldMark } from './field-mark.tsx'
import { isOfflineModel, offlineModelWarning } from './model-name.ts'
import { StatusBadge } from './status-badge.tsx'

const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'short' })

/** One agent of the list. */
export function AgentRow({ agent }: { agent: WebAgent }) {
  const change = useChangeAgent(agent.id)
  const created = new Date(agent.createdAt)
  return (
    <li className="grid grid-cols-1 gap-3 px-3 py-3 sm:px-4">
      <div className="flex items-center gap-3">
        <FieldMark seed={agent.id} className="size-10" />
        <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
          <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <Link
              to="/agents/$agentId"
              params={{ agentId: agent.id }}
              className="min-w-0 truncate font-medium hover:underline"
            >
              {agent.name}
            </Link>
            <StatusBadge status={agent.status} />
          </div>
          <p className="flex flex-wrap gap-x-3 text-sm text-muted">
            <span className="min-w-0 truncate" title={agent.model}>
              {agent.model || 'No model'}
            </span>
            {isOfflineModel(agent.model) && <span className="text-warn">{offlineModelWarning}</span>}
            <time dateTime={agent.createdAt} title={moment.format(created)}>
              Created {day.format(created)}
            </time>
          </p>
        </div>
        <PowerButton agent={agent} change={change} />
        <AgentMenu agent={agent} change={change} />
      </div>
      {change.isError && (
        <Notice tone="problem" title={`${agent.name} did not ${change.variables}`}>
          {messageFor(change.error)}
        </Notice>
      )}
    </li>
  )
}

function PowerButton({ agent, change }: { agent: WebAgent; change: ReturnType<typeof useChangeAgent> }) {
  const verb = canChange(agent.status, 'start') ? 'start' : canChange(agent.status, 'stop') ? 'stop' : null
  if (!verb) return null
  const label = verb === 'start' ? 'Start' : 'Stop'
  const Icon = verb === 'start' ? Play : Square
  return (
    <Button
      aria-label={`${label} ${agent.name}`}
      isPending={change.isPending}
      onClick={() => change.mutate(verb)}
      className="max-sm:hidden"
    >
      {!change.isPending && <Icon aria-hidden className="size-3.5" />}
      {label}
    </Button>
  )
}
