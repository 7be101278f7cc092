import { z } from 'zod'

const State = z.enum(['stopped', 'sleeping', 'starting', 'running', 'degraded', 'crash_loop', 'repairing'])
const Percent = z.number().min(0).max(100).nullable()

/**
 * `GET /api/agents/:id/watchdog`. `attempts` and `crashes` count since the last ten healthy minutes; `exitCode` and
 * `outOfMemory` describe the last end; uptimes are percentages of the watched time.
 */
export const AgentWatchdog = z.object({
  state: State,
  since: z.iso.datetime().nullable(),
  attempts: z.number(),
  crashes: z.number(),
  lastProbe: z.object({ at: z.iso.datetime(), healthy: z.boolean() }).nullable(),
  exitCode: z.number().nullable(),
  outOfMemory: z.boolean(),
  uptime: z.object({ day: Percent, week: Percent, month: Percent }),
  events: z.array(
    z.object({
      id: z.string(),
      kind: z.string(),
      state: State,
      attempt: z.number(),
      exitCode: z.number().nullable(),
      outOfMemory: z.boolean(),
      at: z.iso.datetime(),
    }),
  ),
})
export type AgentWatchdog = z.infer<typeof AgentWatchdog>
