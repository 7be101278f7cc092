import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal, WebEnv } from '../../../http/env.ts'
import { type InternalKeyGuard, refuseWrongKeyAsUnauthorized } from '../../../http/internal-key.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { createInvite, listInvites, redeemInvite, withdrawInvite } from './invites.ts'
import {
  CreatedInvite,
  CreateInviteRequest,
  InviteList,
  InviteResponse,
  InviteValidity,
  ValidateInviteRequest,
} from './schemas.ts'

/** Invitation routes of the admin pages. */
export function invitesWeb(deps: Base & { guards: Guards; appUrl: string; signUp: { mode: InviteList['signUp'] } }) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards

  app.get(
    '/api/admin/invites',
    endpoint({
      summary: 'Lists the newest invitations without their codes',
      tag: 'Invites and plans',
      responses: { 200: InviteList },
    }),
    admin,
    (c) => c.json({ invites: listInvites(deps.db), signUp: deps.signUp.mode }),
  )

  app.post(
    '/api/admin/invites',
    endpoint({
      summary: 'Creates an invitation and returns its code once',
      tag: 'Invites and plans',
      responses: { 201: CreatedInvite },
    }),
    admin,
    validateAnyBody(CreateInviteRequest),
    async (c) => {
      const code = await createInvite(deps, c.var.user.id, c.req.valid('json').plan ?? null)
      return c.json({ code, url: `${deps.appUrl}/signup?invite=${code}` }, 201)
    },
  )

  app.delete(
    '/api/admin/invites/:id',
    endpoint({
      summary: 'Revokes an unused invitation',
      tag: 'Invites and plans',
      responses: { 200: Done },
      errors: ['not_found'],
    }),
    admin,
    async (c) => {
      await withdrawInvite(deps, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}

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
