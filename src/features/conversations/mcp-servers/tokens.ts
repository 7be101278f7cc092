import { and, eq } from 'drizzle-orm'
import type { McpAccess } from '../../../adapters/mcp/client.ts'
import type { McpTokens } from '../../../adapters/mcp/oauth.ts'
import type { McpIssuer } from '../../../adapters/mcp/oauth-discovery.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import {
  type AuthorizationDeps,
  type AuthorizationSecrets,
  authorizationRequired,
  expireAuthorization,
  findAuthorization,
  openAuthorization,
  sealAuthorization,
} from './authorizations.ts'
import { type McpAuthorizationRow, type McpServerRow, mcpAuthorizations } from './tables.ts'

/** Renews a token before it expires, because a call may take a minute. */
const RENEW_BEFORE_MS = 60_000
/** How long other nodes wait for the node that renews. Longer than its request may take. */
const RENEWING_MS = 30_000

/** Returns the access to a server; undefined for a server that was never connected. */
export function findAccess(deps: AuthorizationDeps, server: McpServerRow): McpAccess | undefined {
  if (!findAuthorization(deps.db, server.id)) return undefined
  return {
    token: async () => {
      const { row, secrets } = getConnected(deps, server)
      const isDue = row.expiresAt !== null && row.expiresAt.getTime() - RENEW_BEFORE_MS <= deps.clock.now().getTime()
      return isDue ? renewOnce(deps, server, secrets.accessToken) : secrets.accessToken
    },
    renew: async (refused) => {
      await renewOnce(deps, server, refused)
    },
    end: async (missingScope) => {
      const sealed = findAuthorization(deps.db, server.id)?.sealed ?? null
      await expireAuthorization(deps, server, { sealed, missingScope })
      throw authorizationRequired(deps, server)
    },
  }
}

type Connected = { row: McpAuthorizationRow; secrets: AuthorizationSecrets & { accessToken: string } }

/** @throws AppError MCP_AUTHORIZATION_REQUIRED. */
function getConnected(deps: AuthorizationDeps, server: McpServerRow): Connected {
  const row = findAuthorization(deps.db, server.id)
  const secrets = row && openAuthorization(deps.sealer, row)
  if (row?.status !== 'connected' || !secrets?.accessToken) throw authorizationRequired(deps, server)
  return { row, secrets: { ...secrets, accessToken: secrets.accessToken } }
}

/** Replaces the token `stale`; concurrent callers share one request. @returns the new token. */
function renewOnce(deps: AuthorizationDeps, server: McpServerRow, stale: string): Promise<string> {
  const running = deps.mcpRenewals.get(server.id)
  if (running) return running
  const renewal = renew(deps, server, stale).finally(() => deps.mcpRenewals.delete(server.id))
  deps.mcpRenewals.set(server.id, renewal)
  return renewal
}

/** The new tokens are durable before the first use: the authorization server may have ended the old ones. */
async function renew(deps: AuthorizationDeps, server: McpServerRow, stale: string): Promise<string> {
  const { row, secrets } = getConnected(deps, server)
  if (secrets.accessToken !== stale) return secrets.accessToken
  const { issuer, resource } = row
  const { refreshToken, client } = secrets
  if (issuer === null || resource === null || refreshToken === null) {
    await expireAuthorization(deps, server, { sealed: row.sealed, missingScope: null })
    throw authorizationRequired(deps, server)
  }
  await claimRenewal(deps, server, row)
  const tokens = await deps.mcpOauth.renew({ issuer, resource, client }, refreshToken).catch(async (error) => {
    await releaseRenewal(deps, server.id)
    throw error
  })
  if (tokens === null) {
    await expireAuthorization(deps, server, { sealed: row.sealed, missingScope: null })
    throw authorizationRequired(deps, server)
  }
  return saveTokens(deps, server, { row, client, tokens })
}

/** Keeps other nodes from using the refresh token. @throws AppError `unavailable` while another node renews. */
async function claimRenewal(deps: AuthorizationDeps, server: McpServerRow, { sealed }: McpAuthorizationRow) {
  const now = deps.clock.now()
  const isClaimed = await write(deps.db, (tx) => {
    const present = findAuthorization(tx, server.id)
    if (!present || present.sealed !== sealed || (present.renewingUntil && present.renewingUntil > now)) return false
    const renewingUntil = new Date(now.getTime() + RENEWING_MS)
    tx.update(mcpAuthorizations).set({ renewingUntil }).where(eq(mcpAuthorizations.serverId, server.id)).run()
    return true
  })
  if (!isClaimed) throw new AppError('unavailable', 'The access to this MCP server is being renewed. Try again')
}

async function releaseRenewal(deps: AuthorizationDeps, serverId: string): Promise<void> {
  await write(deps.db, (tx) =>
    tx.update(mcpAuthorizations).set({ renewingUntil: null }).where(eq(mcpAuthorizations.serverId, serverId)).run(),
  )
}

type Renewed = { row: McpAuthorizationRow; client: AuthorizationSecrets['client']; tokens: McpTokens }

async function saveTokens(deps: AuthorizationDeps, server: McpServerRow, { row, client, tokens }: Renewed) {
  const { accessToken, refreshToken } = tokens
  const now = deps.clock.now()
  const sealed = sealAuthorization(deps.sealer, server.id, { client, accessToken, refreshToken })
  const change = { sealed, expiresAt: toExpiry(tokens, now), renewingUntil: null, updatedAt: now }
  const isSame = and(eq(mcpAuthorizations.serverId, server.id), eq(mcpAuthorizations.sealed, row.sealed ?? ''))
  const { changes } = await write(deps.db, (tx) =>
    tx
      .update(mcpAuthorizations)
      .set({ ...change, ...(tokens.scope !== null && { scope: tokens.scope }) })
      .where(isSame)
      .run(),
  )
  // The owner disconnected or connected again during the request.
  if (changes === 0) return getConnected(deps, server).secrets.accessToken
  return accessToken
}

export function toExpiry({ expiresInSeconds }: McpTokens, now: Date): Date | null {
  return expiresInSeconds === null ? null : new Date(now.getTime() + expiresInSeconds * 1000)
}

/** Revokes the tokens of an authorization that is deleted already. */
export async function revokeTokens(
  { mcpOauth, log }: Pick<AuthorizationDeps, 'mcpOauth' | 'log'>,
  { row, secrets }: { row: McpAuthorizationRow; secrets: AuthorizationSecrets },
): Promise<{ revoked: boolean; error: string | null }> {
  const { issuer, resource } = row
  if (issuer === null || resource === null) return { revoked: false, error: null }
  try {
    return { revoked: await requireRevoked({ mcpOauth }, { issuer, resource }, secrets), error: null }
  } catch (error) {
    log.warn({ server: row.serverId, error: errorMessage(error) }, 'revoking the access to an MCP server failed')
    return { revoked: false, error: errorMessage(error) }
  }
}

/** @returns whether the authorization server offers revocation. @throws AppError `upstream_failed`. */
export async function requireRevoked(
  { mcpOauth }: Pick<AuthorizationDeps, 'mcpOauth'>,
  place: { issuer: McpIssuer; resource: string },
  { client, accessToken, refreshToken }: AuthorizationSecrets,
): Promise<boolean> {
  let isRevoked = false
  const grant = { ...place, client }
  // The refresh token first: many servers end the access token with it.
  if (refreshToken !== null) isRevoked = await mcpOauth.revoke(grant, { token: refreshToken, hint: 'refresh_token' })
  if (accessToken !== null) isRevoked = await mcpOauth.revoke(grant, { token: accessToken, hint: 'access_token' })
  return isRevoked
}
