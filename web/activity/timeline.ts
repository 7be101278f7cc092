import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import type { BlockedDestination } from '../../src/features/agents/egress/schemas.ts'
import type { AgentWatchdog } from '../../src/features/agents/watchdog/schemas.ts'

type WatchdogEvent = AgentWatchdog['events'][number]
/** `at` is ISO 8601. */
export type Happening =
  | { kind: 'deployment'; at: string; id: string; deployment: Deployment }
  | { kind: 'watchdog'; at: string; id: string; event: WatchdogEvent }
  | { kind: 'blocked'; at: string; id: string; blocked: BlockedDestination }
export type ActivityFilter = 'all' | Happening['kind']

export function toTimeline(
  {
    deployments,
    events,
    blocked,
  }: {
    deployments: readonly Deployment[]
    events: readonly WatchdogEvent[]
    blocked: readonly BlockedDestination[]
  },
  wanted: ActivityFilter,
): Happening[] {
  const happenings: Happening[] = [
    ...deployments.map((deployment) => ({
      kind: 'deployment' as const,
      at: deployment.requestedAt,
      id: `deployment ${deployment.id}`,
      deployment,
    })),
    ...events.map((event) => ({ kind: 'watchdog' as const, at: event.at, id: `watchdog ${event.id}`, event })),
    ...blocked.map((one) => ({
      kind: 'blocked' as const,
      at: one.lastAt,
      id: `blocked ${one.host}:${one.port}`,
      blocked: one,
    })),
  ]
  return happenings
    .filter(({ kind }) => wanted === 'all' || kind === wanted)
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

/** Groups by local day, newest first. */
export function byDay(happenings: readonly Happening[]): [day: string, happenings: Happening[]][] {
  return [...Map.groupBy(happenings, ({ at }) => new Date(at).toDateString()).entries()]
}
