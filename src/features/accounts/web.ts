import { Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { AppError } from '../../core/errors.ts'
import type { Csrf } from '../../http/csrf.ts'
import type { WebEnv } from '../../http/env.ts'
import { limitRate } from '../../http/rate-limit.ts'
import { type Guards, SESSION_COOKIE } from '../../http/session.ts'
import { validate } from '../../http/validate.ts'
import { requireHuman } from './bot-detection.ts'
import { login } from './login.ts'
import { type RegisterDeps, register } from './register.ts'
import { LoginRequest, RegisterRequest } from './schemas.ts'
import { SESSION_DAYS, type Sessions } from './sessions.ts'

export type AccountsWebDeps = RegisterDeps & {
  sessions: Sessions
  guards: Guards
  csrf: Csrf
  botDetection: 'off' | 'basic' | 'pow'
  isHttps: boolean
  requestsPerMinute: { register: number; login: number }
}

/** Sign-up and sign-in with e-mail and password (Spec 4.2). */
export function accountsWeb(deps: AccountsWebDeps) {
  const app = new Hono<WebEnv>()
  const cookie = { httpOnly: true, sameSite: 'Lax', path: '/', secure: deps.isHttps } as const

  app.post(
    '/api/register',
    limitRate(deps.requestsPerMinute.register, 'Too many requests'),
    validate('json', RegisterRequest),
    async (c) => {
      const request = c.req.valid('json')
      requireHuman(deps.botDetection, { userAgent: c.req.header('user-agent'), honeypot: request.website })
      const { id, email, name } = await register(deps, request)
      return c.json({ id, email, name })
    },
  )

  app.post(
    '/api/auth/login',
    limitRate(deps.requestsPerMinute.login, 'Too many login attempts'),
    validate('json', LoginRequest),
    async (c) => {
      const { user, token } = await login(deps, c.req.valid('json'))
      const planted = getCookie(c, SESSION_COOKIE)
      if (planted) await deps.sessions.end(planted)
      setCookie(c, SESSION_COOKIE, token, { ...cookie, maxAge: SESSION_DAYS * 86_400 })
      return c.json({ ok: true, user: { id: user.id, name: user.name } })
    },
  )

  app.get('/api/auth/session', async (c) => {
    const user = await deps.guards.findUser(c)
    return c.json({ user: user ? { id: user.id, name: user.name, email: user.email, isAdmin: user.isAdmin } : null })
  })

  app.post('/api/auth/signout', async (c) => {
    const token = getCookie(c, SESSION_COOKIE)
    if (token) await deps.sessions.end(token)
    deleteCookie(c, SESSION_COOKIE, cookie)
    return c.json({ ok: true })
  })

  app.get('/api/auth/csrf', async (c) => {
    const token = getCookie(c, SESSION_COOKIE)
    if (!token) throw new AppError('unauthenticated', 'Unauthorized')
    return c.json(deps.csrf.issue(token))
  })

  return app
}
