import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import { hasAccounts } from '../accounts/register.ts'
import { RegisterResponse } from '../accounts/schemas.ts'
import { SetupRequest, SetupResponse } from './schemas.ts'
import { type SetupDeps, setUp } from './set-up.ts'

export type SetupWebDeps = SetupDeps & { requestsPerMinute: { register: number } }

/** The first account of a new installation (decisions, 44). */
export function setupWeb(deps: SetupWebDeps) {
  const app = new Hono<WebEnv>()
  const limited = () => limitRate(() => deps.requestsPerMinute.register, 'Too many requests')

  app.get(
    '/api/setup',
    endpoint({ summary: 'Returns whether setup is still needed', tag: 'Sign-in', responses: { 200: SetupResponse } }),
    limited(),
    (c) => {
      const response: SetupResponse = { isNeeded: !hasAccounts(deps.db) }
      return c.json(response)
    },
  )

  app.post(
    '/api/setup',
    endpoint({
      summary: 'Creates the first account, the administrator',
      tag: 'Sign-in',
      responses: { 200: RegisterResponse },
      errors: ['conflict'],
      signsIn: true,
    }),
    limited(),
    validate('json', SetupRequest),
    async (c) => {
      const { id, email, name } = await setUp(deps, c.req.valid('json'), c.env.address)
      return c.json({ id, email, name })
    },
  )

  return app
}
