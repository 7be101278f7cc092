import { z } from 'zod'

const BAD_FREQUENCY = 'frequency must be an interval such as 30m or 3h, from 5m to 24h'
const MINUTE_MS = 60_000
const UNITS = { m: MINUTE_MS, h: 60 * MINUTE_MS } as const
const SHORTEST_MS = 5 * UNITS.m
const LONGEST_MS = 24 * UNITS.h

/** Default frequency, which the dashboard shows. */
export const DEFAULT_FREQUENCY = '3h'

/**
 * Body of `POST /api/heartbeat`. Omitted fields stay unchanged. `agentId` limits the heartbeat to one agent; null
 * removes the limit.
 */
export const ChangeHeartbeatRequest = z
  .object({
    frequency: z
      .string(BAD_FREQUENCY)
      .refine((text) => toMs(text) !== null, BAD_FREQUENCY)
      .optional(),
    enabled: z.boolean('enabled must be true or false').optional(),
    agentId: z
      .string('agentId must be text')
      .min(1, 'agentId must not be empty')
      .max(100, 'agentId must be at most 100 characters')
      .nullable()
      .optional(),
  })
  .meta({ examples: [{ frequency: '3h', enabled: true }] })
export type ChangeHeartbeatRequest = z.infer<typeof ChangeHeartbeatRequest>

/** Times are ISO 8601; `nextHeartbeat` is null while it is off, `agentId` null means all agents. */
export const HeartbeatConfig = z.object({
  frequency: z.string(),
  enabled: z.boolean(),
  agentId: z.string().nullable(),
  lastUpdated: z.string().nullable(),
  lastHeartbeat: z.string().nullable(),
  nextHeartbeat: z.string().nullable(),
})
export type HeartbeatConfig = z.infer<typeof HeartbeatConfig>

export const OneHeartbeat = z.object({ heartbeat: HeartbeatConfig, message: z.string() })
export type OneHeartbeat = z.infer<typeof OneHeartbeat>

export const ChangedHeartbeat = HeartbeatConfig.extend({ message: z.string() })
export type ChangedHeartbeat = z.infer<typeof ChangedHeartbeat>

/**
 * Returns the length of an interval such as `30m` or `3h`; null for an invalid one or outside of 5 minutes to 24 hours.
 */
export function toMs(frequency: string): number | null {
  const [, digits, unit] = frequency.match(/^([1-9]\d{0,3})([mh])$/) ?? []
  if (digits === undefined) return null
  const ms = Number(digits) * (unit === 'h' ? UNITS.h : UNITS.m)
  return ms >= SHORTEST_MS && ms <= LONGEST_MS ? ms : null
}

/** Answer of `DELETE /api/heartbeat`. */
export const DeletedHeartbeat = z.object({ success: z.literal(true), message: z.string() })
