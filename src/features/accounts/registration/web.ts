import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import { readSessionTokens } from '../../../http/sessions/cookie.ts'
import type { Csrf } from '../../../http/sessions/csrf.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { type BotDetection, issueChallenge, requireHuman } from '../bot-detection/bot-detection.ts'
import { ProofChallenge } from '../bot-detection/schemas.ts'
import { type KnownDevices, visitorOf } from '../lockout/known-devices.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { getReferrals } from '../referrals/referrals.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { clearSessionCookie, readSessionToken, startSession } from '../sessions/start-session.ts'
import { ReferralsResponse } from '../users/schemas.ts'
import { login } from './login.ts'
import type { SignUp } from './register.ts'
import { hasAccounts, isCrowded, registerAccount, requireOwnerSetUp } from './register.ts'
import {
  CsrfToken,
  LoginRequest,
  LoginResponse,
  RegisterRequest,
  RegisterResponse,
  SessionResponse,
  SetupRequest,
  SetupResponse,
  SignedOut,
} from './schemas.ts'
import { setUp } from './setup.ts'

/** Sign-up and sign-in with email and password. */
export function accountsWeb(
  deps: Base & {
    passwords: Passwords
    mailer: Mailer
    signUp: SignUp
    appUrl: string
    knownDevices: KnownDevices
    sessions: Sessions
    guards: Guards
    csrf: Csrf
    botDetection: BotDetection
    isHttps: boolean
    requestsPerMinute: { register: number; login: number }
  },
) {
  const app = new Hono<WebEnv>()

  app.get(
    '/api/auth/challenge',
    endpoint({ summary: 'Returns a proof-of-work challenge', tag: 'Sign-in', responses: { 200: ProofChallenge } }),
    limitRate(() => deps.requestsPerMinute.register, 'Too many requests'),
    (c) => c.json(issueChallenge(deps.botDetection, { isFromCrowd: isCrowded(deps, c.env.address) })),
  )

  app.post(
    '/api/register',
    endpoint({
      summary: 'Creates an account',
      tag: 'Sign-in',
      responses: { 200: RegisterResponse },
      errors: ['conflict', 'unavailable'],
      signsIn: true,
    }),
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
      const { id, email, name } = await registerAccount(deps, request, { address, hasProof })
      return c.json({ id, email, name })
    },
  )

  app.post(
    '/api/auth/login',
    endpoint({
      summary: 'Signs in with a password',
      tag: 'Sign-in',
      responses: { 200: LoginResponse },
      errors: ['invalid', 'unauthenticated', 'limited', 'internal'],
      signsIn: true,
      worksOnFullDisk: true,
    }),
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

  app.get(
    '/api/auth/session',
    endpoint({ summary: 'Returns the signed-in user', tag: 'Sign-in', responses: { 200: SessionResponse } }),
    async (c) => {
      const user = await deps.guards.findSession(c)
      return c.json({ user: user ? { id: user.id, name: user.name, email: user.email, isAdmin: user.isAdmin } : null })
    },
  )

  app.post(
    '/api/auth/signout',
    endpoint({ summary: 'Signs out', tag: 'Sign-in', responses: { 200: SignedOut }, worksOnFullDisk: true }),
    async (c) => {
      const user = await deps.guards.findSession(c)
      for (const token of readSessionTokens(c)) await deps.sessions.end(token)
      clearSessionCookie(c, deps)
      if (user) deps.log.info({ requestId: c.var.requestId, userId: user.id, address: c.env.address }, 'signed out')
      return c.json({ ok: true })
    },
  )

  // Without a session the token has no effect; it exists for clients that always request one first.
  app.get(
    '/api/auth/csrf',
    endpoint({ summary: 'Returns a CSRF token', tag: 'Sign-in', responses: { 200: CsrfToken } }),
    (c) => c.json(deps.csrf.issue(readSessionToken(c) ?? '')),
  )

  app.get(
    '/api/settings/referrals',
    endpoint({
      summary: 'Returns your referral code and its rewards',
      tag: 'Account',
      responses: { 200: ReferralsResponse },
      errors: ['not_found'],
    }),
    deps.guards.signedIn,
    async (c) => c.json(await getReferrals(deps, c.var.user.id)),
  )

  return app
}

/** Set-up of a new installation: the first account. */
export function setupWeb(
  deps: Base & { passwords: Passwords; mailer: Mailer; signUp: SignUp; requestsPerMinute: { register: number } },
) {
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
