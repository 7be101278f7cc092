import { z } from 'zod'
import { FieldChange } from '../revisions/schemas.ts'

const State = z.enum(['stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'])
const Rung = z.enum(['restart', 'configuration', 'image'])
const Percent = z.number().min(0).max(100).nullable()

/**
 * `GET /api/agents/:id/watchdog`. `attempts` and `crashes` count since the last ten healthy minutes; `exitCode` and
 * `outOfMemory` describe the last end; uptimes are percentages of the watched time. `rung` is the rung of the repair
 * ladder that is taken; a failed agent is started again at `retryAt`. `detail` of an event is what a repair changed, or
 * the last change before the agent failed.
 */
export const AgentWatchdog = z.object({
  state: State,
  since: z.iso.datetime().nullable(),
  attempts: z.number(),
  crashes: z.number(),
  lastProbe: z.object({ at: z.iso.datetime(), healthy: z.boolean() }).nullable(),
  exitCode: z.number().nullable(),
  outOfMemory: z.boolean(),
  rung: Rung.nullable(),
  retryAt: z.iso.datetime().nullable(),
  uptime: z.object({ day: Percent, week: Percent, month: Percent }),
  events: z.array(
    z.object({
      id: z.string(),
      kind: z.string(),
      state: State,
      attempt: z.number(),
      exitCode: z.number().nullable(),
      outOfMemory: z.boolean(),
      rung: Rung.nullable(),
      detail: z.string().nullable(),
      logTail: z.string().nullable(),
      at: z.iso.datetime(),
    }),
  ),
})
export type AgentWatchdog = z.infer<typeof AgentWatchdog>

/**
 * `POST /api/agents/:id/watchdog/simulate`: the repairs that would follow if the agent failed now, in order, until it
 * is stopped. `revision` and `changes` are those of a return to a healthy configuration or image.
 */
export const SimulatedFailure = z.object({
  repairsItself: z.boolean(),
  steps: z.array(z.object({ rung: Rung, revision: z.number().nullable(), changes: z.array(FieldChange) })),
  retryAfterSeconds: z.number().nullable(),
})
export type SimulatedFailure = z.infer<typeof SimulatedFailure>
