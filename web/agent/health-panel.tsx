import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { AgentWatchdog } from '../../src/features/agents/watchdog/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { watchdogQuery } from './agent-api.ts'
import { SimulateButton } from './simulate-dialog.tsx'

const states = {
  stopped: { label: 'Not monitored', tone: 'plain' },
  sleeping: { label: 'Sleeping', tone: 'plain' },
  starting: { label: 'Starting', tone: 'warning' },
  running: { label: 'Healthy', tone: 'good' },
  degraded: { label: 'Not responding', tone: 'problem' },
  crash_loop: { label: 'Failed', tone: 'problem' },
  repairing: { label: 'Repairing', tone: 'warning' },
} as const

const kinds: Partial<Record<string, string>> = {
  starting: 'Started',
  running: 'Healthy',
  stopped: 'Stopped',
  sleeping: 'Went to sleep (idle)',
  degraded: 'Stopped responding',
  recovered: 'Responding again',
  crash: 'Crashed',
  crash_loop: 'Agent failed repeatedly and was stopped',
  repair_started: 'Repair started',
  repaired: 'Repaired',
  repair_failed: 'Repair failed',
}

export function HealthPanel({ agentId }: { agentId: string }) {
  const query = useQuery(watchdogQuery(agentId))
  const look = query.data && states[query.data.state]
  return (
    <Panel
      title="Health"
      actions={
        <span className="flex items-center gap-3">
          <SimulateButton agentId={agentId} />
          {look && <Badge tone={look.tone}>{look.label}</Badge>}
        </span>
      }
    >
      <Loaded
        query={query}
        what="health"
        placeholder={
          <LoadingShapes what="health" className="grid gap-3 px-4 pb-4">
            <Skeleton className="h-14" />
            <Skeleton className="h-24" />
          </LoadingShapes>
        }
        problemClassName="px-4 pb-4"
      >
        {(watchdog) => <Known watchdog={watchdog} />}
      </Loaded>
    </Panel>
  )
}

function Known({ watchdog }: { watchdog: AgentWatchdog }) {
  const { since, lastProbe, attempts, crashes, uptime } = watchdog
  return (
    <>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 border-t border-line px-4 py-4 sm:grid-cols-4">
        <Fact label="Since">{since ? <Moment at={since} as="distance" /> : 'Never'}</Fact>
        <Fact label="Last check">
          {lastProbe ? (
            <>
              {lastProbe.healthy ? 'Passed' : 'Failed'}, <Moment at={lastProbe.at} as="distance" />
            </>
          ) : (
            'None'
          )}
        </Fact>
        <Fact label="Crashes">{crashes}</Fact>
        <Fact label="Repairs">{attempts}</Fact>
        <Fact label="Last exit">{describeExit(watchdog)}</Fact>
        {watchdog.retryAt && (
          <Fact label="Next retry">
            <Moment at={watchdog.retryAt} as="minute" />
          </Fact>
        )}
        <Fact label="Uptime today">{toPercent(uptime.day)}</Fact>
        <Fact label="Uptime, 7 days">{toPercent(uptime.week)}</Fact>
        <Fact label="Uptime, 30 days">{toPercent(uptime.month)}</Fact>
      </dl>
      <Events events={watchdog.events} />
    </>
  )
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid min-w-0 content-start gap-0.5">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="font-medium tabular-nums break-words first-letter:uppercase">{children}</dd>
    </div>
  )
}

function Events({ events }: { events: AgentWatchdog['events'] }) {
  if (events.length === 0) {
    return <p className="border-t border-line px-4 py-4 text-sm text-muted">No watchdog events yet.</p>
  }
  return (
    <section
      aria-label="Watchdog events"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="max-h-72 overflow-y-auto border-t border-line -outline-offset-2"
    >
      <ol className="divide-y divide-line text-sm">
        {events.map((event) => (
          <li key={event.id} className="grid grid-cols-1 gap-1 px-4 py-2">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4">
              <span>{describeWatchdogEvent(event)}</span>
              <span className="text-muted">
                <Moment at={event.at} as="minute" />
              </span>
            </div>
            {event.detail && (
              <p className="text-muted break-words">
                {event.kind === 'crash_loop' ? 'Last change: ' : ''}
                {event.detail}
              </p>
            )}
            {event.logTail && (
              <details>
                <summary className="cursor-pointer text-muted hover:text-ink">Last log lines</summary>
                <pre className="mt-1.5 max-h-60 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs whitespace-pre-wrap break-words">
                  {event.logTail}
                </pre>
              </details>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

export function describeWatchdogEvent(event: AgentWatchdog['events'][number]): string {
  const what = ofReturn(event) ?? kinds[event.kind] ?? event.kind
  return isEnd(event.kind) && hasEnded(event) ? `${what}, ${describeExit(event)}` : what
}

/** Describes a return to a healthy configuration or image. */
function ofReturn({ kind, rung }: AgentWatchdog['events'][number]): string | undefined {
  if (rung !== 'configuration' && rung !== 'image') return undefined
  if (kind === 'repair_started') return `Going back to the last healthy ${rung}`
  if (kind === 'repaired') return `Runs with the last healthy ${rung}`
  return kind === 'repair_failed' ? `Did not run with the last healthy ${rung}` : undefined
}

type Exit = { exitCode: number | null; outOfMemory: boolean }

function isEnd(kind: string): boolean {
  return kind === 'crash' || kind === 'crash_loop' || kind === 'degraded'
}

function hasEnded({ exitCode, outOfMemory }: Exit): boolean {
  return outOfMemory || exitCode !== null
}

function describeExit({ exitCode, outOfMemory }: Exit): string {
  if (outOfMemory) return 'out of memory'
  return exitCode === null ? 'none' : `exit code ${exitCode}`
}

function toPercent(percent: number | null): string {
  return percent === null ? 'Unknown' : `${percent.toFixed(percent === 100 ? 0 : 2)}%`
}
