import { isIP } from 'node:net'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { VERSION } from '../../core/version.ts'
import { isAllowedAddress } from '../egress/addresses.ts'

const PKCE_METHOD = 'S256'
export const MAX_SCOPE_CHARACTERS = 4000
const Names = z.array(z.string().max(200)).max(500)
const Endpoint = z.url().max(2048)

/** The metadata of an authorization server that is used and stored (RFC 8414). */
export const McpIssuer = z.object({
  issuer: z.string().max(2048),
  authorization_endpoint: Endpoint,
  token_endpoint: Endpoint,
  registration_endpoint: Endpoint.optional(),
  revocation_endpoint: Endpoint.optional(),
  response_types_supported: Names,
  code_challenge_methods_supported: Names.optional(),
  token_endpoint_auth_methods_supported: Names.optional(),
  revocation_endpoint_auth_methods_supported: Names.optional(),
  scopes_supported: Names.optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined),
})
export type McpIssuer = z.infer<typeof McpIssuer>

/** The authorization server of an MCP server, the resource to request and the scopes that the server names. */
export type McpProtection = { issuer: McpIssuer; resource: string; scope: string | null }

/** Loads the SDK on first use because most installations have no MCP server. */
export function loadSdk() {
  return import('@modelcontextprotocol/client')
}

/**
 * Reads the metadata of an MCP server and of its authorization server (RFC 9728, 8414).
 * @throws AppError `upstream_failed` NO_AUTHORIZATION_SERVER, ISSUER_MISMATCH, UNSAFE_ENDPOINT, PKCE_UNSUPPORTED; errors of
 * the SDK.
 */
export async function discoverProtection(
  fetch: typeof globalThis.fetch,
  serverUrl: string,
  allowPrivate: boolean,
): Promise<McpProtection> {
  const { discoverOAuthServerInfo, extractWWWAuthenticateParams, resourceUrlFromServerUrl, selectResourceURL } =
    await loadSdk()
  const { IssuerMismatchError } = await loadSdk()
  const challenge = extractWWWAuthenticateParams(await probe(fetch, serverUrl))
  const found = await discoverOAuthServerInfo(serverUrl, {
    fetchFn: fetch,
    ...(challenge.resourceMetadataUrl && { resourceMetadataUrl: challenge.resourceMetadataUrl }),
  }).catch((cause: unknown) => {
    throw cause instanceof IssuerMismatchError ? issuerMismatch(cause) : cause
  })
  const { authorizationServerMetadata: metadata, resourceMetadata } = found
  if (!metadata) {
    const message = 'The MCP server names no authorization server'
    throw new AppError('upstream_failed', message, { code: 'NO_AUTHORIZATION_SERVER' })
  }
  const issuer = McpIssuer.parse(metadata)
  requireSafeEndpoints(issuer, allowPrivate)
  if (!issuer.code_challenge_methods_supported?.includes(PKCE_METHOD)) {
    const message = 'The authorization server does not support PKCE with S256'
    throw new AppError('upstream_failed', message, { code: 'PKCE_UNSUPPORTED' })
  }
  const named = challenge.scope ?? resourceMetadata?.scopes_supported?.join(' ')
  // The SDK refuses metadata of another resource.
  await selectResourceURL(serverUrl, NO_PROVIDER, resourceMetadata)
  const resource = resourceMetadata?.resource ?? resourceUrlFromServerUrl(serverUrl).href
  return { issuer, resource, scope: toScope(named, issuer) }
}

/** `selectResourceURL` reads only `validateResourceURL` of its provider. */
const NO_PROVIDER = {
  redirectUrl: undefined,
  clientMetadata: { redirect_uris: [] },
  clientInformation: () => undefined,
  tokens: () => undefined,
  saveTokens: () => undefined,
  redirectToAuthorization: () => undefined,
  saveCodeVerifier: () => undefined,
  codeVerifier: () => '',
}

/** Sends a request without a token: the answer names the metadata and the scopes (RFC 9728, 5.1). */
function probe(fetch: typeof globalThis.fetch, serverUrl: string): Promise<Response> {
  const clientInfo = { name: 'stead', version: VERSION }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  return fetch(serverUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
}

/** Requests a refresh token where the authorization server has a scope for it. */
function toScope(named: string | undefined, { scopes_supported: supported = [] }: McpIssuer): string | null {
  const scopes = (named ?? '').split(/\s+/).filter(Boolean)
  if (scopes.length === 0) return null
  const all = supported.includes('offline_access') ? [...new Set([...scopes, 'offline_access'])] : scopes
  return all.join(' ').slice(0, MAX_SCOPE_CHARACTERS)
}

/**
 * Requires https and no private address. The egress client checks the addresses that names resolve to, but the
 * browser opens the authorization endpoint.
 */
function requireSafeEndpoints(issuer: McpIssuer, allowPrivate: boolean): void {
  const { authorization_endpoint, token_endpoint, registration_endpoint, revocation_endpoint } = issuer
  for (const endpoint of [authorization_endpoint, token_endpoint, registration_endpoint, revocation_endpoint]) {
    if (endpoint !== undefined && !isSafeEndpoint(new URL(endpoint), allowPrivate)) {
      const message = 'The authorization server names an endpoint without https or with a private address'
      throw new AppError('upstream_failed', message, { code: 'UNSAFE_ENDPOINT' })
    }
  }
}

function isSafeEndpoint({ protocol, hostname, username }: URL, allowPrivate: boolean): boolean {
  const name = hostname.replace(/^\[|\]$/g, '')
  if (username !== '' || (isIP(name) !== 0 && !isAllowedAddress(name, allowPrivate))) return false
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  return protocol === 'https:' ? allowPrivate || !isLocal : protocol === 'http:' && allowPrivate
}

/** Creates the error of an answer that another authorization server sent. */
export function issuerMismatch(cause: unknown): AppError {
  const message = 'The answer does not come from the authorization server that the MCP server names'
  return new AppError('upstream_failed', message, { code: 'ISSUER_MISMATCH' }, { cause })
}
