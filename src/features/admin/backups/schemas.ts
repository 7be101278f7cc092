import { z } from 'zod'

const Time = z.iso.datetime()
const Schedule = z.object({ cron: z.string(), timeZone: z.string(), nextAt: Time.nullable() })

/** A run; `name` is the file, null before it exists. */
export const BackupRun = z.object({
  id: z.number(),
  kind: z.enum(['backup', 'verify', 'drill', 'restore']),
  name: z.string().nullable(),
  startedAt: Time,
  finishedAt: Time.nullable(),
  sizeBytes: z.number().nullable(),
  error: z.string().nullable(),
  outcome: z.string().nullable(),
})
export type BackupRun = z.infer<typeof BackupRun>

/** `GET /api/admin/backups`: the backups at `BACKUP_TO`, newest first, and the last 20 runs. */
export const BackupOverview = z.object({
  to: z.string(),
  keep: z.object({ days: z.number(), weeks: z.number(), months: z.number() }),
  isSealed: z.boolean(),
  schedule: Schedule.nullable(),
  drillSchedule: Schedule.nullable(),
  lastVerifiedAt: Time.nullable(),
  lastDrilledAt: Time.nullable(),
  backups: z.array(
    z.object({
      name: z.string(),
      sizeBytes: z.number(),
      createdAt: Time.nullable(),
      isSealed: z.boolean(),
      /** The command that restores the whole installation; Stead must be stopped first. */
      restoreCommand: z.string(),
    }),
  ),
  runs: z.array(BackupRun),
  /** Fields set by the environment, which the dashboard cannot change. */
  fixed: z.object({ schedule: z.boolean(), to: z.boolean(), keep: z.boolean() }),
})
export type BackupOverview = z.infer<typeof BackupOverview>

const amount = z.int().min(0).max(9999)
const Keep = z.object({ days: amount, weeks: amount, months: amount })
const text = (field: string) =>
  z.string(`${field} must be text`).trim().max(1000, `${field} must be at most 1000 characters`)

/**
 * `PUT /api/admin/backups`: texts as in the settings, or objects as in the overview. Null restores the default; omitted
 * fields are unchanged.
 */
export const BackupsRequest = z
  .object({
    schedule: z
      .union(
        [
          text('schedule'),
          z.object({ cron: z.string(), timeZone: z.string() }).transform(({ cron, timeZone }) => `${cron} ${timeZone}`),
        ],
        'schedule must be text',
      )
      .nullish(),
    to: text('to').nullish(),
    keep: z
      .union(
        [text('keep'), Keep.transform(({ days, weeks, months }) => `${days}d ${weeks}w ${months}m`)],
        'keep must be text',
      )
      .nullish(),
  })
  .meta({ examples: [{ schedule: '0 3 * * * Europe/Berlin', keep: '7d 4w 6m' }] })
export type BackupsRequest = z.infer<typeof BackupsRequest>

/** Response `202` of a long run; the overview reports its progress. */
export const BackupOrdered = z.object({ run: BackupRun })

/**
 * `POST /api/admin/backups/:name/restore`: replacing an existing agent requires `replace`, and the agent must be
 * stopped.
 */
export const RestoreAgentRequest = z.object({
  agentId: z.string().min(1, 'agentId is required').max(100),
  replace: z.boolean('replace must be true or false').default(false),
})
