import { Hono, type MiddlewareHandler } from 'hono'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { getAgent } from '../registry/agents.ts'
import { Verification, VerificationChallenge, VerifiedAgent, VerifyAgentRequest } from './schemas.ts'
import {
  createChallenge,
  findVerification,
  type ProofDeps,
  removeVerification,
  toVerification,
  toVerified,
  verifyAgent,
} from './verify.ts'

/** Verification routes of an agent's owner, shared by both APIs. */
export function verificationRoutes(deps: Base & ProofDeps & { appUrl: string }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()
  const show = (principal: Principal, id: string) => {
    const agent = getAgent(deps.db, principal, id)
    return toVerification(findVerification(deps.db, agent.id))
  }

  app.get(
    '/api/agents/:id/verify',
    endpoint({
      summary: 'Returns the proof of an agent',
      tag: 'Verification',
      responses: { 200: Verification },
      errors: ['not_found'],
    }),
    guard,
    (c) => c.json(show(c.var.principal, c.req.param('id'))),
  )

  app.get(
    '/api/agents/:id/verification',
    endpoint({
      summary: 'Returns the proof of an agent',
      tag: 'Verification',
      responses: { 200: Verification },
      errors: ['not_found'],
    }),
    guard,
    (c) => c.json(show(c.var.principal, c.req.param('id'))),
  )

  app.post(
    '/api/agents/:id/verify/challenge',
    endpoint({
      summary: 'Creates the text that a wallet signs',
      tag: 'Verification',
      responses: { 201: VerificationChallenge },
      errors: ['not_found'],
      scope: 'agents',
    }),
    guard,
    validateAnyBody(NoBody),
    async (c) => c.json(await createChallenge(deps, c.var.principal, c.req.param('id')), 201),
  )

  app.post(
    '/api/agents/:id/verify',
    endpoint({
      summary: 'Verifies and saves a proof',
      tag: 'Verification',
      responses: { 200: VerifiedAgent },
      errors: ['not_found', 'unavailable'],
      scope: 'agents',
    }),
    guard,
    validate('json', VerifyAgentRequest),
    async (c) => c.json(toVerified(await verifyAgent(deps, c.var.principal, c.req.param('id'), c.req.valid('json')))),
  )

  app.delete(
    '/api/agents/:id/verify',
    endpoint({
      summary: 'Removes the proof of an agent',
      tag: 'Verification',
      responses: { 200: Done },
      errors: ['not_found'],
      scope: 'agents',
    }),
    guard,
    async (c) => {
      await removeVerification(deps, c.var.principal, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}
