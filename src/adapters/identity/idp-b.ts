import type { ClientAuth, Configuration } from 'openid-client'
import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import {
  boundedFetch,
  type ExternalProfile,
  exchangeFailed,
  type IdentityProvider,
  PROVIDER_TIMEOUT_MS,
  providerFailed,
  type SignInReturn,
} from './provider.ts'

type IdpBOptions = {
  clientId: string | undefined
  clientSecret: string | undefined
  issuer: string
  timeoutMs?: number
}

const SCOPES = ['openid', 'email', 'profile']
/** Cache lifetime of the discovery document. */
const DISCOVERY_MS = 60 * 60_000

/** openid-client codes for a valid ID token that belongs to another sign-in. */
const FOREIGN_TOKEN = new Set([
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
])

/** Some providers send booleans as strings. */
const UserInfo = z.object({
  email: z.string().nullish(),
  email_verified: z.union([z.boolean(), z.stringbool()]).nullish().catch(null),
  name: z.string().nullish().catch(null),
})

/** Creates an OpenID Connect provider found by discovery at its issuer. Returns null unless configured. */
export function createIdpB(options: IdpBOptions, deps: { fetch: typeof fetch }): IdentityProvider | null {
  const { clientId, clientSecret } = options
  if (!clientId || !clientSecret) return null
  const discover = rememberFor(DISCOVERY_MS, () => discoverProvider({ ...options, clientId, clientSecret }, deps))

  return {
    name: options.issuer === 'https://accounts.google.com' ? 'Google' : null,
    async startUrl({ redirectUri, state, nonce, codeVerifier }) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      const config = await discover()
      return buildAuthorizationUrl(config, {
        ...offlineAccess(config),
        redirect_uri: redirectUri,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      })
    },
    async identify(back) {
      const { fetchUserInfo } = await import('openid-client')
      const config = await discover()
      const tokens = await exchange(config, back)
      const claims = tokens.claims()
      if (!claims) throw notForUs('there is no ID token')
      const userInfo = await fetchUserInfo(config, tokens.access_token, claims.sub)
        .then((body) => UserInfo.parse(body))
        .catch((error: unknown) => {
          throw providerFailed(error)
        })
      return toProfile(claims, userInfo, tokens.refresh_token)
    },
  }
}

function toProfile(
  claims: { iss: string; sub: string },
  userInfo: z.infer<typeof UserInfo>,
  refreshToken: string | undefined,
): ExternalProfile {
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: (userInfo.email_verified === true && userInfo.email) || null,
    name: userInfo.name || null,
    refreshToken: refreshToken ?? null,
  }
}

async function discoverProvider(
  options: IdpBOptions & { clientId: string; clientSecret: string },
  deps: { fetch: typeof fetch },
): Promise<Configuration> {
  const client = await import('openid-client')
  const execute = [client.enableNonRepudiationChecks]
  // The operator configured http explicitly; the default is https.
  if (options.issuer.startsWith('http:')) execute.push(client.allowInsecureRequests)
  return client
    .discovery(new URL(options.issuer), options.clientId, undefined, toClientAuth(client, options.clientSecret), {
      [client.customFetch]: boundedFetch(deps.fetch),
      timeout: (options.timeoutMs ?? PROVIDER_TIMEOUT_MS) / 1000,
      execute,
    })
    .catch((error: unknown) => {
      throw providerFailed(error)
    })
}

/** The default method is `client_secret_basic` (RFC 8414, section 2). */
function toClientAuth(client: typeof import('openid-client'), secret: string): ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const authenticate = methods.includes('client_secret_basic') ? basic : post
    authenticate(server, ...request)
  }
}

/** Google requires `access_type`; OpenID Connect Core, section 11, requires a scope and user consent. */
function offlineAccess(config: Configuration): Record<string, string> {
  const isListed = config.serverMetadata().scopes_supported?.includes('offline_access') ?? false
  return {
    access_type: 'offline',
    scope: [...SCOPES, ...(isListed ? ['offline_access'] : [])].join(' '),
    prompt: isListed ? 'consent' : 'select_account',
  }
}

async function exchange(config: Configuration, back: SignInReturn) {
  const { authorizationCodeGrant } = await import('openid-client')
  const callbackUrl = new URL(`${back.redirectUri}${back.search}`)
  requireIssuer(config, callbackUrl)
  try {
    return await authorizationCodeGrant(config, callbackUrl, {
      expectedState: back.state,
      expectedNonce: back.nonce,
      pkceCodeVerifier: back.codeVerifier,
      idTokenExpected: true,
    })
  } catch (error) {
    if (FOREIGN_TOKEN.has(codeOf(error))) throw notForUs(errorMessage(error), error)
    throw exchangeFailed(error)
  }
}

/** Rejects a code issued by another provider (RFC 9207). */
function requireIssuer(config: Configuration, callbackUrl: URL): void {
  const server = config.serverMetadata()
  const issuer = callbackUrl.searchParams.get('iss')
  if (issuer === null && !server.authorization_response_iss_parameter_supported) return
  if (issuer !== server.issuer) throw notForUs('the answer is of another issuer')
}

function notForUs(reason: string, cause?: unknown): AppError {
  return new AppError('unauthenticated', `What came back is not for this sign-in: ${reason}`, {}, { cause })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Caches a result for `lifetimeMs` and shares one pending call; failures are not cached. */
function rememberFor<T>(lifetimeMs: number, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined
  let askedAt = 0
  return () => {
    if (answer && performance.now() - askedAt < lifetimeMs) return answer
    askedAt = performance.now()
    const asked = ask()
    answer = asked
    asked.catch(() => {
      if (answer === asked) answer = undefined
    })
    return asked
  }
}
