import { createHmac } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { type Egress, ForbiddenAddress, type MayBePrivate } from '../../../adapters/egress/egress.ts'
import { EgressError } from '../../../adapters/egress/error.ts'
import type { BlockReason, ProxyRules } from '../../../adapters/egress/proxy/forward-proxy.ts'
import type { Credentials } from '../../../adapters/egress/proxy/head.ts'
import { AppError } from '../../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../../core/ids.ts'
import { isSameSecret, type Sealer, sha256 } from '../../../core/secrets.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { findAgentRow, openTokens } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import { type BlockRecorder, createBlockRecorder } from './blocks.ts'
import { type EgressSettings, judgeDestination, readEgress } from './policy.ts'

/** Connections of agents since the start, by result. */
export type EgressCounts = { allowed: number } & Record<BlockReason, number>

/**
 * Applies egress policies to requests that agents send through the proxy, and to those that the platform sends for
 * them.
 */
export type EgressEnforcement = {
  /** Returns the client for requests on behalf of an agent: its policy decides, and private addresses are blocked. */
  egressOf(agentId: string): Egress
  /** Throws for an agent that may reach nothing. @throws AppError `forbidden` EGRESS_BLOCKED. */
  requireSome(agentId: string): void
  proxyRules: ProxyRules
  counts: Readonly<EgressCounts>
  blocks: BlockRecorder
}

const TOKEN_PREFIX = 'egr_'

/**
 * Returns the password of an agent for the proxy. It opens nothing else, so programs of the agent may know it. It is
 * derived from the gateway token, because it must stay the same when the encryption key is replaced.
 */
export function toEgressToken(gatewayToken: string): string {
  return `${TOKEN_PREFIX}${createHmac('sha256', gatewayToken).update('egress').digest('base64url')}`
}

type EnforcementDeps = Pick<Base, 'db' | 'clock' | 'log' | 'sealer'> & {
  /** The client for requests on behalf of agents. */
  egress: Egress
  mayBePrivate: MayBePrivate
}

export function createEgressEnforcement(deps: EnforcementDeps, settings: EgressSettings): EgressEnforcement {
  const { db, egress, mayBePrivate } = deps
  const blocks = createBlockRecorder(deps)
  const counts: EgressCounts = { allowed: 0, policy: 0, address: 0, name: 0, request: 0 }
  const judge = (agentId: string, host: string, port: number) => {
    const agent = findAgentRow(db, agentId)
    return agent ? judgeDestination(readEgress(db, settings, agent), host, port) : ({ isAllowed: false } as const)
  }
  const noteBlocked: ProxyRules['noteBlocked'] = (agentId, blocked) => {
    counts[blocked.reason] += 1
    blocks.note({ agentId, ...blocked })
  }
  const noteAllowed = () => {
    counts.allowed += 1
  }
  return {
    blocks,
    counts,
    requireSome(agentId) {
      const agent = findAgentRow(db, agentId)
      if (agent && readEgress(db, settings, agent).policy !== 'none') return
      throw new AppError('forbidden', 'The egress policy of this agent allows nothing', { code: 'EGRESS_BLOCKED' })
    },
    egressOf: (agentId) => limitEgress(egress, { agentId, judge, noteAllowed, noteBlocked }),
    proxyRules: {
      findAgent: (credentials) => findAgentByCredentials(deps, credentials),
      judge,
      mayBePrivate,
      noteAllowed,
      noteBlocked,
    },
  }
}

type Limits = Pick<ProxyRules, 'judge' | 'noteBlocked' | 'noteAllowed'> & { agentId: string }

/** Asks the policy about every destination of a request, redirects included. */
function limitEgress(egress: Egress, { agentId, judge, noteAllowed, noteBlocked }: Limits): Egress {
  return {
    async request(url, request) {
      let last = { host: '', port: 0 }
      const requireAllowed = (host: string, port: number) => {
        last = { host, port }
        if (judge(agentId, host, port).isAllowed) return
        noteBlocked(agentId, { host, port, reason: 'policy' })
        throw egressBlocked(host, port)
      }
      try {
        const response = await egress.request(url, { ...request, judge: requireAllowed })
        noteAllowed(agentId)
        return response
      } catch (error) {
        const isAddress = error instanceof EgressError && error.cause instanceof ForbiddenAddress
        if (isAddress) noteBlocked(agentId, { ...last, reason: 'address' })
        throw error
      }
    },
  }
}

function egressBlocked(host: string, port: number): AppError {
  const message = `The egress policy of this agent does not allow ${host}:${port}`
  return new AppError('forbidden', message, { code: 'EGRESS_BLOCKED' })
}

/** The user name is the agent's id and the password its proxy token, or its platform token. */
function findAgentByCredentials(
  { db, sealer }: Pick<Base, 'db' | 'sealer'>,
  { user, password }: Credentials,
): string | null {
  const agent = findAgentRow(db, user)
  if (!agent || isOwnerDisabled(db, agent)) return null
  return isTokenOf({ sealer, agent }, password) ? agent.id : null
}

function isTokenOf({ sealer, agent }: { sealer: Sealer; agent: AgentRow }, password: string): boolean {
  if (!password.startsWith(AGENT_TOKEN_PREFIX)) {
    return isSameSecret(password, toEgressToken(openTokens(sealer, agent).gatewayToken))
  }
  return hashesOf(agent).some((hash) => isSameSecret(sha256(password), hash))
}

function isOwnerDisabled(db: Base['db'], { ownerId }: AgentRow): boolean {
  if (ownerId === null) return false
  const owner = db.select({ disabledAt: users.disabledAt }).from(users).where(eq(users.id, ownerId)).get()
  return owner?.disabledAt !== null
}

/** The previous token is valid until the agent runs with the new one. */
function hashesOf({ accessTokenHash, retiringTokenHash }: AgentRow): string[] {
  return [accessTokenHash, ...(retiringTokenHash === null ? [] : [retiringTokenHash])]
}
