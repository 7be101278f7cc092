import { Hono } from 'hono'
import { NoBody } from '../../../core/action.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { getAgent } from '../registry/list.ts'
import { type ChallengeDeps, createChallenge } from './challenge.ts'
import type { ProofDeps } from './proofs.ts'
import { VerifyRequest } from './schemas.ts'
import { findVerification, removeVerification, toVerification, toVerified, verifyAgent } from './verify.ts'

/** What an agent's owner has proved about themselves, for that owner (Interface 4.4). */
export function verificationWeb(deps: ChallengeDeps & ProofDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const show = (user: SignedInUser, id: string) => {
    const agent = getAgent(deps.db, { kind: 'user', user }, id)
    return toVerification(findVerification(deps.db, agent.id))
  }

  app.get('/api/agents/:id/verify', signedIn, (c) => c.json(show(c.var.user, c.req.param('id'))))

  app.get('/api/agents/:id/verification', signedIn, (c) => c.json(show(c.var.user, c.req.param('id'))))

  app.post(
    '/api/agents/:id/verify/challenge',
    routeTraits({ scope: 'agents' }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => c.json(await createChallenge(deps, { kind: 'user', user: c.var.user }, c.req.param('id')), 201),
  )

  app.post(
    '/api/agents/:id/verify',
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', VerifyRequest),
    async (c) => {
      const principal = { kind: 'user', user: c.var.user } as const
      return c.json(toVerified(await verifyAgent(deps, principal, c.req.param('id'), c.req.valid('json'))))
    },
  )

  app.delete('/api/agents/:id/verify', routeTraits({ scope: 'agents' }), signedIn, async (c) => {
    await removeVerification(deps, { kind: 'user', user: c.var.user }, c.req.param('id'))
    return c.json({ success: true })
  })

  return app
}
