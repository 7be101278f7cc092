import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Egress } from '../egress/egress.ts'
import { fetchOver } from '../egress/fetch.ts'
import {
  discoverProtection,
  issuerMismatch,
  loadSdk,
  MAX_SCOPE_CHARACTERS,
  type McpIssuer,
  type McpProtection,
} from './oauth-discovery.ts'

const LIMITS = { timeoutMs: 10_000, maxBytes: 256 * 1024 }

/**
 * Credentials of the client at the authorization server. `registered_scope` is set for a client that Stead registered:
 * authorization servers refuse it any other scope.
 */
export const McpClientId = z.object({
  client_id: z.string(),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  registered_scope: z.string().optional(),
})
export type McpClientId = z.infer<typeof McpClientId>

export type McpTokens = {
  accessToken: string
  refreshToken: string | null
  expiresInSeconds: number | null
  /** Null when the authorization server granted what was requested. */
  scope: string | null
}

/** The fixed part of a token request. */
type Grant = { issuer: McpIssuer; resource: string; client: McpClientId }

/**
 * The OAuth client for MCP servers (MCP authorization; RFC 9728, 8414, 7591, 7636, 8707, 9207, 7009). All requests go
 * through the egress client.
 */
export type McpOauth = {
  /** @throws AppError `upstream_failed` NO_AUTHORIZATION_SERVER, ISSUER_MISMATCH, UNSAFE_ENDPOINT; PKCE_UNSUPPORTED. */
  discover(serverUrl: string): Promise<McpProtection>
  /** Registers a client. @throws AppError `conflict` CLIENT_REQUIRED where the server does not register clients. */
  register(issuer: McpIssuer, client: { redirectUri: string; scope: string | null }): Promise<McpClientId>
  /** Returns the URL for the owner's browser and the PKCE verifier. */
  start(
    grant: Grant,
    request: { redirectUri: string; state: string; scope: string | null },
  ): Promise<{ url: string; codeVerifier: string }>
  /** @throws AppError `upstream_failed` ISSUER_MISMATCH unless `iss` names the issuer, or may be missing (RFC 9207). */
  requireIssuer(issuer: McpIssuer, iss: string | undefined): Promise<void>
  exchange(grant: Grant, answer: { code: string; codeVerifier: string; redirectUri: string }): Promise<McpTokens>
  /** Returns null when the authorization server no longer accepts the refresh token or the client. */
  renew(grant: Grant, refreshToken: string): Promise<McpTokens | null>
  /** @returns whether the authorization server offers revocation. @throws AppError `upstream_failed`. */
  revoke(grant: Grant, token: { token: string; hint: 'access_token' | 'refresh_token' }): Promise<boolean>
}

/** Creates the client. `allowPrivate` as for the egress client: it permits http and private addresses. */
export function createMcpOauth(egress: Egress, { allowPrivate }: { allowPrivate: boolean }): McpOauth {
  const fetch = fetchOver(egress, LIMITS)
  return {
    discover: (serverUrl) => orUpstreamFailed(discoverProtection(fetch, serverUrl, allowPrivate)),
    register: (issuer, client) => orUpstreamFailed(register(fetch, issuer, client)),
    async start({ issuer, resource, client }, { redirectUri, state, scope }) {
      const { startAuthorization } = await loadSdk()
      const { authorizationUrl, codeVerifier } = await startAuthorization(issuer.issuer, {
        metadata: issuer,
        clientInformation: client,
        redirectUrl: redirectUri,
        state,
        resource,
        ...(scope !== null && { scope }),
      })
      return { url: authorizationUrl.href, codeVerifier }
    },
    async requireIssuer(issuer, iss) {
      const { validateAuthorizationResponseIssuer } = await loadSdk()
      try {
        validateAuthorizationResponseIssuer({
          iss,
          expectedIssuer: issuer.issuer,
          issParameterSupported: issuer.authorization_response_iss_parameter_supported === true,
        })
      } catch (cause) {
        throw issuerMismatch(cause)
      }
    },
    exchange: ({ issuer, resource, client }, { code, codeVerifier, redirectUri }) =>
      orUpstreamFailed(
        loadSdk().then(async ({ exchangeAuthorization }) => {
          // `iss` is validated before, also for responses without a code.
          const metadata = { ...issuer, authorization_response_iss_parameter_supported: false }
          const request = { metadata, clientInformation: client, authorizationCode: code, codeVerifier }
          return toTokens(
            await exchangeAuthorization(issuer.issuer, {
              ...request,
              redirectUri,
              resource,
              fetchFn: fetch,
            }),
          )
        }),
      ),
    renew: (grant, refreshToken) => orUpstreamFailed(renew(fetch, grant, refreshToken)),
    revoke: (grant, token) => orUpstreamFailed(revoke(fetch, grant, token)),
  }
}

