import { and, eq, gt, lte } from 'drizzle-orm'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { CookieOptions } from 'hono/utils/cookie'
import { z } from 'zod'
import { randomText } from '../../../core/ids.ts'
import { type SealPurpose, sha256 } from '../../../core/secrets.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import { type IdentityRow, signInAttempts, walletNonces } from './tables.ts'
export type ProviderName = IdentityRow['provider']

/** How long a browser may stay at the provider. */
const ATTEMPT_MS = 10 * 60_000
/** How long a sign-in waits for its second factor. */
export const PENDING_MS = 5 * 60_000
/** 43 of 62 characters: 256 bits. RFC 7636, 4.1 wants at least 43 for a verifier. */
const SECRET_LENGTH = 43

const Secrets = z.object({ nonce: z.string(), codeVerifier: z.string() })
type Secrets = z.infer<typeof Secrets>

/**
 * Starts a sign-in at `provider`. `state` passes through the provider, `browser` goes into a cookie; only their hashes
 * are stored.
 */
export async function startAttempt(
  deps: Base,
  provider: ProviderName,
): Promise<Secrets & { state: string; browser: string }> {
  const state = randomText(SECRET_LENGTH)
  const browser = randomText(SECRET_LENGTH)
  const secrets = { nonce: randomText(SECRET_LENGTH), codeVerifier: randomText(SECRET_LENGTH) }
  const stateHash = sha256(state)
  const sealed = deps.sealer.seal(JSON.stringify(secrets), purposeOf(stateHash))
  const expiresAt = new Date(deps.clock.now().getTime() + ATTEMPT_MS)
  const row = { stateHash, provider, browserHash: sha256(browser), secrets: sealed, expiresAt }
  await write(deps.db, (tx) => tx.insert(signInAttempts).values(row).run())
  return { ...secrets, state, browser }
}

/**
 * Uses up the attempt of `state`, also when the caller is not entitled to it.
 * @returns its secrets, or null unless provider and browser match and it has not expired.
 */
export async function takeAttemptSecrets(
  deps: Base,
  provider: ProviderName,
  back: { state: string; browser: string | undefined },
): Promise<Secrets | null> {
  const stateHash = sha256(back.state)
  const row = await write(
    deps.db,
    (tx) => tx.delete(signInAttempts).where(eq(signInAttempts.stateHash, stateHash)).returning().get() ?? null,
  )
  if (!row || row.provider !== provider || row.expiresAt <= deps.clock.now()) return null
  if (back.browser === undefined || row.browserHash !== sha256(back.browser)) return null
  return Secrets.parse(JSON.parse(deps.sealer.unseal(row.secrets, purposeOf(stateHash))))
}

function purposeOf(stateHash: string): SealPurpose {
  return `sign_in_attempts:secrets:${stateHash}`
}

/** Short-lived cookies of an unfinished sign-in, with their lifetimes in seconds. */
const COOKIES = {
  /** Binds the provider's callback to the browser that started the sign-in. */
  'service-sign-in': ATTEMPT_MS / 1000,
  /** A sign-in that waits for its second factor. */
  'service-two-factor': PENDING_MS / 1000,
}
type Name = keyof typeof COOKIES

/** Over https the name starts with `__Host-`, so neither other hosts nor http pages can set it. */
export function setSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name, value: string): void {
  setCookie(c, name, value, { ...flags(isHttps), maxAge: COOKIES[name] })
}

export function readSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name): string | undefined {
  return (isHttps ? getCookie(c, name, 'host') : getCookie(c, name)) || undefined
}

export function clearSignInCookie(c: Context<WebEnv>, isHttps: boolean, name: Name): void {
  deleteCookie(c, name, flags(isHttps))
}

/** `Lax`, because the provider's callback is a cross-site navigation. */
function flags(isHttps: boolean): CookieOptions {
  const plain = { httpOnly: true, sameSite: 'Lax', path: '/', secure: isHttps } as const
  return isHttps ? { ...plain, prefix: 'host' } : plain
}

/** Stores `value` for one use until `expiresAt`. */
export function rememberOnce(tx: Tx, value: string, expiresAt: Date): void {
  tx.insert(walletNonces).values({ nonce: value, expiresAt }).run()
}

/** Uses `value` up: exactly one of several concurrent callers gets true, none after it expired. */
export function takeOnce(tx: Tx, value: string, now: Date): boolean {
  const { changes } = tx
    .delete(walletNonces)
    .where(and(eq(walletNonces.nonce, value), gt(walletNonces.expiresAt, now)))
    .run()
  return changes === 1
}

export function isUnused(db: Db, value: string, now: Date): boolean {
  const row = db
    .select({ nonce: walletNonces.nonce })
    .from(walletNonces)
    .where(and(eq(walletNonces.nonce, value), gt(walletNonces.expiresAt, now)))
    .get()
  return row !== undefined
}

/** Deletes expired nonces, pending sign-ins and attempts. */
async function deleteExpiredSignIns({ db, clock }: Base, signal: AbortSignal): Promise<void> {
  const now = clock.now()
  await deleteInBatches(db, walletNonces, lte(walletNonces.expiresAt, now), signal)
  await deleteInBatches(db, signInAttempts, lte(signInAttempts.expiresAt, now), signal)
}

const TEN_MINUTES_MS = 600_000

/** Deletes sign-ins that were never completed. */
export function signInsJob(deps: Base): RepeatingJob {
  return { name: 'sign-in.expired', everyMs: TEN_MINUTES_MS, run: (signal) => deleteExpiredSignIns(deps, signal) }
}
