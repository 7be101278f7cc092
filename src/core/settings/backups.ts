import { Cron } from 'croner'
import { z } from 'zod'
import { url } from './forms.ts'

const SCHEDULE = /^((?:\S+\s+){4}\S+?)(?:\s+([A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*))?$/
const S3_ADDRESS = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/.*)?$/
const KEEP = /^(?:(\d{1,4})d)?(?:\s*(\d{1,4})w)?(?:\s*(\d{1,4})m)?\s*$/

/** A cron expression of five fields and an IANA time zone. */
export type BackupSchedule = { cron: string; timeZone: string }
/** The number of days, weeks and months whose newest backup is kept. */
export type BackupKeep = { days: number; weeks: number; months: number }

/** Parses a schedule. @returns null for one that is invalid or never due. */
export function parseSchedule(text: string): BackupSchedule | null {
  const [, cron = '', timeZone = 'UTC'] = SCHEDULE.exec(text.trim()) ?? []
  return findNext({ cron, timeZone }, new Date(0)) === null ? null : { cron, timeZone }
}

/** Parses a text such as `7d 4w 6m`. @returns null for an invalid one and for zero backups. */
export function parseKeep(text: string): BackupKeep | null {
  const [match, days = '0', weeks = '0', months = '0'] = KEEP.exec(text.trim()) ?? []
  const keep = { days: Number(days), weeks: Number(weeks), months: Number(months) }
  return match === undefined || keep.days + keep.weeks + keep.months === 0 ? null : keep
}

/** Returns whether a text is a folder or the address of a bucket. */
export function isBackupPlace(to: string): boolean {
  return !/^\w+:\/\//.test(to) || S3_ADDRESS.test(to)
}

export const BAD_SCHEDULE = 'must be five cron fields and a time zone, such as 0 3 * * * Europe/Berlin'
export const BAD_KEEP = 'must say how many days, weeks and months, such as 7d 4w 6m'
const BAD_PLACE = 'must be a folder, or s3://bucket/prefix'

const schedule = z.string().transform((text, context): BackupSchedule => {
  const parsed = parseSchedule(text)
  if (!parsed) context.addIssue(BAD_SCHEDULE)
  return parsed ?? { cron: '', timeZone: 'UTC' }
})

/** Scheduled backups of the whole installation. */
export const BACKUPS = {
  BACKUP_SCHEDULE: schedule.optional().meta({
    description: 'Schedule of automatic backups: five cron fields and a time zone, such as `0 3 * * * Europe/Berlin`',
    otherwise: 'never',
    form: 'cron and time zone',
  }),
  BACKUP_DRILL_SCHEDULE: schedule.optional().meta({
    description:
      'Schedule of restore tests of the newest backup in a temporary folder; administrators are notified of failures',
    otherwise: 'never',
    form: 'cron and time zone',
  }),
  BACKUP_KEEP: z
    .string()
    .default('7d 4w 6m')
    .transform((text, context): BackupKeep => {
      const parsed = parseKeep(text)
      if (!parsed) context.addIssue(BAD_KEEP)
      return parsed ?? { days: 0, weeks: 0, months: 0 }
    })
    .meta({
      description: 'Number of days, weeks and months whose newest scheduled backup is kept',
      form: 'such as `7d 4w 6m`',
    }),
  BACKUP_TO: z.string().min(1).refine(isBackupPlace, BAD_PLACE).optional().meta({
    description: 'Folder or `s3://bucket/prefix` for backups, preferably on another disk or machine',
    otherwise: '`backups` below `OBJECTS_URL`',
    form: 'folder or `s3://bucket/prefix`',
  }),
  S3_ENDPOINT: url.optional().meta({
    description: 'S3 server, if it is not AWS',
    otherwise: 'AWS in `S3_REGION`',
  }),
  S3_REGION: z.string().min(1).default('us-east-1').describe('S3 region'),
  S3_ACCESS_KEY_ID: z
    .string()
    .min(1)
    .optional()
    .describe('S3 access key that may read, write, list and delete below the prefix'),
  S3_SECRET_ACCESS_KEY: z.string().min(1).optional().describe('S3 secret key'),
  BACKUP_PASSPHRASE: z.string().min(12, 'must have at least 12 characters').optional().meta({
    description: 'Encrypts backups in the age format; a lost passphrase makes them unreadable',
    otherwise: 'not encrypted',
  }),
}

/** Returns the next time after `after`, null when the schedule is invalid or never due. */
export function findNext({ cron, timeZone }: BackupSchedule, after: Date): Date | null {
  try {
    return new Cron(cron, { timezone: timeZone, paused: true, mode: '5-part' }).nextRun(after)
  } catch {
    return null
  }
}
