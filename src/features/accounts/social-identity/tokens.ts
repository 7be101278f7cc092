import { createHmac } from 'node:crypto'
import { jwtVerify } from 'jose'
import { z } from 'zod'
import type { IssuerKeys } from '../../../adapters/identity/issuer-keys.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { isSameSecret } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { countFailure, hasAttempt } from '../lockout/throttle.ts'

/** Lifetime of a session token. */
export const SESSION_SECONDS = 86_400
const REFRESH_SECONDS = 30 * 86_400
/** Refresh tokens are single use; the record of the use outlives the token. */
const ONCE = { limit: 1, windowMs: (REFRESH_SECONDS + 60) * 1000 }

/** `address` was given by the user and is not proved. */
type SocialIdentity = { sub: string; address: string | null }
type SocialTokens = { sessionToken: string; refreshToken: string }

/** `family` is shared by tokens refreshed from one another; `exp` and `iat` are seconds. */
const Claims = z.object({
  use: z.enum(['session', 'refresh']),
  sub: z.string(),
  address: z.string().nullable(),
  verified: z.literal(true),
  jti: z.string(),
  family: z.string(),
  iat: z.number(),
  exp: z.number(),
})
type Claims = z.infer<typeof Claims>

export type SocialTokenIssuer = {
  issue(identity: SocialIdentity): SocialTokens
  /** Returns a new pair of tokens. @throws AppError `unauthenticated` for an invalid, expired or used token. */
  refresh(refreshToken: string): Promise<SocialTokens>
}

/** Issues our tokens after a social identity was verified: `base64url(JSON).base64url(HMAC-SHA256)`. */
export function createSocialTokens(deps: { db: Db; clock: Clock; key: Buffer }): SocialTokenIssuer {
  const sign = (body: string) => createHmac('sha256', deps.key).update(body).digest('base64url')
  const seconds = () => Math.floor(deps.clock.now().getTime() / 1000)

  const make = (use: Claims['use'], identity: SocialIdentity, family: string, lifetime: number) => {
    const iat = seconds()
    const claims: Claims = { use, ...identity, verified: true, jti: newId('sit'), family, iat, exp: iat + lifetime }
    const body = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return `${body}.${sign(body)}`
  }
  const issue = (identity: SocialIdentity, family: string) => ({
    sessionToken: make('session', identity, family, SESSION_SECONDS),
    refreshToken: make('refresh', identity, family, REFRESH_SECONDS),
  })
  const read = (token: string): Claims | null => {
    const [body = '', signature = '', ...rest] = token.split('.')
    if (rest.length > 0 || !isSameSecret(signature, sign(body))) return null
    const claims = Claims.parse(JSON.parse(Buffer.from(body, 'base64url').toString()))
    return claims.exp > seconds() ? claims : null
  }

  return {
    issue: (identity) => issue(identity, newId('sif')),
    async refresh(refreshToken) {
      const claims = read(refreshToken)
      if (claims?.use !== 'refresh' || !(await spend(deps, claims))) {
        throw new AppError('unauthenticated', 'Invalid refresh token')
      }
      return issue({ sub: claims.sub, address: claims.address }, claims.family)
    },
  }
}

/** A reused refresh token was copied, so its whole family is revoked (RFC 9700, 4.14.2). */
async function spend(deps: { db: Db; clock: Clock }, { jti, family }: Claims): Promise<boolean> {
  return write(deps.db, (tx) => {
    const isSpent = (key: string) => !hasAttempt(tx, deps.clock, { key, ...ONCE })
    const [token, line] = [`social-refresh:token:${jti}`, `social-refresh:family:${family}`]
    if (isSpent(line)) return false
    if (isSpent(token)) {
      countFailure(tx, deps.clock, { key: line, ...ONCE })
      return false
    }
    countFailure(tx, deps.clock, { key: token, ...ONCE })
    return true
  })
}

type SocialIdOptions = { issuer: string | undefined; audience: string | undefined }

export type SocialId = {
  /** @throws AppError `unavailable` NOT_CONFIGURED. */
  requireConfigured(): void
  /**
   * Verifies a social identity token and returns its subject.
   * @throws AppError `unauthenticated`; `unavailable` when not configured or the issuer's keys cannot be fetched.
   */
  verify(token: string): Promise<string>
}

/** Asymmetric algorithms only: a shared secret would let us forge tokens of the issuer. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** Some networks use numeric subjects. */
const Subject = z.object({ sub: z.union([z.string().min(1).max(255), z.number().transform(String)]) })

/** Verifies tokens of the configured issuer and audience. */
export function createSocialId(
  { issuer, audience }: SocialIdOptions,
  deps: { keys: IssuerKeys; clock: Clock },
): SocialId {
  const requireSettings = () => {
    if (issuer && audience) return { issuer, audience }
    throw new AppError(
      'unavailable',
      'Social identity is not configured: set SOCIAL_ID_ISSUER and SOCIAL_ID_AUDIENCE',
      {
        code: 'NOT_CONFIGURED',
      },
    )
  }

  return {
    requireConfigured: () => void requireSettings(),
    async verify(token) {
      const rules = { ...requireSettings(), algorithms: ALGORITHMS, requiredClaims: ['exp', 'sub'] }
      try {
        const { payload } = await jwtVerify(token, deps.keys, { ...rules, currentDate: deps.clock.now() })
        return Subject.parse(payload).sub
      } catch (error) {
        if (error instanceof AppError) throw error
        throw new AppError('unauthenticated', 'Invalid identity token', {}, { cause: error })
      }
    },
  }
}
