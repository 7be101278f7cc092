import { z } from 'zod'

/** `POST /api/invite/generate`. */
export const InviteResponse = z.object({ code: z.string() })
export type InviteResponse = z.infer<typeof InviteResponse>

/** `POST /api/invite/validate`. What has no `code`, or one that is no text, is an invalid code and not a bad request. */
export const ValidateInviteRequest = z.object({ code: z.string().catch('') }).catch({ code: '' })
export type ValidateInviteRequest = z.infer<typeof ValidateInviteRequest>

/** `POST /api/invite/validate`. */
export const InviteValidity = z.object({ valid: z.boolean() })
