import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Page } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { AgentRow } from './agent-row.tsx'
import { agentsQuery } from './agents-api.ts'
import { FieldMark } from './field-mark.tsx'
import { Totals } from './totals.tsx'

/** `/agents`: the caller's agents and what they are doing now. */
export function AgentsPage() {
  const { data: agents, error, refetch } = useQuery(agentsQuery)
  const isEmpty = agents?.length === 0
  return (
    <Page title="Agents" lead={agents && !isEmpty && summarize(agents)} actions={!isEmpty && <CreateLink />}>
      {error && agents && (
        <Notice tone="warning" title="This list may be out of date">
          {error.message}
        </Notice>
      )}
      {agents ? (
        isEmpty ? (
          <NoAgents />
        ) : (
          <ul aria-label="Your agents" className="divide-y divide-line rounded-xl border border-line bg-surface">
            {agents.map((agent) => (
              <AgentRow key={agent.id} agent={agent} />
            ))}
          </ul>
        )
      ) : error ? (
        <LoadProblem what="Your agents" error={error} onRetry={refetch} />
      ) : (
        <Loading />
      )}
      {agents && !isEmpty && <Totals />}
    </Page>
  )
}

function CreateLink() {
  return (
    <Link to="/agents/new" className={buttonClass('primary')}>
      <Plus aria-hidden className="size-4" />
      Create agent
    </Link>
  )
}

function NoAgents() {
  return (
    <section className="grid justify-items-center gap-4 rounded-xl border border-dashed border-edge px-6 py-14 text-center">
      <div aria-hidden className="flex gap-2">
        <FieldMark seed="north" className="size-9 opacity-45" />
        <FieldMark seed="house" className="size-9" />
        <FieldMark seed="south" className="size-9 opacity-45" />
      </div>
      <div className="grid max-w-sm gap-1">
        <h2 className="text-lg font-semibold">No agents yet</h2>
        <p className="text-muted">
          An agent gets its own gateway, memory and files, and keeps working while you are away.
        </p>
      </div>
      <CreateLink />
    </section>
  )
}

function Loading() {
  return (
    <div aria-busy="true" className="grid gap-px overflow-hidden rounded-xl border border-line bg-line">
      <p role="status" className="sr-only">
        Loading your agents
      </p>
      {['w-36', 'w-52', 'w-44'].map((width) => (
        <div key={width} className="flex items-center gap-3 bg-surface px-4 py-3">
          <Skeleton className="size-10" />
          <div className="grid gap-2">
            <Skeleton className={`h-4 ${width}`} />
            <Skeleton className="h-3 w-28" />
          </div>
        </div>
      ))}
    </div>
  )
}

function summarize(agents: WebAgent[]): string {
  const running = agents.filter(({ status }) => status === 'running').length
  const broken = agents.filter(({ status }) => status === 'error').length
  const asleep = agents.filter(({ status }) => status === 'sleeping').length
  const others = [...(asleep ? [`${asleep} asleep`] : []), ...(broken ? [`${broken} with an error`] : [])]
  return [`${running} of ${agents.length} running`, ...others].join(', ')
}
