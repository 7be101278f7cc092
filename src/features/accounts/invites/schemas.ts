import { z } from 'zod'

/** `POST /api/invite/generate`. */
export const InviteResponse = z.object({ code: z.string() })
export type InviteResponse = z.infer<typeof InviteResponse>

/** `POST /api/invite/validate`. A missing or non-text `code` is an invalid code, not a bad request. */
export const ValidateInviteRequest = z.object({ code: z.string().catch('') }).catch({ code: '' })
export type ValidateInviteRequest = z.infer<typeof ValidateInviteRequest>

/** `POST /api/invite/validate`. */
export const InviteValidity = z.object({ valid: z.boolean() })

/**
 * `POST /api/admin/invites`: `plan` is the plan of the new account; the default plan when missing, no plan for `free`.
 */
export const CreateInviteRequest = z
  .object({ plan: z.string('plan must be text').max(40, 'plan must be at most 40 characters').nullish() })
  .meta({ examples: [{ plan: 'solo' }] })

/** An invitation without its code; `createdBy` is an address, `operator` or `cli`; `plan` is null for the default plan. */
export const Invite = z.object({
  id: z.string(),
  createdBy: z.string(),
  createdAt: z.string(),
  usedAt: z.string().nullable(),
  plan: z.string().nullable(),
})
export type Invite = z.infer<typeof Invite>

/** `GET /api/admin/invites`: the newest 100. `signUp` is the sign-up mode. */
export const InviteList = z.object({ invites: z.array(Invite), signUp: z.enum(['open', 'invite', 'closed']) })
export type InviteList = z.infer<typeof InviteList>

/** `POST /api/admin/invites`: the code and a link with the code filled in, returned only once. */
export const CreatedInvite = z.object({ code: z.string(), url: z.string() })
export type CreatedInvite = z.infer<typeof CreatedInvite>
