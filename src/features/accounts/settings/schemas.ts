import { z } from 'zod'
import { isTimeZone } from '../../../core/time-zone.ts'
import { CurrentPassword, Email, emailText } from '../users/schemas.ts'

const MAX_NOTIFICATIONS = 32

const MAX_NOTIFICATIONS_BYTES = 4096

const Name = z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters')

/** What a person wants to be told of, by names that the dashboard chooses; small, because every settings page loads it. */
export const Notifications = z
  .record(z.string().min(1).max(64), z.unknown(), 'Invalid notifications')
  .refine((value) => Object.keys(value).length <= MAX_NOTIFICATIONS, 'Too many notification settings')
  .refine((value) => JSON.stringify(value).length <= MAX_NOTIFICATIONS_BYTES, 'Notification settings are too large')
export type Notifications = z.infer<typeof Notifications>

/**
 * `GET`, `POST` and `PATCH /api/settings` (Interface 4.2). `pendingEmail` waits for the link that was mailed to it, `storage` is
 * what all agents of the account take of the plan's space, in bytes. `timeZone` is null until a
 * browser has reported it.
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

/** `POST /api/settings`: an empty name is ignored. A new e-mail needs `currentPassword`, unless one has just signed in. */
export const UpdateSettingsRequest = z.object({
  name: Name.optional(),
  email: emailText('Invalid email format').pipe(Email).optional(),
  currentPassword: CurrentPassword.optional(),
})
export type UpdateSettingsRequest = z.infer<typeof UpdateSettingsRequest>

const BAD_TIME_ZONE = 'timeZone must be an IANA time zone such as Europe/Berlin'
const TimeZone = z.string(BAD_TIME_ZONE).max(64, BAD_TIME_ZONE).refine(isTimeZone, BAD_TIME_ZONE)

/** `PATCH /api/settings`: the notification settings that are named here replace those of the same name. */
export const PatchSettingsRequest = z
  .object({ name: Name.optional(), notifications: Notifications.optional(), timeZone: TimeZone.optional() })
  .meta({ examples: [{ notifications: { weeklyReport: true } }, { timeZone: 'Europe/Berlin' }] })
export type PatchSettingsRequest = z.infer<typeof PatchSettingsRequest>
