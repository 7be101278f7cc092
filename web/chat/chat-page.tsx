import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeft, Play } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/schemas.ts'
import { useChangeAgent } from '../agents/agent-changes.ts'
import { AgentMenu } from '../agents/agent-menu.tsx'
import { agentQuery } from '../agents/agents-api.ts'
import { useDeployment } from '../agents/deployment.ts'
import { DeploymentProgress } from '../agents/deployment-progress.tsx'
import { FieldMark } from '../agents/field-mark.tsx'
import { isOfflineModel, offlineModelWarning } from '../agents/model-name.ts'
import { StatusBadge } from '../agents/status-badge.tsx'
import { ApiError, messageFor } from '../api/request.ts'
import { Page, usePageTitle } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Conversation } from './conversation.tsx'

const route = getRouteApi('/signed-in/agents/$agentId')

/** `/agents/$agentId`: talk to one agent. */
export function ChatPage() {
  const { agentId } = route.useParams()
  const { data: agent, error, refetch } = useQuery(agentQuery(agentId))
  if (error instanceof ApiError && error.status === 404) return <Gone />
  if (agent) return <Chat key={agent.id} agent={agent} />
  if (error) {
    return (
      <Page title="Agent">
        <LoadProblem what="This agent" error={error} onRetry={refetch} />
      </Page>
    )
  }
  return <Loading />
}

function Chat({ agent }: { agent: WebAgent }) {
  usePageTitle(agent.name)
  const navigate = useNavigate()
  const change = useChangeAgent(agent.id)
  const toList = () => void navigate({ to: '/agents' })
  const [isWatching, setWatching] = useState(false)
  if (agent.status === 'provisioning' && !change.isPending && !isWatching) setWatching(true)
  // A deployment that fails while it is watched stays on the page with its reason.
  const isDeploying = isWatching && (agent.status === 'provisioning' || agent.status === 'error')
  return (
    <div className="flex h-[calc(100dvh-3.3125rem)] min-h-80 flex-col md:h-dvh">
      <ChatHeader agent={agent} change={change} onDeleted={toList} />
      {isDeploying ? (
        <div className="mx-auto w-full max-w-3xl flex-1 overflow-y-auto px-4 py-8 sm:px-8">
          <DeploymentProgress agent={agent} onRunning={() => setWatching(false)} onDeleted={toList} />
        </div>
      ) : (
        <Conversation
          agent={agent}
          blocked={agent.status === 'running' ? null : <Blocked agent={agent} change={change} />}
        />
      )}
    </div>
  )
}

type Change = ReturnType<typeof useChangeAgent>

function ChatHeader({ agent, change, onDeleted }: { agent: WebAgent; change: Change; onDeleted: () => void }) {
  return (
    <header className="grid grid-cols-1 gap-2 border-b border-line px-3 py-2.5 sm:px-6">
      <div className="flex items-center gap-3">
        <Link
          to="/agents"
          aria-label="Back to the list"
          className="rounded-md p-1.5 text-muted hover:bg-sunken hover:text-ink"
        >
          <ArrowLeft aria-hidden className="size-4.5" />
        </Link>
        <FieldMark seed={agent.id} className="size-8" />
        <div className="min-w-0 flex-1">
          <div className="flex items-center gap-2.5">
            <h1 tabIndex={-1} className="min-w-0 truncate font-semibold">
              {agent.name}
            </h1>
            <StatusBadge status={agent.status} />
          </div>
          <p className="flex flex-wrap gap-x-2 text-xs text-muted">
            <span className="min-w-0 truncate">{agent.model || 'No model'}</span>
            {isOfflineModel(agent.model) && <span className="text-warn">{offlineModelWarning}</span>}
          </p>
        </div>
        <AgentMenu agent={agent} change={change} isOpenOffered={false} onDeleted={onDeleted} />
      </div>
      {change.isError && agent.status === 'running' && (
        <Notice tone="problem" title={`${agent.name} did not ${change.variables}`}>
          {messageFor(change.error)}
        </Notice>
      )}
    </header>
  )
}

function Blocked({ agent, change }: { agent: WebAgent; change: Change }) {
  const reasons = {
    stopped: `${agent.name} is stopped.`,
    error: `${agent.name} has stopped with an error.`,
    unknown: `It is not known whether ${agent.name} is running.`,
    pending: `${agent.name} has not been set up yet.`,
    provisioning: `${agent.name} is being started.`,
    running: '',
  }
  const verb = agent.status === 'error' ? 'restart' : 'start'
  const canStart = agent.status !== 'provisioning' && agent.status !== 'pending'
  return (
    <div className="grid gap-2">
      {change.isError && (
        <Notice tone="problem" title={`${agent.name} did not ${change.variables}`}>
          {messageFor(change.error)}
        </Notice>
      )}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span>
          {change.isPending ? `${agent.name} is being started…` : reasons[agent.status]}{' '}
          {agent.status === 'error' && !change.isPending && <ErrorReason agentId={agent.id} />}
        </span>
        {canStart && (
          <Button look="primary" isPending={change.isPending} onClick={() => change.mutate(verb)}>
            {!change.isPending && <Play aria-hidden className="size-3.5" />}
            {verb === 'start' ? 'Start' : 'Restart'}
          </Button>
        )}
      </div>
    </div>
  )
}

/** The first event of the agent's stream says why its last deployment failed. */
function ErrorReason({ agentId }: { agentId: string }) {
  return useDeployment(agentId).deployment.error
}

function Gone() {
  return (
    <Page title="No such agent" lead="It was deleted, or it belongs to someone else.">
      <Link to="/agents" className={`${buttonClass('primary')} justify-self-start`}>
        Back to the list
      </Link>
    </Page>
  )
}

function Loading() {
  usePageTitle('Agent')
  return (
    <div aria-busy="true" className="flex items-center gap-3 border-b border-line px-4 py-3 sm:px-6">
      <p role="status" className="sr-only">
        Loading the agent
      </p>
      <Skeleton className="size-8" />
      <Skeleton className="h-5 w-40" />
    </div>
  )
}
