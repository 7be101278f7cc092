import { Hono, type MiddlewareHandler } from 'hono'
import { answers, Done } from '../../../http/answers.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import { getAgent } from '../registry/agents.ts'
import { Challenge, Verification, VerifiedAgent, VerifyRequest } from './schemas.ts'
import {
  type ChallengeDeps,
  createChallenge,
  findVerification,
  type ProofDeps,
  removeVerification,
  toVerification,
  toVerified,
  verifyAgent,
} from './verify.ts'

/** What an agent's owner has proved about themselves, the same on both faces: a proof is checked, whoever brings it (Interface 4.4). */
export function verificationRoutes(deps: ChallengeDeps & ProofDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()
  const show = (principal: Principal, id: string) => {
    const agent = getAgent(deps.db, principal, id)
    return toVerification(findVerification(deps.db, agent.id))
  }

  app.get('/api/agents/:id/verify', answers({ 200: Verification }, 'not_found'), guard, (c) =>
    c.json(show(c.var.principal, c.req.param('id'))),
  )

  app.get('/api/agents/:id/verification', answers({ 200: Verification }, 'not_found'), guard, (c) =>
    c.json(show(c.var.principal, c.req.param('id'))),
  )

  app.post(
    '/api/agents/:id/verify/challenge',
    answers({ 201: Challenge }, 'not_found'),
    routeTraits({ scope: 'agents' }),
    guard,
    validateAnyBody(NoBody),
    async (c) => c.json(await createChallenge(deps, c.var.principal, c.req.param('id')), 201),
  )

  app.post(
    '/api/agents/:id/verify',
    answers({ 200: VerifiedAgent }, 'not_found', 'unavailable'),
    routeTraits({ scope: 'agents' }),
    guard,
    validate('json', VerifyRequest),
    async (c) => c.json(toVerified(await verifyAgent(deps, c.var.principal, c.req.param('id'), c.req.valid('json')))),
  )

  app.delete(
    '/api/agents/:id/verify',
    answers({ 200: Done }, 'not_found'),
    routeTraits({ scope: 'agents' }),
    guard,
    async (c) => {
      await removeVerification(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}
