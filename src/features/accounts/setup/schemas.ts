import { z } from 'zod'
import { RegisterRequest } from '../accounts/schemas.ts'

/** `POST /api/setup`: the first account, by the token of the link that the start has printed. */
export const SetupRequest = RegisterRequest.pick({ email: true, password: true, name: true }).extend({
  token: z.string('This setup link is not complete').min(1, 'This setup link is not complete').max(512),
})
export type SetupRequest = z.infer<typeof SetupRequest>

/** `GET /api/setup`: is there no account yet? */
export const SetupResponse = z.object({ isNeeded: z.boolean() })
export type SetupResponse = z.infer<typeof SetupResponse>
