import type { CustomFetchOptions } from 'openid-client'
import { AppError, errorMessage } from '../../core/errors.ts'

/** What ties a sign-in at a provider to the one that was begun here. All but the verifier are seen by the browser. */
export type SignInRequest = { redirectUri: string; state: string; nonce: string; codeVerifier: string }

/** A sign-in that came back: `search` is the query of the callback as the provider wrote it. */
export type SignInReturn = SignInRequest & { code: string; search: string }

/** Who signed in. (issuer, subject) identify him; `email` is null unless the provider says that it is verified. */
export type ExternalProfile = {
  issuer: string
  subject: string
  email: string | null
  name: string | null
  refreshToken: string | null
}

export type IdentityProvider = {
  /** What people call it, when it is one that everybody knows. */
  readonly name: string | null
  /** Where to send the browser. @throws AppError `upstream_failed` when the provider cannot be asked how it works. */
  startUrl(request: SignInRequest): Promise<URL>
  /**
   * Exchanges the code and asks who it was.
   * @throws AppError `upstream_failed`, with code `IdpTokenFailed` when the code could not be exchanged;
   * `unauthenticated` when what came back is not for this sign-in.
   */
  identify(back: SignInReturn): Promise<ExternalProfile>
}

/** For every request to a provider. */
export const PROVIDER_TIMEOUT_MS = 10_000

export function exchangeFailed(error: unknown): AppError {
  return new AppError(
    'upstream_failed',
    `The code could not be exchanged: ${errorMessage(error)}`,
    { code: 'IdpTokenFailed' },
    { cause: error },
  )
}

export function providerFailed(error: unknown): AppError {
  return new AppError(
    'upstream_failed',
    `The identity provider did not answer as it should: ${errorMessage(error)}`,
    {},
    { cause: error },
  )
}

/** What openid-client hands to its `fetch`: a body that is undefined is none. */
export function toRequestInit({ body, signal, ...init }: CustomFetchOptions): RequestInit {
  return { ...init, ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) }
}
