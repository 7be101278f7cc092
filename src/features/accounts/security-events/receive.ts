import { compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose'
import { z } from 'zod'
import type { IssuerKeys } from '../../../adapters/identity/issuer-keys.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import type { StoredClaims } from './schemas.ts'
import { securityEvents } from './tables.ts'

export const ACT_JOB = 'security-events.act'

/**
 * Verifies a security event token and stores it with the job that handles it, so an acknowledged event survives a
 * crash. Known tokens are acknowledged and change nothing.
 * @throws AppError `invalid`.
 */
export async function receiveSecurityEvent(
  deps: Base & { verifySecurityEvent: VerifySecurityEvent },
  token: string,
  form: StoredClaims['form'],
): Promise<void> {
  const { iss: issuer, jti: given, sub, events } = await deps.verifySecurityEvent(token)
  // Legacy tokens may lack `jti`, so their hash identifies them.
  const jti = given ?? (form === 'legacy' ? `sha256:${sha256(token)}` : null)
  if (jti === null) throw new AppError('invalid', 'Invalid token', { err: 'invalid_request' })
  const claims: StoredClaims = { form, events, ...(sub !== undefined && { sub }) }

  await write(deps.db, (tx) => {
    const { changes } = tx
      .insert(securityEvents)
      .values({ issuer, jti, claims, receivedAt: deps.clock.now() })
      .onConflictDoNothing()
      .run()
    if (changes > 0) deps.enqueue(tx, ACT_JOB, { issuer, jti })
  })
}

/** The verified claims of a security event token. `jti` is null only in legacy tokens. */
type SecurityEventClaims = z.infer<typeof Claims>

/** @throws AppError `invalid` with an error code of RFC 8935 in `err`. */
export type VerifySecurityEvent = (token: string) => Promise<SecurityEventClaims>

type SecurityEventRules = {
  /** Compared exactly. */
  issuer: string
  /** One of these must be in `aud`; an empty list rejects every token. */
  audiences: readonly string[]
}

/** Codes of RFC 8935, 2.4. */
type Refusal = 'invalid_request' | 'invalid_issuer' | 'invalid_audience' | 'invalid_key' | 'authentication_failed'

/** Maximum clock difference. Old tokens are accepted: issuers may report past events, and the tokens do not expire. */
const MAX_AHEAD_SECONDS = 60
/** RFC 8417, 2.3: the explicit type; older issuers send `JWT` or none. Other types are rejected. */
const TYPES = /^(?:application\/)?(?:secevent\+jwt|jwt)$/i
const DAY_SECONDS = 86_400
const REFUSED_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'crit']

const Claims = z.object({
  iss: z.string(),
  jti: z.string().min(1).max(512).nullable().default(null),
  iat: z.number().optional(),
  sub: z.string().optional(),
  events: z.record(z.string(), z.unknown()).refine((events) => Object.keys(events).length > 0),
})

/**
 * Verifies issuer, audience, the key named by `kid` and the RS256 signature, in this order. Rejects tokens issued
 * before `rememberedDays` (0: no limit), because the record of handled events is deleted by then.
 */
export function createSecurityEventVerifier(
  rules: SecurityEventRules,
  deps: { keys: IssuerKeys; clock: Clock; rememberedDays: () => number },
): VerifySecurityEvent {
  return async (token) => {
    const said = readUnverified(token)
    if (said.iss !== rules.issuer) throw refusal('invalid_issuer')
    if (!isForUs(said.aud, rules.audiences)) throw refusal('invalid_audience')
    await requireSignature(token, deps.keys)
    const claims = Claims.safeParse(said)
    if (!claims.success) throw refusal('invalid_request', claims.error)
    const { iat } = claims.data
    const nowSeconds = deps.clock.now().getTime() / 1000
    if (iat !== undefined && iat > nowSeconds + MAX_AHEAD_SECONDS) throw refusal('invalid_request')
    const rememberedDays = deps.rememberedDays()
    const isForgotten = rememberedDays > 0 && nowSeconds - (iat ?? nowSeconds) > rememberedDays * DAY_SECONDS
    if (isForgotten) throw refusal('invalid_request')
    return claims.data
  }
}

/** Decodes the payload without verification, only for checks that reject. */
function readUnverified(token: string): Readonly<Record<string, unknown>> {
  try {
    const header = decodeProtectedHeader(token)
    if (REFUSED_HEADERS.some((name) => name in header)) throw refusal('invalid_key')
    if (header.typ !== undefined && !TYPES.test(header.typ)) throw refusal('invalid_request')
    return decodeJwt(token)
  } catch (error) {
    throw error instanceof AppError ? error : refusal('invalid_request', error)
  }
}

function isForUs(audience: unknown, audiences: readonly string[]): boolean {
  const named: unknown[] = Array.isArray(audience) ? audience : [audience]
  return audiences.some((ours) => named.includes(ours))
}

async function requireSignature(token: string, keys: IssuerKeys): Promise<void> {
  try {
    await compactVerify(token, keys, { algorithms: ['RS256'] })
  } catch (error) {
    // The specification demands 400 for every failure, including keys that cannot be fetched.
    throw refusal(
      error instanceof errors.JWSSignatureVerificationFailed ? 'authentication_failed' : 'invalid_key',
      error,
    )
  }
}

function refusal(err: Refusal, cause?: unknown): AppError {
  return new AppError('invalid', 'Invalid token', { err }, { cause })
}
