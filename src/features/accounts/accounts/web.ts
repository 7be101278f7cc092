import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Log } from '../../../core/log.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { answers } from '../../../http/answers.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import { readSessionTokens } from '../../../http/sessions/cookie.ts'
import type { Csrf } from '../../../http/sessions/csrf.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type BotDetection, issueChallenge, requireHuman } from '../bot-detection/bot-detection.ts'
import { Challenge } from '../bot-detection/schemas.ts'
import type { KnownDevices } from '../lockout/known-devices.ts'
import { visitorOf } from '../lockout/known-devices.ts'
import { getReferrals } from '../referrals/referrals.ts'
import { ReferralsResponse } from '../referrals/schemas.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { clearSessionCookie, readSessionToken, startSession } from '../sessions/start-session.ts'
import { type FirstAccountDeps, requireOwnerSetUp } from './first-account.ts'
import { login } from './login.ts'
import { type RegisterDeps, register } from './register.ts'
import {
  CsrfToken,
  LoginRequest,
  LoginResponse,
  RegisterRequest,
  RegisterResponse,
  SessionResponse,
  SignedOut,
} from './schemas.ts'
import { isCrowded } from './sign-up-limit.ts'

export type AccountsWebDeps = RegisterDeps &
  FirstAccountDeps & {
    sealer: Sealer
    knownDevices: KnownDevices
    sessions: Sessions
    guards: Guards
    csrf: Csrf
    botDetection: BotDetection
    log: Log
    isHttps: boolean
    requestsPerMinute: { register: number; login: number }
  }

/** Sign-up and sign-in with e-mail and password (Interface 4.2). */
export function accountsWeb(deps: AccountsWebDeps) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/auth/challenge',
    answers({ 200: Challenge }),
    limitRate(() => deps.requestsPerMinute.register, 'Too many requests'),
    (c) => c.json(issueChallenge(deps.botDetection, { isFromCrowd: isCrowded(deps, c.env.address) })),
  )

  app.post(
    '/api/register',
    answers({ 200: RegisterResponse }, 'conflict', 'unavailable'),
    routeTraits({ signsIn: true }),
    limitRate(() => deps.requestsPerMinute.register, 'Too many requests'),
    requireOwnerSetUp(deps),
    validate('json', RegisterRequest),
    async (c) => {
      const request = c.req.valid('json')
      const { website: honeypot, proof } = request
      const { address } = c.env
      const userAgent = c.req.header('user-agent')
      const isFromCrowd = isCrowded(deps, address)
      const hasProof = await requireHuman(deps.botDetection, { userAgent, honeypot, proof, isFromCrowd })
      const { id, email, name } = await register(deps, request, { address, hasProof })
      return c.json({ id, email, name })
    },
  )

  app.post(
    '/api/auth/login',
    answers({ 200: LoginResponse }, 'invalid', 'unauthenticated', 'limited', 'internal'),
    routeTraits({ signsIn: true, worksOnFullDisk: true }),
    // Before the rate is counted: a flood from ever new addresses would fill the counter's memory.
    createMiddleware(async (_c, next) => {
      deps.passwords.requireHashingCapacity()
      await next()
    }),
    limitRate(() => deps.requestsPerMinute.login, 'Too many login attempts'),
    validate('json', LoginRequest),
    async (c) => {
      const user = await login(deps, c.req.valid('json'), visitorOf(c, deps))
      await startSession(c, deps, user)
      return c.json({ ok: true, user: { id: user.id, name: user.name } })
    },
  )

  app.get('/api/auth/session', answers({ 200: SessionResponse }), async (c) => {
    const user = await deps.guards.findSession(c)
    return c.json({ user: user ? { id: user.id, name: user.name, email: user.email, isAdmin: user.isAdmin } : null })
  })

  app.post('/api/auth/signout', answers({ 200: SignedOut }), routeTraits({ worksOnFullDisk: true }), async (c) => {
    const user = await deps.guards.findSession(c)
    for (const token of readSessionTokens(c)) await deps.sessions.end(token)
    clearSessionCookie(c, deps)
    if (user) deps.log.info({ requestId: c.var.requestId, userId: user.id, address: c.env.address }, 'signed out')
    return c.json({ ok: true })
  })

  // Without a session the token opens nothing: clients that always ask for one first get an answer all the same.
  app.get('/api/auth/csrf', answers({ 200: CsrfToken }), (c) => c.json(deps.csrf.issue(readSessionToken(c) ?? '')))

  app.get(
    '/api/settings/referrals',
    answers({ 200: ReferralsResponse }, 'not_found'),
    deps.guards.signedIn,
    async (c) => c.json(await getReferrals(deps, c.var.user.id)),
  )

  return app
}
