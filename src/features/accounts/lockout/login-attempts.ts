import type { Clock } from '../../../core/clock.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { addressKey } from '../../../http/address.ts'
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

/** One account from one address, or from one known device. */
const TEN_IN_A_QUARTER_HOUR = { limit: 10, windowMs: QUARTER_HOUR_MS }
/** One account from everywhere: no single address reaches it. */
const PASSWORDS_PER_ACCOUNT = { limit: 50, windowMs: HOUR_MS }
/** Of a million codes three are right at a time; who guesses them knows the password already. */
const CODES_PER_ACCOUNT = { limit: 30, windowMs: DAY_MS }
/** One address over all accounts. */
const PASSWORDS_PER_ADDRESS = { limit: 50, windowMs: QUARTER_HOUR_MS }

/** The counters of one kind of guess: a known device has its own, everybody else shares in the others. */
type LoginAttempt = { device: Throttle | null; pair: Throttle; shared: Throttle[] }

/** What a guess was counted in: `own` is the guesser's alone, `shared` concerns others too. */
export type CountedAttempt = { own: Throttle; shared: Throttle[] }

/** A password, for an account that need not exist: who is told to wait learns nothing. `device` is a known one's name. */
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

/** A second factor, of somebody who brought the first. */
export function codeAttempt(userId: string, address: string | null, device: string | null): LoginAttempt {
  const account = `code:account:${userId}`
  return { ...ofAccount(account, address, device), shared: [{ key: account, ...CODES_PER_ACCOUNT }] }
}

/**
 * Counts a guess before it is looked at, so that guesses made at once count as well. A known device that has used up its
 * own is a stranger like any other: its thief does not lock it out.
 * @throws AppError `limited` when there are none left; then nothing is counted.
 */
export function countLoginAttempt(
  deps: { db: Db; clock: Clock },
  { device, pair, shared }: LoginAttempt,
): Promise<CountedAttempt> {
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

/** A right guess: one's own failures before it are forgotten, those of others go on counting. */
export function settleLoginAttempt(tx: Tx, { own, shared }: CountedAttempt): void {
  forgetFailures(tx, own.key)
  returnAttempt(tx, ...shared)
}

/** A guess that nobody could look at. */
export function returnLoginAttempt(tx: Tx, { own, shared }: CountedAttempt): void {
  returnAttempt(tx, own, ...shared)
}

/** Lets an account sign in at once after failures, from wherever: for whoever has proved by mail to be its owner. */
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
