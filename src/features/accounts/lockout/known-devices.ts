import { createHmac } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { addDays, type Clock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import { isSameSecret, sha256 } from '../../../core/secrets.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { UserRow } from '../users/tables.ts'

const DAYS_KNOWN = 180
/** 22 of 62 characters: 131 bits. */
const NAME_LENGTH = 22

/** An account as its marks are bound to it: another password ends them all. */
type Account = Pick<UserRow, 'id' | 'passwordHash'>

/**
 * Browsers that an account's owner has signed in with. What other people guess does not count against them, so that nobody
 * can lock an owner out from outside. A mark opens nothing: who steals one gets ten guesses in a quarter of an hour at this
 * one account, beside those that every stranger has, until its password changes or 180 days are over.
 */
export type KnownDevices = {
  /** A new mark for a browser that has just signed in. */
  issue(account: Account): string
  /** The name of the browser that shows `mark`; null unless it is a mark of this account that still holds. */
  find(mark: string | undefined, account: Account): string | null
}

/** Marks are `name.end.signature`, `end` in milliseconds; nothing of them is stored. */
export function createKnownDevices({ key, clock }: { key: Buffer; clock: Clock }): KnownDevices {
  const sign = (name: string, end: string, { id, passwordHash }: Account) =>
    createHmac('sha256', key)
      .update(JSON.stringify([name, end, id, passwordHash]))
      .digest('base64url')
  return {
    issue(account) {
      const name = randomText(NAME_LENGTH)
      const end = String(addDays(clock.now(), DAYS_KNOWN).getTime())
      return `${name}.${end}.${sign(name, end, account)}`
    },
    find(mark, account) {
      const [name = '', end = '', signature = ''] = mark?.split('.') ?? []
      if (!isSameSecret(signature, sign(name, end, account))) return null
      return Number(end) > clock.now().getTime() ? name : null
    },
  }
}

/** Whoever tries to get into accounts: where from, and the marks that their browser has. */
export type Visitor = { address: string | null; markOf: (userId: string) => string | undefined }

type CookieDeps = { knownDevices: KnownDevices; isHttps: boolean }

export function visitorOf(c: Context<WebEnv>, deps: Pick<CookieDeps, 'isHttps'>): Visitor {
  return {
    address: c.env.address,
    markOf: (userId) => getCookie(c, nameOf(userId), deps.isHttps ? 'host' : undefined) || undefined,
  }
}

/** Gives the browser a new mark of the account that it is signed in to. */
export function rememberDevice(c: Context<WebEnv>, deps: CookieDeps, account: Account): void {
  setCookie(c, nameOf(account.id), deps.knownDevices.issue(account), {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: deps.isHttps,
    maxAge: DAYS_KNOWN * 86_400,
    ...(deps.isHttps && { prefix: 'host' as const }),
  })
}

/** One cookie an account: people share browsers. */
function nameOf(userId: string): string {
  return `service-device-${sha256(userId).slice(0, 8)}`
}