async function register(
  fetch: typeof globalThis.fetch,
  issuer: McpIssuer,
  { redirectUri, scope }: { redirectUri: string; scope: string | null },
): Promise<McpClientId> {
  const { registerClient, RegistrationRejectedError } = await loadSdk()
  if (issuer.registration_endpoint === undefined) throw clientRequired(issuer)
  const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const method = AUTH_METHODS.find((each) => methods.includes(each)) ?? 'none'
  try {
    const { client_id, client_secret, token_endpoint_auth_method } = await registerClient(issuer.issuer, {
      metadata: issuer,
      clientMetadata: {
        client_name: 'Stead',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: method,
        application_type: isLoopback(redirectUri) ? 'native' : 'web',
      },
      ...(scope !== null && { scope }),
      fetchFn: fetch,
    })
    return { client_id, client_secret, token_endpoint_auth_method, registered_scope: scope ?? '' }
  } catch (cause) {
    if (cause instanceof RegistrationRejectedError) throw clientRequired(issuer, cause)
    throw cause
  }
}

const AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

function isLoopback(redirectUri: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(redirectUri).hostname)
}

function clientRequired({ issuer }: McpIssuer, cause?: unknown): AppError {
  const message = `${issuer} does not register clients: enter the client ID of an application that you create there`
  return new AppError('conflict', message, { code: 'CLIENT_REQUIRED' }, { cause })
}

async function renew(fetch: typeof globalThis.fetch, { issuer, resource, client }: Grant, refreshToken: string) {
  const { OAuthError, refreshAuthorization } = await loadSdk()
  const request = { metadata: issuer, clientInformation: client, refreshToken, resource, fetchFn: fetch }
  try {
    return toTokens(await refreshAuthorization(issuer.issuer, request))
  } catch (error) {
    if (error instanceof OAuthError && FINAL_ERRORS.has(error.code)) return null
    throw error
  }
}

/** Token errors after which only a new authorization helps (RFC 6749, 5.2). */
const FINAL_ERRORS: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client'])

type Issued = {
  access_token: string
  refresh_token?: string | undefined
  expires_in?: number | undefined
  scope?: string | undefined
}

function toTokens({ access_token, refresh_token, expires_in, scope }: Issued): McpTokens {
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? null,
    expiresInSeconds: expires_in ?? null,
    scope: scope?.slice(0, MAX_SCOPE_CHARACTERS) ?? null,
  }
}

/** RFC 7009: any 200 means that the token is not valid any more. */
async function revoke(
  fetch: typeof globalThis.fetch,
  { issuer, client }: Grant,
  { token, hint }: { token: string; hint: string },
): Promise<boolean> {
  const { selectClientAuthMethod } = await loadSdk()
  const { revocation_endpoint: endpoint, revocation_endpoint_auth_methods_supported: own } = issuer
  if (endpoint === undefined) return false
  const method = selectClientAuthMethod(client, own ?? issuer.token_endpoint_auth_methods_supported ?? [])
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' })
  const body = new URLSearchParams({ token, token_type_hint: hint })
  if (method === 'client_secret_basic') {
    // RFC 6749, 2.3.1: both parts are form-encoded first.
    const pair = [client.client_id, client.client_secret ?? ''].map(encodeURIComponent).join(':')
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  } else {
    body.set('client_id', client.client_id)
    if (method === 'client_secret_post' && client.client_secret) body.set('client_secret', client.client_secret)
  }
  const response = await fetch(endpoint, { method: 'POST', headers, body: body.toString() })
  if (!response.ok) throw new Error(`The revocation endpoint answered ${response.status}`)
  return true
}

/** Errors of the SDK may quote the server, so only our own are returned. */
async function orUpstreamFailed<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const reason = cause instanceof Error && cause.cause instanceof AppError ? `: ${errorMessage(cause.cause)}` : ''
    const message = `The authorization server did not answer as it should${reason}`
    throw new AppError('upstream_failed', message, { code: 'AUTHORIZATION_FAILED' }, { cause })
  }
}
