import { z } from 'zod'

export const CHANNELS = ['telegram', 'webhook'] as const
export type ChannelName = (typeof CHANNELS)[number]

/**
 * Something operators are told. `agent` is null for what concerns the whole host, `attempt` the number of repairs so far,
 * `exitCode` and `outOfMemory` are of the last end that was seen.
 */
export const Notification = z.object({
  id: z.string(),
  kind: z.enum([
    'degraded',
    'recovered',
    'crash',
    'crash_loop',
    'repair_started',
    'repaired',
    'repair_failed',
    'host_fault',
    'disk_low',
    'disk_recovered',
    'test',
  ]),
  at: z.string(),
  agent: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: z.string(),
  attempt: z.number(),
  exitCode: z.number().nullable(),
  outOfMemory: z.boolean(),
})
export type Notification = z.infer<typeof Notification>

/** What the webhook of the operator is sent, signed as Standard Webhooks 1.0 says; `version` changes with what breaks readers. */
export const WatchdogEvent = z.object({
  version: z.literal(1),
  type: z.templateLiteral(['watchdog.', Notification.shape.kind]),
  timestamp: z.string(),
  data: Notification.pick({ id: true, status: true, attempt: true, exitCode: true, outOfMemory: true }).extend({
    severity: z.enum(['info', 'warning', 'error', 'critical']),
    agentId: z.string().nullable(),
    agentName: z.string().nullable(),
  }),
})
export type WatchdogEvent = z.infer<typeof WatchdogEvent>

/** `POST /api/watchdog/test`: what became of the notification on each channel. */
export const TestNotificationResult = z.object({
  success: z.boolean(),
  channels: z.array(z.object({ channel: z.enum(CHANNELS), delivered: z.boolean(), error: z.string().nullable() })),
})
export type TestNotificationResult = z.infer<typeof TestNotificationResult>
