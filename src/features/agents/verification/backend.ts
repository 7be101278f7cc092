import { Hono, type MiddlewareHandler } from 'hono'
import { NoBody } from '../../../core/action.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { getAgent } from '../registry/list.ts'
import { createChallenge } from './challenge.ts'
import type { ProofDeps } from './proofs.ts'
import { VerifyRequest } from './schemas.ts'
import { findVerification, removeVerification, toVerification, toVerified, verifyAgent } from './verify.ts'

export type VerificationBackendDeps = ProofDeps & { appUrl: string; internalKey: MiddlewareHandler<BackendEnv> }

/** The same for services, behind the internal key: a proof is checked, whoever brings it (Interface 4.4). */
export function verificationBackend(deps: VerificationBackendDeps) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps
  const show = (principal: Principal, id: string) => {
    const agent = getAgent(deps.db, principal, id)
    return toVerification(findVerification(deps.db, agent.id))
  }

  app.get('/api/agents/:id/verify', internalKey, (c) => c.json(show(c.var.principal, c.req.param('id'))))

  app.get('/api/agents/:id/verification', internalKey, (c) => c.json(show(c.var.principal, c.req.param('id'))))

  app.post('/api/agents/:id/verify/challenge', internalKey, validateAnyBody(NoBody), async (c) =>
    c.json(await createChallenge(deps, c.var.principal, c.req.param('id')), 201),
  )

  app.post('/api/agents/:id/verify', internalKey, validate('json', VerifyRequest), async (c) =>
    c.json(toVerified(await verifyAgent(deps, c.var.principal, c.req.param('id'), c.req.valid('json')))),
  )

  app.delete('/api/agents/:id/verify', internalKey, async (c) => {
    await removeVerification(deps, c.var.principal, c.req.param('id'))
    return c.json({ success: true })
  })

  return app
}
