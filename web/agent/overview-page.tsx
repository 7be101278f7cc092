import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { MemorySection } from '../agent-memory/memory-section.tsx'
import { PermissionsSection } from '../agent-tools/permissions-section.tsx'
import { isOnOwnMachine } from '../agents/agents-api.ts'
import { formatDuration } from '../cost/figures.ts'
import { Address } from '../ui/copy-button.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { deploymentsQuery, instanceQuery, statsQuery, useLiveAgent, useOperation } from './agent-api.ts'
import { AgentFrame, type AgentPageProps } from './agent-frame.tsx'
import { ConfigurationPanel } from './configuration-panel.tsx'
import { HealthPanel } from './health-panel.tsx'
import { HistoryPanel } from './history-panel.tsx'
import { OwnMachineNotice } from './own-machine.tsx'
import { SnapshotsPanel } from './snapshots-panel.tsx'
import { findLastImage } from './work.ts'
import { WorkSection } from './work-section.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/overview')

/** Page `/agents/$agentId/overview`. */
export function OverviewPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Overview">
      {(page) => <Overview {...page} />}
    </AgentFrame>
  )
}

function Overview(page: AgentPageProps) {
  const { id } = page.agent
  const event = useLiveAgent(id)
  const isOwnMachine = isOnOwnMachine(page.agent)
  const operation = useOperation(id)
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      {page.agent.paymentUndoneAt && (
        <Notice tone="problem" title="Payment for this clone is missing">
          <p>
            The blockchain reverted the block with the payment, <Moment at={page.agent.paymentUndoneAt} as="minute" />.
            The payment is usually included in another block soon. The administrator sees this too.
          </p>
        </Notice>
      )}
      <Figures agentId={id} />
      {isOwnMachine ? (
        <OwnMachineNotice>Start, stop and update it there.</OwnMachineNotice>
      ) : (
        <>
          <WorkSection {...page} operation={operation} event={event} />
          <HealthPanel agentId={id} />
        </>
      )}
      <PermissionsSection agent={page.agent} />
      <MemorySection agent={page.agent} />
      <ReachSection agent={page.agent} />
      {!isOwnMachine && (
        <>
          <SnapshotsPanel agent={page.agent} operation={operation} />
          <ConfigurationPanel agent={page.agent} />
          <HistoryPanel agent={page.agent} operation={operation} />
        </>
      )}
    </div>
  )
}

const count = new Intl.NumberFormat('en')

export function Figures({ agentId }: { agentId: string }) {
  const { data: stats, error, refetch } = useQuery(statsQuery(agentId))
  if (!stats && error) return <LoadProblem what="usage" error={error} onRetry={refetch} />
  const failed = stats && stats.messagesFailed > 0 ? `${count.format(stats.messagesFailed)} failed` : 'received'
  const responseMs = stats?.averageResponseTime
  return (
    <section aria-label="Usage" aria-busy={!stats}>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line sm:grid-cols-3 lg:grid-cols-6">
        <Tile label="CPU" value={stats && withSpaces(stats.cpu)} note="of one core" />
        <Tile label="Memory" value={stats && withSpaces(firstOf(stats.memory))} note={stats && limitOf(stats.memory)} />
        <Tile
          label="Network"
          value={stats && withSpaces(firstOf(stats.network))}
          note={stats && sentOf(stats.network)}
        />
        <Tile label="Uptime" value={stats?.uptimeFormatted} />
        <Tile label="Messages" value={stats && count.format(stats.messagesProcessed)} note={failed} />
        <Tile label="Response time" value={typeof responseMs === 'number' ? formatDuration(responseMs) : responseMs} />
      </dl>
    </section>
  )
}

function Tile({ label, value, note }: { label: string; value: string | undefined; note?: string | undefined }) {
  const isMeasured = value !== 'N/A'
  const remark = isMeasured ? note : 'not available'
  return (
    <div className="grid content-start gap-0.5 bg-surface px-4 py-3">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="grid min-h-12 content-start">
        {value === undefined ? (
          <Skeleton className="my-1 h-5 w-16" />
        ) : (
          <span aria-hidden={!isMeasured} className="truncate text-lg font-semibold tabular-nums">
            {isMeasured ? value : '–'}
          </span>
        )}
        {value !== undefined && remark && <span className="truncate text-xs text-muted">{remark}</span>}
      </dd>
    </div>
  )
}

/** Returns "100MiB" of "100MiB / 1GiB". */
function firstOf(pair: string): string {
  return pair.split(' / ')[0] ?? pair
}

/** Inserts a space before the unit: the API writes figures as engines do. */
function withSpaces(figure: string): string {
  return figure.replace(/(?<=\d)(?=[%a-zA-Z])/, '\u00a0')
}

/** Parses "100MiB / 1GiB". */
function limitOf(memory: string): string | undefined {
  const limit = memory.split(' / ')[1]
  return limit && `of ${withSpaces(limit)}`
}

/** Parses "1.2kB / 3.4kB". */
function sentOf(network: string): string | undefined {
  const sent = network.split(' / ')[1]
  return sent && `in, ${withSpaces(sent)} out`
}

export function ReachSection({ agent }: { agent: WebAgent }) {
  const { data: instance, error, refetch } = useQuery(instanceQuery(agent.id))
  const deployments = useQuery(deploymentsQuery(agent.id)).data
  const image = deployments && findLastImage(deployments)
  return (
    <Section title="Endpoint" lead="Send requests to these URLs with the gateway token from Settings.">
      <Address label="WebSocket" address={agent.websocketUrl} />
      {error && !instance && <LoadProblem what="running version" error={error} onRetry={refetch} />}
      <dl className="grid grid-cols-1 gap-x-8 gap-y-3 sm:grid-cols-3">
        {(instance || !error) && (
          <>
            <Fact label="Program">
              {instance ? toVersion(instance.runtimeVersion) : <Skeleton className="h-5 w-24" />}
            </Fact>
            <Fact label="Started">
              {instance ? <Start at={instance.startedAt} /> : <Skeleton className="h-5 w-32" />}
            </Fact>
          </>
        )}
        <Fact label="Container ID">
          <code className="font-mono text-[0.8125rem]">{agent.id}</code>
        </Fact>
        {image && (
          <Fact label="Image" className="sm:col-span-3">
            <code className="font-mono text-[0.8125rem]">{image}</code>
          </Fact>
        )}
      </dl>
    </Section>
  )
}

function toVersion(version: string | null): string {
  return version === null ? 'Unknown' : `Version ${version}`
}

function Start({ at }: { at: string | null }) {
  return at === null ? 'Never' : <Moment at={at} as="minute" />
}

type FactProps = { label: string; className?: string; children: ReactNode }

function Fact({ label, className = '', children }: FactProps) {
  return (
    <div className={`grid min-w-0 content-start gap-0.5 ${className}`}>
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="font-medium break-all">{children}</dd>
    </div>
  )
}
