import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../core/errors.ts'
import type { SignedInUser, WebEnv } from './env.ts'
import { label } from './guard-label.ts'
import { readBearer } from './internal-key.ts'

export const SESSION_COOKIE = 'service-session'

/** Who a credential belongs to, as accounts and keys know it. */
export type Lookups = {
  findUserBySession(token: string): Promise<SignedInUser | null>
  findUserByKey(apiKey: string): SignedInUser | null
}

export type Guards = ReturnType<typeof createGuards>

/** The guards of the web face. A route names exactly one, and `tests/endpoints.txt` shows which. */
export function createGuards(lookups: Lookups) {
  const findByCookie = async (c: Context) => {
    const token = getCookie(c, SESSION_COOKIE)
    return token ? lookups.findUserBySession(token) : null
  }
  const find = async (c: Context) => {
    const bearer = readBearer(c.req.header('authorization'))
    return bearer?.startsWith('sk_') ? lookups.findUserByKey(bearer) : findByCookie(c)
  }
  return {
    /** A session, or the user's own `sk_` key (rulings, 4). @throws AppError `unauthenticated`. */
    signedIn: label(
      'signed-in',
      createMiddleware<WebEnv>(async (c, next) => {
        c.set('user', required(await find(c)))
        await next()
      }),
    ),
    /** A session only: for routes that manage passwords, keys and sign-in. @throws AppError `unauthenticated`. */
    withSession: label(
      'session',
      createMiddleware<WebEnv>(async (c, next) => {
        c.set('user', required(await findByCookie(c)))
        await next()
      }),
    ),
    /** For routes that answer nobody as well as somebody. */
    findUser: find,
  }
}

function required(user: SignedInUser | null): SignedInUser {
  if (!user) throw new AppError('unauthenticated', 'Unauthorized')
  return user
}
