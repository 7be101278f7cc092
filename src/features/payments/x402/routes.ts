import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { OnceEnv, SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { ColonyReads } from './gateway.ts'
import { type PayDeps, parsePayRequest, pay } from './pay.ts'
import { GatewayWords, X402Request, X402Result } from './schemas.ts'

type X402WebDeps = PayDeps & {
  colony: ColonyReads
  guards: Guards
  idempotency: Idempotency
  requestsPerMinute: { gateway: number }
}

const WALLET_ADDRESS = /^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
const INVALID_ACTION = 'Invalid action. Use: join-colony, fitness, pricing, endpoints, or pay'
const MAX_ID = 100

/** The payment gateway: that of `X402_GATEWAY_URL`, else the built-in one. */
export function x402Web(deps: X402WebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { colony, guards } = deps

  app.use(
    '/api/x402',
    limitRate(() => deps.requestsPerMinute.gateway, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/x402',
    endpoint({
      summary: 'Returns the status of the payment gateway',
      tag: 'Paid gateway',
      responses: { 200: GatewayWords },
      errors: ['unavailable'],
    }),
    async (c) => c.json(await colony.health()),
  )

  /** Every action but `endpoints` needs a user. */
  const enter = createMiddleware<WebEnv>(async (c, next) => {
    const user = await guards.findUser(c)
    if (!user) throw new AppError('unauthenticated', 'Authentication required', { success: false })
    c.set('user', user)
    c.set('holder', user.id)
    await next()
  })

  app.post(
    '/api/x402',
    endpoint({
      summary: 'Joins, rates, prices or pays, by action',
      tag: 'Paid gateway',
      responses: { 200: X402Result, 202: GatewayWords },
      errors: [
        'unauthenticated',
        'payment_required',
        'not_found',
        'conflict',
        'internal',
        'upstream_failed',
        'upstream_timeout',
        'unavailable',
      ],
      scope: 'payments',
    }),
    validate('json', X402Request),
    async (c, next) => {
      if (c.req.valid('json').action !== 'endpoints') return next()
      return c.json({ success: true, endpoints: await colony.endpoints() })
    },
    enter,
    (c, next) => (c.req.valid('json').action === 'pay' ? deps.idempotency.forUser(c, next) : next()),
    async (c) => {
      const body = c.req.valid('json')
      const { user } = c.var
      const agentId = requireAgentId(body)
      switch (body.action) {
        case 'join-colony':
          requireOwn(deps, user, agentId)
          return c.json(await colony.join({ agentId, ...readMember(body) }))
        case 'fitness':
          requireOwn(deps, user, agentId)
          return c.json(await colony.fitness(agentId))
        case 'pricing':
          requireOwn(deps, user, agentId)
          return c.json(await colony.pricing(agentId))
        case 'pay': {
          const request = parsePayRequest(body, agentId)
          requireOwn(deps, user, agentId)
          const hasKey = c.req.header('idempotency-key') !== undefined
          const attempt = { user, request, once: c.var.once, address: c.env.address, hasKey }
          const { body: answer, isWaiting } = await pay(deps, attempt)
          return c.json(answer, isWaiting ? 202 : 200)
        }
        default:
          throw new AppError('invalid', INVALID_ACTION)
      }
    },
  )

  return app
}

function requireAgentId({ agentId }: X402Request): string {
  if (typeof agentId !== 'string' || agentId === '' || agentId.length > MAX_ID) {
    throw new AppError('invalid', 'agentId required')
  }
  return agentId
}

function readMember({ walletAddress, designation }: X402Request) {
  if (typeof walletAddress !== 'string' || walletAddress === '') throw new AppError('invalid', 'walletAddress required')
  if (!WALLET_ADDRESS.test(walletAddress)) throw new AppError('invalid', 'Invalid wallet address')
  return { walletAddress, ...(typeof designation === 'string' && { designation: designation.slice(0, MAX_ID) }) }
}

/**
 * Requires one of the user's agents; an external gateway may know agents without a row here.
 * @throws AppError `not_found`.
 */
function requireOwn({ db, colonyUpstream }: X402WebDeps, user: SignedInUser, agentId: string): void {
  const agent = db.select({ ownerId: agents.ownerId }).from(agents).where(eq(agents.id, agentId)).get()
  if (agent ? agent.ownerId === user.id : colonyUpstream !== null) return
  throw new AppError('not_found', 'Agent not found')
}
