import { and, eq, isNotNull } from 'drizzle-orm'
import { z } from 'zod'
import { McpIssuer } from '../../../adapters/mcp/oauth-discovery.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { type AuthorizationDeps, openAuthorization } from './authorizations.ts'
import { mcpAuthorizations } from './tables.ts'
import { requireRevoked } from './tokens.ts'

const REVOKE_JOB = 'mcp.revoke'

/** A deleted authorization; `sealed` holds its tokens. */
const Revocation = z.object({ serverId: z.string(), issuer: McpIssuer, resource: z.string(), sealed: z.string() })

/**
 * Queues the revocation of an agent's tokens at the authorization servers, in the transaction that deletes the agent.
 * The deletion does not wait for it.
 */
export function enqueueRevocations(enqueue: Enqueue, tx: Tx, agentId: string): void {
  const isHeld = and(eq(mcpAuthorizations.agentId, agentId), isNotNull(mcpAuthorizations.sealed))
  for (const { serverId, issuer, resource, sealed } of tx.select().from(mcpAuthorizations).where(isHeld).all()) {
    if (issuer === null || resource === null) continue
    enqueue(tx, REVOKE_JOB, { serverId, issuer, resource, sealed }, { key: `${REVOKE_JOB}:${serverId}` })
  }
}

/** Revokes the tokens of deleted agents, and gives up after some attempts: they expire by themselves. */
export function revokeTokensJob(deps: Pick<AuthorizationDeps, 'mcpOauth' | 'sealer' | 'log'>): JobKind {
  return defineJob({
    kind: REVOKE_JOB,
    payload: Revocation,
    maxAttempts: 5,
    async run({ serverId, sealed, ...grant }) {
      const secrets = openAuthorization(deps.sealer, { serverId, sealed })
      if (secrets) await requireRevoked(deps, grant, secrets)
    },
    async onDead({ serverId, issuer }, error) {
      const about = { server: serverId, issuer: issuer.issuer, error: errorMessage(error) }
      deps.log.warn(about, 'the MCP tokens of a deleted agent could not be revoked')
    },
  })
}
