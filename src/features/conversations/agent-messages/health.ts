import { and, desc, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { toShownStatus } from '../../agents/registry/status.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type ChatDeps, findAddressee } from '../chat/send.ts'
import { messages } from '../chat/tables.ts'
import { requireEndpoint } from '../chat/turns/ask.ts'
import { listSkills } from './agent-api.ts'

const API_VERSION = '1.0.0'

/**
 * Returns the health that an agent reports; for a stopped agent, only the stored fields.
 * @throws AppError `not_found` without such an agent; the gateway's errors for a running one.
 */
export async function checkHealth(
  deps: ChatDeps & { gateway: Pick<AgentGateway, 'health' | 'version'>; webhooks: { emailSecret: string | undefined } },
  user: SignedInUser,
  agentId: string | undefined,
) {
  const agent = findAddressee(deps.db, user, agentId)
  const known = describeKnown(deps, user, agent)
  if (agent.status !== 'running') return known
  const endpoint = requireEndpoint(deps.sealer, agent)
  const health = await deps.gateway.health(endpoint)
  return {
    ...known,
    version: health.version ?? (await deps.gateway.version(endpoint)),
    uptime: Math.round((health.uptimeMs ?? sinceStart(deps, agent.startedAt)) / 1000),
    model: health.model ?? agent.model,
    lastSeen: deps.clock.now().getTime(),
  }
}

function describeKnown(
  deps: { db: Db; webhooks: { emailSecret: string | undefined } },
  user: SignedInUser,
  agent: AgentRow,
) {
  return {
    agentId: agent.id,
    status: toShownStatus(agent),
    version: null,
    apiVersion: API_VERSION,
    uptime: 0,
    model: agent.model,
    channels: ['web', ...(deps.webhooks.emailSecret ? ['email'] : [])],
    skills: listSkills(deps.db, user, agent.id).flatMap(({ id, enabled }) => (enabled ? [id] : [])),
    lastSeen: findLastWord(deps.db, agent.id),
  }
}

/** Answer of `GET /api/agent` without an action. */
export const DESCRIPTION = {
  apiVersion: API_VERSION,
  // The name that existing clients read.
  agentbotVersion: VERSION,
  endpoints: {
    'GET /api/agent': 'this description',
    'GET /api/agent?action=health': 'what an agent says of itself',
    'GET /api/agent?action=sessions': 'your sessions with an agent',
    'GET /api/agent?action=session&sessionId=': 'one session with its messages',
    'GET /api/agent?action=memory': 'the last lines of the session that goes on',
    'GET /api/agent?action=skills': 'what an agent can be given, and what it has',
    'GET /api/agent?action=credentials': 'which credentials you set; their values are never shown',
    'POST /api/agent {action: chat, message, sessionId?}': 'talks to an agent',
    'POST /api/agent {action: create-session}': 'opens a session',
    'POST /api/agent {action: update-skill, skillId, enabled?, agentId?}': 'gives an agent a skill, or turns it off',
    'POST /api/agent {action: set-credential, key, value?}': 'keeps a credential sealed, or forgets it without a value',
  },
} as const

/** Returns the time of the agent's last message in milliseconds, or null. */
function findLastWord(db: Db, agentId: string): number | null {
  const isReply = and(eq(messages.agentId, agentId), eq(messages.sender, 'agent'))
  const newest = db
    .select({ createdAt: messages.createdAt })
    .from(messages)
    .where(isReply)
    .orderBy(desc(messages.sequence))
    .limit(1)
    .get()
  return newest?.createdAt.getTime() ?? null
}

function sinceStart({ clock }: { clock: Clock }, startedAt: Date | null): number {
  return startedAt ? clock.now().getTime() - startedAt.getTime() : 0
}
