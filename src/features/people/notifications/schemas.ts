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

/** `POST /api/watchdog/test`: what became of the notification on each channel. */
export const TestNotificationResult = z.object({
  success: z.boolean(),
  channels: z.array(z.object({ channel: z.enum(CHANNELS), delivered: z.boolean(), error: z.string().nullable() })),
})
export type TestNotificationResult = z.infer<typeof TestNotificationResult>
