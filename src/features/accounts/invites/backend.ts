import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { type InternalKeyGuard, refuseWrongKeyAsUnauthorized } from '../../../http/internal-key.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { createInvite, redeemInvite } from './invites.ts'
import { InviteResponse, InviteValidity, ValidateInviteRequest } from './schemas.ts'

/** Invitation routes of the backend API: the operator creates codes, any caller redeems one. */
export function invitesBackend(
  deps: Base & { internalKey: InternalKeyGuard; requestsPerMinute: { register: number } },
) {
  const app = new Hono<BackendEnv>()

  app.post(
    '/api/invite/generate',
    endpoint({
      summary: 'Creates an invite code',
      tag: 'Invites and plans',
      responses: { 200: InviteResponse },
      errors: ['limited'],
    }),
    refuseWrongKeyAsUnauthorized(deps.internalKey),
    async (c) => c.json({ code: await createInvite(deps, requireInviter(c.var.principal)) }),
  )

  app.post(
    '/api/invite/validate',
    endpoint({
      summary: 'Checks an invite code',
      tag: 'Invites and plans',
      responses: { 200: InviteValidity },
      worksOnFullDisk: true,
    }),
    limitRate(() => deps.requestsPerMinute.register, 'Too many requests'),
    validate('json', ValidateInviteRequest),
    async (c) => {
      const { code } = c.req.valid('json')
      const valid = (await write(deps.db, (tx) => redeemInvite(tx, code, deps.clock.now()))) !== null
      return c.json({ valid }, valid ? 200 : 400)
    },
  )

  return app
}

/** Returns the creator of the invitation. @throws AppError `forbidden` for a user who is not an admin. */
function requireInviter(principal: Principal): string {
  if (principal.kind === 'operator') return 'operator'
  if (!principal.user.isAdmin) throw new AppError('forbidden', 'Forbidden')
  return principal.user.id
}
