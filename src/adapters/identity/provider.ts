import type { CustomFetchOptions } from 'openid-client'
import { AppError, errorMessage } from '../../core/errors.ts'
import { readText } from '../egress/answers/read-text.ts'

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

/**
 * `fetch` as openid-client calls it. What a provider says is read here, as far as it can be meant: the library would read and
 * look through all of it at once.
 */
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

/** A body that is undefined is none. */
function toRequestInit({ body, signal, ...init }: CustomFetchOptions): RequestInit {
  return { ...init, ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) }
}
