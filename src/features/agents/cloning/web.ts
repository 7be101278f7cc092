import { Hono } from 'hono'
import type { TokenPayments } from '../../../adapters/chain/token-payments.ts'
import { VERSION } from '../../../core/version.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { getAgent } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { BookClonePayment } from './clone.ts'
import { CLONE_PRICE, cloneAgent, memoFor, type OpenAgentWallet } from './clone.ts'
import { Cloned, CloneRequest, CloneService } from './schemas.ts'

/** Clone routes of the web API: own agents, paid for on the chain. */
export function cloningWeb(
  deps: Base & {
    clonePayments: TokenPayments
    killSwitch: boolean
    bookClonePayment: BookClonePayment
    openAgentWallet: OpenAgentWallet
    guards: Guards
    idempotency: Idempotency
    requestsPerMinute: { agents: number }
  },
) {
  const app = new Hono<WebEnv>()

  app.use(
    '/api/agents/clone',
    limitRate(() => deps.requestsPerMinute.agents, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/agents/clone',
    endpoint({
      summary: 'Returns the price and requirements of a clone',
      tag: 'Clones',
      responses: { 200: CloneService },
    }),
    async (c) => {
      const { chainId, token, payTo, isConfigured } = deps.clonePayments.terms
      const user = await deps.guards.findUser(c)
      const body: CloneService = {
        service: 'stead-clone',
        version: VERSION,
        protocol: 'x402-tempo',
        clonePrice: CLONE_PRICE,
        chainId,
        configured: isConfigured,
        tokenAddress: token,
        payTo,
        ...(user && { memo: memoFor(deps, user.id) }),
      }
      return c.json(body)
    },
  )

  app.post(
    '/api/agents/clone',
    endpoint({
      summary: 'Clones an agent',
      tag: 'Clones',
      responses: { 200: Cloned },
      errors: ['payment_required', 'not_found', 'conflict', 'limited', 'unavailable'],
      scope: 'agents',
    }),
    deps.guards.signedIn,
    validate('json', CloneRequest),
    deps.idempotency.forUser,
    async (c) => {
      const request = c.req.valid('json')
      const { user, once } = c.var
      const agent = once.made
        ? getAgent(deps.db, { kind: 'user', user }, once.made)
        : await cloneAgent(deps, user, request, once.note)
      return c.json(toCloned(agent, request, await deps.openAgentWallet(user.id, agent.id)))
    },
  )

  return app
}

function toCloned(agent: AgentRow, request: CloneRequest, walletAddress: string): Cloned {
  return {
    success: true,
    agentId: agent.id,
    walletAddress,
    parentAgentId: request.parentAgentId,
    generation: agent.generation,
    transactionHash: request.paymentProof.transactionHash,
    specialization: request.specialization,
    status: agent.status,
    message: `Agent ${agent.name} was cloned and is being deployed`,
  }
}
