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

/** The account a device token is bound to; changing the password invalidates its tokens. */
type Account = Pick<UserRow, 'id' | 'passwordHash'>

/**
 * Browsers that the account's owner has signed in with. They have their own counter of failed attempts, so other
 * clients cannot lock the owner out. A device token does not sign in: a stolen one allows ten password attempts per 15
 * minutes for this account, until the password changes or 180 days pass.
 */
export type KnownDevices = {
  /** Returns a new token for a browser that has just signed in. */
  issue(account: Account): string
  /** Returns the device name in the token, or null unless the token belongs to this account and is valid. */
  find(mark: string | undefined, account: Account): string | null
}

/** Tokens are `name.expiry.signature`, expiry in milliseconds; they are not stored. */
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

/** The client of a sign-in attempt: its address, and its device token for an account. */
export type Visitor = { address: string | null; markOf: (userId: string) => string | undefined }

export function visitorOf(c: Context<WebEnv>, deps: { isHttps: boolean }): Visitor {
  return {
    address: c.env.address,
    markOf: (userId) => getCookie(c, nameOf(userId), deps.isHttps ? 'host' : undefined) || undefined,
  }
}

/** Sets a new device cookie for the signed-in account. */
export function rememberDevice(
  c: Context<WebEnv>,
  deps: { knownDevices: KnownDevices; isHttps: boolean },
  account: Account,
): void {
  setCookie(c, nameOf(account.id), deps.knownDevices.issue(account), {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    secure: deps.isHttps,
    maxAge: DAYS_KNOWN * 86_400,
    ...(deps.isHttps && { prefix: 'host' as const }),
  })
}

/** One cookie per account, because people share browsers. */
function nameOf(userId: string): string {
  return `service-device-${sha256(userId).slice(0, 8)}`
}
