import { z } from 'zod'
import { isTimeZone } from '../../../core/time-zone.ts'
import { CurrentPassword, Email, emailText } from '../users/schemas.ts'

const MAX_NOTIFICATIONS = 32

const MAX_NOTIFICATIONS_BYTES = 4096

const Name = z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters')

/**
 * Notification settings under names chosen by the dashboard; limited in size because every settings page loads them.
 */
export const Notifications = z
  .record(z.string().min(1).max(64), z.unknown(), 'Invalid notifications')
  .refine((value) => Object.keys(value).length <= MAX_NOTIFICATIONS, 'Too many notification settings')
  .refine((value) => JSON.stringify(value).length <= MAX_NOTIFICATIONS_BYTES, 'Notification settings are too large')
export type Notifications = z.infer<typeof Notifications>

/**
 * `GET`, `POST` and `PATCH /api/settings`. `pendingEmail` awaits confirmation by a mailed link, `storage` is the use of
 * all agents and the plan's limit in bytes, `timeZone` is null until a browser reports it.
 */
export const Settings = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  plan: z.string(),
  credits: z.number(),
  twoFactorEnabled: z.boolean(),
  emailVerified: z.boolean(),
  pendingEmail: z.string().nullable(),
  hasPassword: z.boolean(),
  notifications: z.record(z.string(), z.unknown()),
  timeZone: z.string().nullable(),
  storage: z.object({ used: z.number(), limit: z.number() }),
})
export type Settings = z.infer<typeof Settings>

/** `POST /api/settings`: an empty name is ignored. A new e-mail requires `currentPassword` or a recent sign-in. */
export const UpdateSettingsRequest = z.object({
  name: Name.optional(),
  email: emailText('Invalid email format').pipe(Email).optional(),
  currentPassword: CurrentPassword.optional(),
})
export type UpdateSettingsRequest = z.infer<typeof UpdateSettingsRequest>

const BAD_TIME_ZONE = 'timeZone must be an IANA time zone such as Europe/Berlin'
const TimeZone = z.string(BAD_TIME_ZONE).max(64, BAD_TIME_ZONE).refine(isTimeZone, BAD_TIME_ZONE)

/** `PATCH /api/settings`: `notifications` is merged by name. */
export const PatchSettingsRequest = z
  .object({ name: Name.optional(), notifications: Notifications.optional(), timeZone: TimeZone.optional() })
  .meta({ examples: [{ notifications: { weeklyReport: true } }, { timeZone: 'Europe/Berlin' }] })
export type PatchSettingsRequest = z.infer<typeof PatchSettingsRequest>
