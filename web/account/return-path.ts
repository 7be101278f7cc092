import { z } from 'zod'

const lostSignIns: Record<string, string> = {
  IdpNotConfigured: 'This sign-in provider is not configured. Sign in with your email and password.',
  IdpAuthFailed: 'The provider did not confirm your identity. Try again.',
  IdpTokenFailed: 'The provider did not complete the sign-in. Try again.',
  IdpNoEmail: 'The provider shared no email address, so no account could be matched.',
  IdpAuthError: 'Sign-in with the provider failed. Try again.',
}

const Path = z.string().refine((path) => /^\/(?![/\\])/.test(path))
const Code = z.coerce.string().max(512).optional().catch(undefined)

/**
 * Search of `/login`: `redirect` is the page to return to, `error` a code from an identity provider, `done` the flow
 * just finished, `step` set when only the second factor is missing.
 */
export const LoginSearch = z.object({
  redirect: Path.optional().catch(undefined),
  error: z.coerce.string().max(200).optional().catch(undefined),
  done: z.enum(['signup', 'reset', 'deleted']).optional().catch(undefined),
  step: z.literal('two-factor').optional().catch(undefined),
})

/** Search of `/signup`: the referral code (`ref`) and the invitation code. */
export const SignupSearch = z.object({ redirect: Path.optional().catch(undefined), ref: Code, invite: Code })

export const TokenSearch = z.object({ token: Code })

/** Returns a message for the `error` of a failed sign-in; unknown codes get a generic one. */
export function describeSignInError(code: string): string {
  return lostSignIns[code] ?? 'Sign-in failed. Try again.'
}
