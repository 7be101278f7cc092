import type { CustomFetchOptions } from 'openid-client'
import { AppError, errorMessage } from '../../core/errors.ts'
import { readText } from '../egress/answers/read-text.ts'

/** Values that bind a callback to the sign-in started here. The browser sees all but the verifier. */
type SignInRequest = { redirectUri: string; state: string; nonce: string; codeVerifier: string }

/** A completed sign-in; `search` is the callback's original query string. */
export type SignInReturn = SignInRequest & { code: string; search: string }

/** The signed-in user, identified by (issuer, subject); `email` is null unless the provider verified it. */
export type ExternalProfile = {
  issuer: string
  subject: string
  email: string | null
  name: string | null
  refreshToken: string | null
}

export type IdentityProvider = {
  /** Display name of a well-known provider, or null. */
  readonly name: string | null
  /** Returns the URL to redirect the browser to. @throws AppError `upstream_failed` when discovery fails. */
  startUrl(request: SignInRequest): Promise<URL>
  /**
   * Exchanges the code and returns the profile.
   * @throws AppError `upstream_failed` with code `IdpTokenFailed` when the exchange fails, `unauthenticated` when the
   * response belongs to another sign-in.
   */
  identify(back: SignInReturn): Promise<ExternalProfile>
}

/** Timeout of each request to a provider. */
export const PROVIDER_TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024
const MAX_VALUES = 20_000

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

const WITHOUT_BODY = new Set([204, 205, 304])

/** Wraps `fetch` for openid-client and limits the response size, because the library reads bodies without a limit. */
export function boundedFetch(ask: typeof fetch) {
  return async (url: string, init: CustomFetchOptions): Promise<Response> => {
    const { status, headers, ...response } = await ask(url, toRequestInit(init)).then(readWhole)
    return new Response(WITHOUT_BODY.has(status) ? null : response.text, { status, headers })
  }
}

async function readWhole(response: Response) {
  const headers = new Headers(response.headers)
  headers.delete('content-encoding')
  headers.delete('content-length')
  return { status: response.status, headers, text: await readText(response, MAX_BYTES, MAX_VALUES) }
}

/** Omits an undefined body. */
function toRequestInit({ body, signal, ...init }: CustomFetchOptions): RequestInit {
  return { ...init, ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) }
}
