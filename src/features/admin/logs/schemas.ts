import { z } from 'zod'

/** Levels in ascending severity. */
export const LogLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LogLevels)[number]

const id = z.coerce.number().int().min(0).optional()

/**
 * Query of `GET /api/admin/logs`: lines of at least `level` that contain `search`, ignoring case. `before` is the
 * previous page's `next`; `after` is the `last` of an earlier response, for following the log.
 */
export const LogQuery = z.object({
  level: z.enum(LogLevels, `level must be ${LogLevels.join(', ')}`).default('trace'),
  search: z.string().trim().toLowerCase().max(200, 'search must be at most 200 characters').default(''),
  limit: z.coerce.number().int().min(1).max(500, 'limit must be at most 500').default(100),
  before: id,
  after: id,
})
export type LogQuery = z.infer<typeof LogQuery>

/** A line of the server log; `fields` are the structured values besides the message. */
export const PlatformLogLine = z.object({
  id: z.number(),
  level: z.enum(LogLevels),
  time: z.string().nullable(),
  message: z.string(),
  fields: z.record(z.string(), z.unknown()),
})
export type PlatformLogLine = z.infer<typeof PlatformLogLine>

/** A page of lines, newest first. `next` is null without older lines; `last` is the id to follow from. */
export const LogPage = z.object({ lines: z.array(PlatformLogLine), next: z.number().nullable(), last: z.number() })
