import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { McpClientId, type McpOauth } from '../../../adapters/mcp/oauth.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import type { Authorization } from './schemas.ts'
import { type McpAuthorizationRow, type McpServerRow, mcpAuthorizations } from './tables.ts'

/** Running renewals by server. One map for the whole platform. */
export type McpRenewals = Map<string, Promise<string>>

export type AuthorizationDeps = Base & {
  mcpOauth: McpOauth
  mcpRenewals: McpRenewals
  sendNotice: SendNotice
  appUrl: string
}

/** The sealed part of an authorization. */
const Secrets = z.object({
  client: McpClientId,
  accessToken: z.string().nullable(),
  refreshToken: z.string().nullable(),
})
export type AuthorizationSecrets = z.infer<typeof Secrets>

export function findAuthorization(db: Db | Tx, serverId: string): McpAuthorizationRow | undefined {
  return db.select().from(mcpAuthorizations).where(eq(mcpAuthorizations.serverId, serverId)).get()
}

export function sealAuthorization(sealer: Sealer, serverId: string, secrets: AuthorizationSecrets): string {
  return sealer.seal(JSON.stringify(secrets), `mcp_authorizations:${serverId}`)
}

/** Returns null for an authorization without secrets. */
export function openAuthorization(
  sealer: Sealer,
  { serverId, sealed }: Pick<McpAuthorizationRow, 'serverId' | 'sealed'>,
): AuthorizationSecrets | null {
  return sealed === null ? null : Secrets.parse(JSON.parse(sealer.unseal(sealed, `mcp_authorizations:${serverId}`)))
}

/** The page on which the owner connects the servers of an agent. */
export function toConnectUrl(appUrl: string, agentId: string): string {
  return `${appUrl}/agents/${encodeURIComponent(agentId)}/settings`
}

/** Returns the error for a server whose access has ended, with the page where the owner renews it. */
export function authorizationRequired({ appUrl }: { appUrl: string }, { name, agentId }: McpServerRow): AppError {
  const connectUrl = toConnectUrl(appUrl, agentId)
  const message = `The MCP server ${name} needs a new sign-in. The owner connects it at ${connectUrl}`
  return new AppError('upstream_failed', message, { code: 'MCP_AUTHORIZATION_REQUIRED', connectUrl })
}

/**
 * Ends the authorization after the server or its authorization server refused it, and asks the owner once to sign in
 * again. `missingScope` names the scopes that the server requires. Does nothing when the tokens changed in the
 * meantime.
 */
export async function expireAuthorization(
  deps: AuthorizationDeps,
  server: McpServerRow,
  { sealed, missingScope }: { sealed: string | null; missingScope: string | null },
): Promise<void> {
  await write(deps.db, (tx) => {
    const row = findAuthorization(tx, server.id)
    if (row?.status !== 'connected' || row.sealed !== sealed) return
    const secrets = openAuthorization(deps.sealer, row)
    const kept =
      secrets && sealAuthorization(deps.sealer, server.id, { ...secrets, accessToken: null, refreshToken: null })
    tx.update(mcpAuthorizations)
      .set({ status: 'expired', sealed: kept, missingScope, renewingUntil: null, updatedAt: deps.clock.now() })
      .where(eq(mcpAuthorizations.serverId, server.id))
      .run()
    askOwner(deps, tx, server)
  })
}

function askOwner({ sendNotice, appUrl }: AuthorizationDeps, tx: Tx, { name, agentId }: McpServerRow): void {
  const agent = getAgent(tx, { kind: 'operator' }, agentId)
  if (agent.ownerId === null) return
  const text = `The MCP server ${name} needs a new sign-in. Connect it at ${toConnectUrl(appUrl, agentId)}`
  sendNotice(tx, { userId: agent.ownerId, agent: { id: agentId, name: agent.name }, kind: 'approval_wanted', text })
}

/** Deletes the access to a server, whose tokens must not reach another address. */
export function forgetAuthorization(tx: Tx, serverId: string): void {
  tx.delete(mcpAuthorizations).where(eq(mcpAuthorizations.serverId, serverId)).run()
}

export function toAuthorization(row: McpAuthorizationRow | undefined): Authorization | null {
  if (!row) return null
  return {
    status: row.status,
    issuer: row.issuer?.issuer ?? null,
    scopes: toScopes(row.scope),
    missingScopes: toScopes(row.missingScope).filter((scope) => !toScopes(row.scope).includes(scope)),
    expiresAt: row.expiresAt?.toISOString() ?? null,
    connectedAt: row.connectedAt?.toISOString() ?? null,
  }
}

export function toScopes(scope: string | null): string[] {
  return (scope ?? '').split(/\s+/).filter(Boolean)
}
