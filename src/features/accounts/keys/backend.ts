import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { ValidKey } from './schemas.ts'
import { FEATURES, type VerifyKey } from './verify.ts'

/** Key validation for installers and services: the bearer is the key itself. */
export function keysBackend(deps: { verifyKey: VerifyKey }) {
  const app = new Hono<BackendEnv>()

  app.post(
    '/api/validate-key',
    endpoint({
      summary: "Returns the owner of an installer's key",
      tag: 'Keys',
      responses: { 200: ValidKey },
      errors: ['unauthenticated', 'forbidden'],
      worksOnFullDisk: true,
    }),
    (c) => {
      const key = readBearer(c.req.header('authorization'))
      if (!key) throw new AppError('unauthenticated', 'Missing API key', { valid: false })
      const user = deps.verifyKey(key, c.env)
      if (!user) throw new AppError('unauthenticated', 'Invalid API key', { valid: false })
      return c.json({ valid: true, userId: user.id, plan: user.plan, features: FEATURES })
    },
  )

  return app
}
