import { Hono } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Exports, sendExport } from '../../../http/streams/exports.ts'
import { validate } from '../../../http/validate.ts'
import type { Passwords } from '../../accounts/passwords/passwords.ts'
import { clearSessionCookie, readSessionToken } from '../../accounts/sessions/start-session.ts'
import type { Base } from '../../base.ts'
import { deleteAccount } from './delete-account.ts'
import { exportAccount } from './export.ts'
import { DeleteAccountRequest } from './schemas.ts'

/** Serves the export and the deletion of the user's own account. */
export function personalDataWeb(
  deps: Base & {
    passwords: Passwords
    guards: Guards
    exports: Exports
    isHttps: boolean
    requestsPerMinute: { password: number }
  },
) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards
  const seldom = () => limitRate(() => deps.requestsPerMinute.password, 'Too many requests')

  app.get(
    '/api/settings/export',
    endpoint({
      summary: 'Exports all data of your account',
      tag: 'Account',
      responses: { 200: 'application/json' },
      errors: ['not_found'],
    }),
    withSession,
    seldom(),
    (c) =>
      sendExport(c, deps, () => ({
        name: 'stead-account.json',
        type: 'application/json; charset=utf-8',
        pieces: exportAccount(deps, c.var.user.id),
      })),
  )

  app.delete(
    '/api/settings/account',
    endpoint({
      summary: 'Deletes your account and its data',
      tag: 'Account',
      responses: { 200: Done },
      errors: ['not_found', 'limited'],
    }),
    withSession,
    seldom(),
    validate('json', DeleteAccountRequest),
    async (c) => {
      const caller = { userId: c.var.user.id, sessionToken: readSessionToken(c) }
      await deleteAccount(deps, caller, c.req.valid('json'))
      clearSessionCookie(c, deps)
      return c.json({ success: true })
    },
  )

  return app
}
