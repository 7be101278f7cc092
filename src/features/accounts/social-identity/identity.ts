import { jwtVerify } from 'jose'
import { z } from 'zod'
import type { IssuerKeys } from '../../../adapters/identity/issuer-keys.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'

export type SocialIdOptions = { issuer: string | undefined; audience: string | undefined }

export type SocialId = {
  /** @throws AppError `unavailable` NOT_CONFIGURED. */
  requireConfigured(): void
  /**
   * Checks a social identity token and returns whom it names.
   * @throws AppError `unauthenticated`; `unavailable` as above, or when the issuer's keys cannot be fetched.
   */
  verify(token: string): Promise<string>
}

/** Signatures with a key pair: a shared secret would be the issuer's and ours at once. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** Some networks number their people. */
const Subject = z.object({ sub: z.union([z.string().min(1).max(255), z.number().transform(String)]) })

/** Tokens of the configured issuer, for the configured audience, within their time. */
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
