import { desc, eq } from 'drizzle-orm'
import { Hono, type MiddlewareHandler } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { getAgent } from '../registry/agents.ts'
import { retryAt } from './next-state.ts'
import { uptimeSince } from './record.ts'
import type { WatchdogSettings } from './rules.ts'
import { AgentWatchdog, SimulatedFailure } from './schemas.ts'
import { simulateFailure } from './simulate.ts'
import { type WatchdogEventRow, watchdogEvents, watchdogs } from './tables.ts'
import { readUptime } from './uptime.ts'

/** Watchdog routes, shared by both APIs. */
export function watchdogRoutes(
  deps: Base & { steady: Clock; watchdogSettings: WatchdogSettings },
  guard: MiddlewareHandler<BackendEnv>,
) {
  const app = new Hono<BackendEnv>()

  app.get(
    '/api/agents/:id/watchdog',
    endpoint({
      summary: 'Returns the watchdog state of an agent',
      tag: 'Watchdog',
      responses: { 200: AgentWatchdog },
      errors: ['not_found'],
    }),
    guard,
    (c) => {
      const { id } = getAgent(deps.db, c.var.principal, c.req.param('id'))
      return c.json(showWatchdog(deps, id))
    },
  )

  app.post(
    '/api/agents/:id/watchdog/simulate',
    endpoint({
      summary: 'Simulates a failure of an agent',
      tag: 'Watchdog',
      responses: { 200: SimulatedFailure },
      errors: ['not_found'],
    }),
    guard,
    validateAnyBody(NoBody),
    (c) => c.json(simulateFailure(deps, getAgent(deps.db, c.var.principal, c.req.param('id')))),
  )

  return app
}

const SHOWN_EVENTS = 50
const UNKNOWN = { upMs: 0, downMs: 0, unknownMs: 0 }

/**
 * Returns the watchdog's view of an agent: newest events first, `stopped` before the first check. The caller checks
 * access.
 */
export function showWatchdog(
  deps: Base & { steady: Clock; watchdogSettings: WatchdogSettings },
  agentId: string,
): AgentWatchdog {
  const row = deps.db.select().from(watchdogs).where(eq(watchdogs.agentId, agentId)).get()
  const now = deps.steady.now().getTime()
  const spell = (row && uptimeSince(deps.watchdogSettings, row, now)) ?? UNKNOWN
  const lastProbe =
    row?.lastProbeAt && row.lastProbeHealthy !== null
      ? { at: toText(row.lastProbeAt), healthy: row.lastProbeHealthy }
      : null
  return {
    state: row?.state ?? 'stopped',
    since: row ? toText(row.since) : null,
    attempts: row?.attempts ?? 0,
    crashes: row?.crashes.length ?? 0,
    lastProbe,
    exitCode: row?.exitCode ?? null,
    outOfMemory: row?.outOfMemory ?? false,
    rung: row?.state === 'repairing' ? row.rung : null,
    retryAt:
      row?.state === 'crash_loop' && deps.watchdogSettings.repairsItself
        ? toText(retryAt(row, deps.watchdogSettings))
        : null,
    uptime: readUptime(deps.db, agentId, deps.clock.now(), spell),
    events: listEvents(deps.db, agentId).map(toEvent),
  }
}

function listEvents(db: Db, agentId: string): WatchdogEventRow[] {
  return db
    .select()
    .from(watchdogEvents)
    .where(eq(watchdogEvents.agentId, agentId))
    .orderBy(desc(watchdogEvents.sequence))
    .limit(SHOWN_EVENTS)
    .all()
}

function toEvent({ id, kind, state, attempt, exitCode, outOfMemory, rung, detail, logTail, at }: WatchdogEventRow) {
  return { id, kind, state, attempt, exitCode, outOfMemory, rung, detail, logTail, at: at.toISOString() }
}

function toText(time: number): string {
  return new Date(time).toISOString()
}
