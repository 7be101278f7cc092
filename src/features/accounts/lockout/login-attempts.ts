import { sha256 } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { addressKey } from '../../../http/address.ts'
import type { Base } from '../../base.ts'
import {
  countFailure,
  forgetFailures,
  forgetFailuresBelow,
  hasAttempt,
  requireAttempts,
  returnAttempt,
  type Throttle,
} from './throttle.ts'

const QUARTER_HOUR_MS = 15 * 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Per account and address, or per account and known device. */
const TEN_IN_A_QUARTER_HOUR = { limit: 10, windowMs: QUARTER_HOUR_MS }
/** Per account, over all unknown clients. */
const PASSWORDS_PER_ACCOUNT = { limit: 50, windowMs: HOUR_MS }
/** Three of a million codes are valid at any time, and the attacker already knows the password. */
const CODES_PER_ACCOUNT = { limit: 30, windowMs: DAY_MS }
/** Per address, over all accounts. */
const PASSWORDS_PER_ADDRESS = { limit: 50, windowMs: QUARTER_HOUR_MS }

/** The counters of one attempt: a known device has its own, all other clients share the rest. */
type LoginAttempt = { device: Throttle | null; pair: Throttle; shared: Throttle[] }

/** The counters that were incremented: `own` concerns only this client, `shared` also other clients. */
type CountedAttempt = { own: Throttle; shared: Throttle[] }

/**
 * Returns the counters of a password attempt. The account need not exist, so being limited reveals nothing. `device` is
 * the name of a known device.
 */
export function passwordAttempt(email: string, address: string | null, device: string | null): LoginAttempt {
  const account = passwordKey(email)
  return {
    ...ofAccount(account, address, device),
    shared: [
      { key: account, ...PASSWORDS_PER_ACCOUNT },
      { key: `login:address:${addressKey(address)}`, ...PASSWORDS_PER_ADDRESS },
    ],
  }
}

/** Returns the counters of a second-factor attempt after the first factor succeeded. */
export function codeAttempt(userId: string, address: string | null, device: string | null): LoginAttempt {
  const account = `code:account:${userId}`
  return { ...ofAccount(account, address, device), shared: [{ key: account, ...CODES_PER_ACCOUNT }] }
}

/**
 * Counts an attempt before the credential is checked, so concurrent attempts are limited too. A known device that has
 * used up its own counter is treated as an unknown client, so a thief of the token cannot lock the owner out.
 * @throws AppError `limited` when no attempt is left; nothing is counted then.
 */
export function countLoginAttempt(deps: Base, { device, pair, shared }: LoginAttempt): Promise<CountedAttempt> {
  return write(deps.db, (tx) => {
    if (device && hasAttempt(tx, deps.clock, device)) {
      countFailure(tx, deps.clock, device)
      return { own: device, shared: [] }
    }
    requireAttempts(tx, deps.clock, [pair, ...shared])
    for (const throttle of [pair, ...shared]) countFailure(tx, deps.clock, throttle)
    return { own: pair, shared }
  })
}

/** After a success, resets the client's own counter and takes this attempt back from the shared ones. */
export function settleLoginAttempt(tx: Tx, { own, shared }: CountedAttempt): void {
  forgetFailures(tx, own.key)
  returnAttempt(tx, ...shared)
}

/** Reverses the count of an attempt whose credential could not be checked. */
export function returnLoginAttempt(tx: Tx, { own, shared }: CountedAttempt): void {
  returnAttempt(tx, own, ...shared)
}

/** Resets all failure counters of an account, after its owner proved the address by mail. */
export function forgetFailedLogins(tx: Tx, email: string): void {
  forgetFailuresBelow(tx, passwordKey(email))
}

function ofAccount(
  account: string,
  address: string | null,
  device: string | null,
): Pick<LoginAttempt, 'device' | 'pair'> {
  return {
    device: device === null ? null : { key: `${account}:device:${device}`, ...TEN_IN_A_QUARTER_HOUR },
    pair: { key: `${account}:address:${addressKey(address)}`, ...TEN_IN_A_QUARTER_HOUR },
  }
}

function passwordKey(email: string): string {
  return `login:account:${sha256(email)}`
}
