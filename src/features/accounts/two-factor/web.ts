import type { Context } from 'hono'
import { Hono } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { readSessionToken } from '../sessions/start-session.ts'
import {
  RecoveryCodes,
  TwoFactorCodeRequest,
  TwoFactorDisableRequest,
  TwoFactorSetup,
  TwoFactorSetupRequest,
  TwoFactorStatus,
} from './schemas.ts'
import {
  type Actor,
  disableTwoFactor,
  enableTwoFactor,
  getTwoFactor,
  renewRecoveryCodes,
  setUpTwoFactor,
} from './two-factor.ts'

/** Two-factor settings routes of the web API: session cookie only. */
export function twoFactorWeb(
  deps: Base & { passwords: Passwords; guards: Guards; requestsPerMinute: { password: number } },
) {
  const app = new Hono<WebEnv>()
  const { withSession } = deps.guards
  const limited = limitRate(() => deps.requestsPerMinute.password, 'Too many requests')

  app.get(
    '/api/settings/two-factor',
    endpoint({
      summary: 'Returns whether two-factor is enabled',
      tag: 'Account',
      responses: { 200: TwoFactorStatus },
      errors: ['not_found'],
    }),
    withSession,
    (c) => c.json(getTwoFactor(deps.db, c.var.user.id)),
  )

  app.post(
    '/api/settings/two-factor/setup',
    endpoint({
      summary: 'Starts two-factor setup',
      tag: 'Account',
      responses: { 200: TwoFactorSetup },
      errors: ['not_found', 'conflict', 'limited'],
      worksOnFullDisk: true,
    }),
    limited,
    withSession,
    validate('json', TwoFactorSetupRequest),
    async (c) =>
      c.json(
        await setUpTwoFactor(deps, { userId: c.var.user.id, sessionToken: readSessionToken(c) }, c.req.valid('json')),
      ),
  )

  app.post(
    '/api/settings/two-factor/enable',
    endpoint({
      summary: 'Enables two-factor authentication',
      tag: 'Account',
      responses: { 200: RecoveryCodes },
      errors: ['not_found', 'conflict', 'limited'],
      worksOnFullDisk: true,
    }),
    limited,
    withSession,
    validate('json', TwoFactorCodeRequest),
    async (c) => c.json({ recoveryCodes: await enableTwoFactor(deps, actorOf(c), c.req.valid('json').code) }),
  )

  app.post(
    '/api/settings/two-factor/disable',
    endpoint({
      summary: 'Disables two-factor authentication',
      tag: 'Account',
      responses: { 200: Done },
      errors: ['not_found', 'conflict', 'limited'],
      worksOnFullDisk: true,
    }),
    limited,
    withSession,
    validate('json', TwoFactorDisableRequest),
    async (c) => {
      await disableTwoFactor(deps, actorOf(c), c.req.valid('json'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/settings/two-factor/recovery-codes',
    endpoint({
      summary: 'Replaces your recovery codes',
      tag: 'Account',
      responses: { 200: RecoveryCodes },
      errors: ['not_found', 'conflict', 'limited'],
      worksOnFullDisk: true,
    }),
    limited,
    withSession,
    validate('json', TwoFactorCodeRequest),
    async (c) => c.json({ recoveryCodes: await renewRecoveryCodes(deps, actorOf(c), c.req.valid('json').code) }),
  )

  return app
}

function actorOf(c: Context<WebEnv>): Actor {
  return { userId: c.var.user.id, sessionToken: readSessionToken(c), address: c.env.address }
}
