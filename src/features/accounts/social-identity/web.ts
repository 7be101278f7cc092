import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { validate } from '../../../http/validate.ts'
import type { TokenGate } from './gate.ts'
import {
  DescribedGateOutcome,
  EndpointDescription,
  GateQuery,
  GateRequest,
  RefreshedSession,
  RefreshRequest,
  SocialSession,
  StatedGateOutcome,
  VerifyIdentityRequest,
} from './schemas.ts'
import { SESSION_SECONDS, type SocialId, type SocialTokenIssuer } from './tokens.ts'

const onFullDisk: RouteOptions = { worksOnFullDisk: true }

const VERIFY = '/api/auth/social-id/verify'
const REFRESH = '/api/auth/social-id/refresh'

const howToVerifyAnswers: Responses = { responses: { 200: EndpointDescription } }
const verifyAnswers: Responses = { responses: { 200: SocialSession }, errors: ['unauthenticated', 'unavailable'] }
const howToRefreshAnswers: Responses = { responses: { 200: EndpointDescription } }
const refreshAnswers: Responses = { responses: { 200: RefreshedSession }, errors: ['unauthenticated', 'unavailable'] }
const describeGateAnswers: Responses = { responses: { 200: DescribedGateOutcome }, errors: ['unavailable'] }
const stateGateAnswers: Responses = { responses: { 200: StatedGateOutcome }, errors: ['unavailable'] }

/** Social identity and token gating routes, open to all callers. */
export function socialIdentityWeb(deps: {
  clock: Clock
  socialId: SocialId
  socialTokens: SocialTokenIssuer
  tokenGate: TokenGate
  requestsPerMinute: { login: number }
}) {
  const app = new Hono<WebEnv>()
  const { tokenGate } = deps
  const limit = limitRate(() => deps.requestsPerMinute.login, 'Too many requests')

  app.get(
    '/api/auth/social-id/verify',
    endpoint({ summary: 'Describes how to verify a social identity', tag: 'Identity', ...howToVerifyAnswers }),
    (c) =>
      c.json({
        endpoint: VERIFY,
        methods: ['POST'],
        description: 'Verifies a signed social identity token and gives session and refresh tokens for it.',
        required: ['fidToken'],
        optional: ['address'],
      }),
  )

  app.post(
    '/api/auth/social-id/verify',
    endpoint({
      summary: 'Verifies a social identity and returns tokens',
      tag: 'Identity',
      ...verifyAnswers,
      ...onFullDisk,
    }),
    limit,
    validate('json', VerifyIdentityRequest),
    async (c) => {
      const { fidToken, address = null } = c.req.valid('json')
      if (!fidToken) throw new AppError('unauthenticated', 'Missing Farcaster ID token')
      const sub = await deps.socialId.verify(fidToken)
      const isGated = address !== null
      if (isGated && !(await tokenGate.isOpenFor(address))) throw gateRefusal(tokenGate)
      return c.json({
        success: true,
        ...deps.socialTokens.issue({ sub, address }),
        address,
        message: 'Social identity verification successful',
        tokenGated: isGated,
        accessLevel: isGated ? 'premium' : 'basic',
      })
    },
  )

  app.get(
    '/api/auth/social-id/refresh',
    endpoint({ summary: 'Describes how to refresh the tokens', tag: 'Identity', ...howToRefreshAnswers }),
    (c) =>
      c.json({
        endpoint: REFRESH,
        methods: ['POST'],
        description: 'Gives a new session token for a refresh token, which is used up, and a new refresh token.',
        required: ['refreshToken'],
        optional: [],
      }),
  )

  app.post(
    '/api/auth/social-id/refresh',
    endpoint({
      summary: 'Exchanges a refresh token for new tokens',
      tag: 'Identity',
      ...refreshAnswers,
      ...onFullDisk,
    }),
    limit,
    validate('json', RefreshRequest),
    async (c) => {
      deps.socialId.requireConfigured()
      const tokens = await deps.socialTokens.refresh(c.req.valid('json').refreshToken)
      return c.json({
        success: true,
        ...tokens,
        expiresIn: SESSION_SECONDS,
        message: 'Token refreshed successfully',
      })
    },
  )

  app.route('/', tokenGateWeb(deps, limit))
  return app
}

/** Token gating routes. */
function tokenGateWeb(deps: { clock: Clock; tokenGate: TokenGate }, limit: ReturnType<typeof limitRate>) {
  const app = new Hono<WebEnv>()
  const { tokenGate } = deps

  app.get(
    '/api/auth/token-gating/verify',
    endpoint({ summary: 'Checks whether an address holds enough tokens', tag: 'Identity', ...describeGateAnswers }),
    limit,
    validate('query', GateQuery),
    async (c) => {
      const { address } = c.req.valid('query')
      const hasAccess = await tokenGate.isOpenFor(address)
      return c.json({ address, hasAccess, tokenGated: true, ...tokenGate.terms, ...tokenGate.describe() })
    },
  )

  app.post(
    '/api/auth/token-gating/verify',
    endpoint({
      summary: 'Checks the tokens of an identity and address',
      tag: 'Identity',
      ...stateGateAnswers,
      ...onFullDisk,
    }),
    limit,
    validate('json', GateRequest),
    async (c) => {
      const { fid, address } = c.req.valid('json')
      const hasAccess = await tokenGate.isOpenFor(address)
      return c.json({
        fid,
        address,
        hasAccess,
        tokenGated: true,
        ...tokenGate.terms,
        message: hasAccess ? 'The address holds enough' : 'The address does not hold enough',
        timestamp: deps.clock.now().toISOString(),
      })
    },
  )

  return app
}

function gateRefusal({ terms }: TokenGate): AppError {
  return new AppError('forbidden', 'Token gating failed', {
    message: `The address must hold at least ${terms.minBalance} of the smallest unit of ${terms.token}`,
    required: terms.token,
    minBalance: terms.minBalance,
  })
}
