import type { Configuration } from 'openid-client'
import { z } from 'zod'
import { listOf } from '../../core/text/lines.ts'
import { readJson } from '../egress/answers/read-text.ts'
import { boundedFetch, exchangeFailed, type IdentityProvider, PROVIDER_TIMEOUT_MS, providerFailed } from './provider.ts'

type IdpAOptions = {
  clientId: string | undefined
  clientSecret: string | undefined
  authorizeUrl: string
  tokenUrl: string
  apiUrl: string
  timeoutMs?: number
}

const SCOPE = 'read:user user:email'

const UserResponse = z.object({
  id: z.union([z.number().int(), z.string().min(1)]).transform(String),
  login: z.string().nullish(),
  name: z.string().nullish(),
})
const EmailsResponse = listOf(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/**
 * Creates a GitHub-compatible provider: OAuth 2 with PKCE, then `GET /user` and `GET /user/emails`. Returns null unless
 * configured.
 */
export function createIdpA(options: IdpAOptions, deps: { fetch: typeof fetch }): IdentityProvider | null {
  const { clientId, clientSecret, timeoutMs = PROVIDER_TIMEOUT_MS } = options
  if (!clientId || !clientSecret) return null

  // A redirect could send the secret or the token to another host.
  const request = async (url: string, init: RequestInit) => {
    const response = await deps.fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) throw new StatusError(response.status)
    return readJson(response)
  }

  const get = (path: string, accessToken: string) =>
    request(`${options.apiUrl}${path}`, {
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${accessToken}`,
        'user-agent': 'stead',
      },
    })

  const getEmails = async (accessToken: string) => {
    try {
      return EmailsResponse.parse(await get('/user/emails?per_page=100', accessToken))
    } catch (error) {
      // An account that denies access to its addresses has no verified address.
      if (error instanceof StatusError && [403, 404].includes(error.status)) return []
      throw error
    }
  }

  const issuer = new URL(options.authorizeUrl).origin
  const configure = () => configureOAuth({ ...options, clientId, clientSecret, timeoutMs, issuer }, deps)

  return {
    name: issuer === 'https://github.com' ? 'GitHub' : null,
    async startUrl({ redirectUri, state, codeVerifier }) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      return buildAuthorizationUrl(await configure(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
    },
    async identify({ code, state, redirectUri, codeVerifier }) {
      const { authorizationCodeGrant } = await import('openid-client')
      const back = new URL(`${redirectUri}?${new URLSearchParams({ code, state })}`)
      const checks = { expectedState: state, pkceCodeVerifier: codeVerifier }
      const tokens = await authorizationCodeGrant(await configure(), back, checks).catch((error: unknown) => {
        throw exchangeFailed(error)
      })
      const [user, emails] = await Promise.all([
        get('/user', tokens.access_token).then((body) => UserResponse.parse(body)),
        getEmails(tokens.access_token),
      ]).catch((error: unknown) => {
        throw providerFailed(error)
      })
      return {
        issuer,
        subject: user.id,
        email: emails.find((email) => email.primary && email.verified)?.email ?? null,
        name: user.name || user.login || null,
        refreshToken: tokens.refresh_token ?? null,
      }
    },
  }
}

type OAuthOptions = IdpAOptions & { clientId: string; clientSecret: string; timeoutMs: number; issuer: string }

/** GitHub-compatible providers have no discovery, so their URLs are settings. */
async function configureOAuth(options: OAuthOptions, deps: { fetch: typeof fetch }): Promise<Configuration> {
  const client = await import('openid-client')
  const { issuer, authorizeUrl, tokenUrl, clientId, clientSecret, timeoutMs } = options
  const server = { issuer, authorization_endpoint: authorizeUrl, token_endpoint: tokenUrl }
  const config = new client.Configuration(server, clientId, undefined, client.ClientSecretPost(clientSecret))
  config[client.customFetch] = boundedFetch(deps.fetch)
  config.timeout = timeoutMs / 1000
  // The operator configured http explicitly; the default is https.
  if (authorizeUrl.startsWith('http:') || tokenUrl.startsWith('http:')) client.allowInsecureRequests(config)
  return config
}

class StatusError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`it answered ${status}`)
    this.status = status
  }
}
