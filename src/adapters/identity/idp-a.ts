import { z } from 'zod'
import { exchangeFailed, type IdentityProvider, PROVIDER_TIMEOUT_MS, providerFailed } from './provider.ts'

export type IdpAOptions = {
  clientId: string | undefined
  clientSecret: string | undefined
  authorizeUrl: string
  tokenUrl: string
  apiUrl: string
  timeoutMs?: number
}

const SCOPES = ['read:user', 'user:email']
const FORM_TYPE = 'application/x-www-form-urlencoded'

const TokenResponse = z.object({ access_token: z.string().min(1), refresh_token: z.string().min(1).nullish() })
const UserResponse = z.object({
  id: z.union([z.number().int(), z.string().min(1)]).transform(String),
  login: z.string().nullish(),
  name: z.string().nullish(),
})
const EmailsResponse = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** A code-hosting provider in GitHub's form: OAuth 2 with PKCE, then `GET /user` and `GET /user/emails`. Null unless configured. */
export function createIdpA(options: IdpAOptions, deps: { fetch: typeof fetch }): IdentityProvider | null {
  const { clientId, clientSecret, timeoutMs = PROVIDER_TIMEOUT_MS } = options
  if (!clientId || !clientSecret) return null

  // A redirect would carry the secret, or the token, to wherever it points.
  const request = async (url: string, init: RequestInit) => {
    const response = await deps.fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) throw new StatusError(response.status)
    return response.json()
  }

  const exchange = async (fields: Record<string, string>) => {
    // Arctic's own request takes neither a time limit nor a fetch; GitHub answers 200 to a wrong code as well.
    const body = new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret }).toString()
    const headers = { accept: 'application/json', 'content-type': FORM_TYPE, 'user-agent': 'stead' }
    return TokenResponse.parse(await request(options.tokenUrl, { method: 'POST', headers, body }))
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
      // An account that does not show its addresses has none that count.
      if (error instanceof StatusError && [403, 404].includes(error.status)) return []
      throw error
    }
  }

  const issuer = new URL(options.authorizeUrl).origin

  return {
    name: issuer === 'https://github.com' ? 'GitHub' : null,
    async startUrl({ redirectUri, state, codeVerifier }) {
      const { CodeChallengeMethod, OAuth2Client } = await import('arctic')
      const client = new OAuth2Client(clientId, clientSecret, redirectUri)
      const { S256 } = CodeChallengeMethod
      return client.createAuthorizationURLWithPKCE(options.authorizeUrl, state, S256, codeVerifier, SCOPES)
    },
    async identify({ code, redirectUri, codeVerifier }) {
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: codeVerifier }
      const tokens = await exchange(fields).catch((error: unknown) => {
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

class StatusError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`it answered ${status}`)
    this.status = status
  }
}
