import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import type { ReactNode } from 'react'
import type { WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { AgentMenu } from '../agents/agent-menu.tsx'
import { agentQuery, isOnOwnMachine, useChangeAgent } from '../agents/agents-api.ts'
import { FieldMark } from '../agents/field-mark.tsx'
import { isOfflineModel, nameModel, offlineModelWarning } from '../agents/model-field.tsx'
import { StatusBadge } from '../agents/status-badge.tsx'
import { ApiError, messageFor } from '../api/request.ts'
import { Page, usePageTitle } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { ErrorNotice, LoadingShapes, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Tabs } from '../ui/tabs.tsx'

const places = [
  { to: '/agents/$agentId', label: 'Chat' },
  { to: '/agents/$agentId/overview', label: 'Overview' },
  { to: '/agents/$agentId/logs', label: 'Logs' },
  { to: '/agents/$agentId/files', label: 'Files' },
  { to: '/agents/$agentId/schedule', label: 'Schedule' },
  { to: '/agents/$agentId/metrics', label: 'Metrics' },
  { to: '/agents/$agentId/activity', label: 'Activity' },
  { to: '/agents/$agentId/settings', label: 'Settings' },
] as const

type AgentChange = ReturnType<typeof useChangeAgent>
type ShownAgent = WebAgentDetail['agent'] & { paymentUndoneAt: string | null }

export type AgentPageProps = {
  agent: ShownAgent
  change: AgentChange
  onDeleted: () => void
}

type AgentFrameProps = {
  agentId: string
  /** The page's part of the document title; none for the chat. */
  title?: string
  /** The page fills the window and scrolls inside. */
  isFilling?: boolean
  /** The page itself shows why the agent could not start. */
  hidesFailure?: boolean
  children: (page: AgentPageProps) => ReactNode
}

export function AgentFrame({ agentId, ...frame }: AgentFrameProps) {
  const { data: agent, error, refetch } = useQuery(agentQuery(agentId))
  if (error instanceof ApiError && error.status === 404) return <Gone />
  if (agent) return <Framed key={agent.id} agent={agent} error={error} {...frame} />
  if (error) {
    return (
      <Page title="Agent">
        <LoadProblem what="the agent" error={error} onRetry={refetch} />
      </Page>
    )
  }
  return <Loading />
}

type FramedProps = Omit<AgentFrameProps, 'agentId'> & { agent: ShownAgent; error: Error | null }

function Framed({ agent, error, title, isFilling = false, hidesFailure = false, children }: FramedProps) {
  usePageTitle(title ? `${agent.name}: ${title}` : agent.name)
  const navigate = useNavigate()
  const change = useChangeAgent(agent.id)
  const onDeleted = () => void navigate({ to: '/agents' })
  return (
    <div className={`flex flex-col ${isFilling ? 'h-[calc(100dvh-3.3125rem)] min-h-80 md:h-dvh' : ''}`}>
      <AgentHeader agent={agent} error={error} change={change} onDeleted={onDeleted} isFailureShown={!hidesFailure} />
      {children({ agent, change, onDeleted })}
    </div>
  )
}

type AgentHeaderProps = AgentPageProps & { error: Error | null; isFailureShown: boolean }

function AgentHeader({ agent, error, change, onDeleted, isFailureShown }: AgentHeaderProps) {
  return (
    <header className="z-10 grid grid-cols-1 gap-2 border-b border-line bg-ground px-3 py-2.5 sm:px-6 md:sticky md:top-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Link
          to="/agents"
          aria-label="All agents"
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
            <span className="min-w-0 truncate">{nameModel(agent.model)}</span>
            {isOfflineModel(agent.model) && <span className="text-warn">{offlineModelWarning}</span>}
          </p>
        </div>
        <div className="max-lg:order-last max-lg:flex max-lg:basis-full">
          <Tabs label={`${agent.name} pages`} places={places} />
        </div>
        <AgentMenu agent={agent} change={change} isOpenOffered={false} onDeleted={onDeleted} />
      </div>
      {error && (
        <Notice tone="warning" title="This page may be out of date">
          {messageFor(error)}
        </Notice>
      )}
      <ErrorNotice title={`Failed to ${change.variables} ${agent.name}`} error={change.error} />
      {isFailureShown && <FailureNotice agent={agent} />}
    </header>
  )
}

export function FailureNotice({ agent }: { agent: ShownAgent }) {
  if (agent.status !== 'error' || !agent.lastError) return null
  if (isOnOwnMachine(agent)) {
    return (
      <Notice tone="warning" title={`${agent.name} cannot be reached`}>
        <p>
          {agent.lastError}. See{' '}
          <Link to="/settings/machines" className="text-accent underline underline-offset-2">
            Machines
          </Link>
          .
        </p>
      </Notice>
    )
  }
  return (
    <Notice tone="problem" title={`Could not start ${agent.name}`}>
      <p className="wrap-anywhere whitespace-pre-wrap">{agent.lastError}</p>
    </Notice>
  )
}

function Gone() {
  return (
    <Page title="Agent not found" lead="It was deleted or belongs to another account.">
      <Link to="/agents" className={`${buttonClass('primary')} justify-self-start`}>
        All agents
      </Link>
    </Page>
  )
}

function Loading() {
  usePageTitle('Agent')
  return (
    <LoadingShapes what="agent" className="flex items-center gap-3 border-b border-line px-4 py-3 sm:px-6">
      <Skeleton className="size-8" />
      <Skeleton className="h-5 w-40" />
    </LoadingShapes>
  )
}
