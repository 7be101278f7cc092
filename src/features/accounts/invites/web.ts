import { Hono } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { createInvite, listInvites, withdrawInvite } from './invites.ts'
import { CreatedInvite, CreateInviteRequest, InviteList } from './schemas.ts'

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
