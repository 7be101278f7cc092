import { z } from 'zod'

/** Services of a machine that the platform can open a stream to. */
export const TARGETS = { gateway: 'gateway', logs: 'logs', files: 'files' } as const

/** First line of a `logs` stream: the lines after a cursor, at most `tail` old ones, and new ones with `follow`. */
export const LogRequest = z.object({
  after: z.string().max(100).nullable(),
  tail: z.number().int().min(0).max(10_000),
  follow: z.boolean(),
})
export type LogRequest = z.infer<typeof LogRequest>

/** Every further line of a `logs` stream. */
export const LogLine = z.object({
  cursor: z.string().max(100),
  at: z.coerce.date(),
  stream: z.enum(['stdout', 'stderr']),
  text: z.string(),
})
