import { z } from 'zod'
import { Email, emailText } from '../../accounts/users/schemas.ts'

const MAX_PAGE = 200

const page = (size: number) =>
  z.coerce.number().int().min(1).max(MAX_PAGE, `limit must be at most ${MAX_PAGE}`).default(size)

/**
 * Query of `GET /api/admin/users`: `search` matches a part of an address or a name, `after` is the previous page's
 * `next`.
 */
export const UserQuery = z.object({
  search: z.string().trim().toLowerCase().max(254).default(''),
  limit: page(50),
  after: z.string().max(64).optional(),
})
export type UserQuery = z.infer<typeof UserQuery>

/**
 * Request of `PATCH /api/admin/users/:id`. A plan without a status counts as an active subscription, `free` as none.
 * Disabling ends all sessions.
 */
export const AccountChange = z
  .object({
    disabled: z.boolean('disabled must be true or false').optional(),
    plan: z.string('plan must be text').max(40, 'plan must be at most 40 characters').optional(),
    subscriptionStatus: z
      .enum(
        ['inactive', 'active', 'past_due', 'canceled'],
        'subscriptionStatus must be inactive, active, past_due or canceled',
      )
      .optional(),
    credits: z
      .int('credits must be a whole number')
      .min(0, 'credits must not be negative')
      .max(1_000_000_000, 'credits must be at most 1000000000')
      .optional(),
    emailVerified: z.boolean('emailVerified must be true or false').optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), { error: 'Nothing to change' })
export type AccountChange = z.infer<typeof AccountChange>

/** An account as an administrator sees it, without hashes and secrets. */
export const AdminUser = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  plan: z.string(),
  subscriptionStatus: z.string(),
  credits: z.number(),
  isAdmin: z.boolean(),
  emailVerified: z.boolean(),
  twoFactorEnabled: z.boolean(),
  disabled: z.boolean(),
  externalSignInDisabled: z.boolean(),
  createdAt: z.string(),
})
export type AdminUser = z.infer<typeof AdminUser>

/** A page of accounts; `next` is null on the last page. */
export const AdminUserList = z.object({ users: z.array(AdminUser), next: z.string().nullable() })

/** One account with counts of its data. */
export const AdminUserDetail = AdminUser.extend({
  hasPassword: z.boolean(),
  sessions: z.number(),
  apiKeys: z.number(),
  agents: z.number(),
  identities: z.array(z.object({ provider: z.string(), email: z.string() })),
})
export type AdminUserDetail = z.infer<typeof AdminUserDetail>

/**
 * Request of `POST /api/admin/users`: `plan` replaces the default plan; with `sendMail: false` the link is returned,
 * not mailed.
 */
export const CreateUserRequest = z
  .object({
    email: emailText('email is required').pipe(Email),
    name: z.string('name must be text').trim().max(100, 'name must be at most 100 characters').optional(),
    plan: z.string('plan must be text').max(40, 'plan must be at most 40 characters').optional(),
    sendMail: z.boolean('sendMail must be true or false').default(true),
  })
  .meta({ examples: [{ email: 'grace@example.com', name: 'Grace', plan: 'solo' }] })
export type CreateUserRequest = z.infer<typeof CreateUserRequest>

/**
 * Response of `POST /api/admin/users`: the new user sets a password at `url`, which is shown only here; null when it
 * was mailed.
 */
export const CreatedUser = z.object({
  user: AdminUser,
  mailed: z.boolean(),
  url: z.string().nullable(),
  expiresAt: z.iso.datetime(),
})
export type CreatedUser = z.infer<typeof CreatedUser>

/** Response of `GET /api/admin/users/:id`. */
export const OneAdminUser = z.object({ user: AdminUserDetail })
/** Response of `PATCH /api/admin/users/:id`. */
export const ChangedAdminUser = z.object({ user: AdminUser })
/** Response of `DELETE /api/admin/users/:id/sessions`; `ended` is the number of sessions. */
export const EndedSessions = z.object({ success: z.literal(true), ended: z.number() })
