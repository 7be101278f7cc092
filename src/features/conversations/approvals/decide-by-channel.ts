import { and, eq, inArray } from 'drizzle-orm'
import { needsConfinement, TOOL_NAMES } from '../../../core/agents/agent-tools.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { listOwnerIds } from '../../agents/registry/config.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { decideApproval, getAgentApproval } from './decide.ts'
import type { ChannelDecision } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

/** Payments need a session of the owner on the dashboard. */
const DASHBOARD_ALONE: ReadonlySet<string> = new Set(['paid_request'])

const PAYMENTS = 'Payments are decided on the dashboard alone'

const COMMAND_TOOLS = TOOL_NAMES.filter(needsConfinement)

/**
 * Decides an approval request by a button press on a messenger. The built-in agent identifies the person, who must be
 * an owner in the agent's settings. OpenClaw agents cannot decide, because their programs can read the token. An agent
 * that runs or has run commands can only deny: a command that found the token could approve its own requests.
 * @throws AppError `forbidden` NOT_OWNER or DASHBOARD_ONLY; as `decideApproval`.
 */
export async function decideByChannel(
  deps: Base & {
    approvalExpiryMinutes: number
    /** Returns whether third-party programs run in the agent's container. They could read its token. */
    runsCommands(agent: AgentRow): boolean
  },
  agentId: string,
  id: string,
  { decision, channel, personId }: ChannelDecision,
): Promise<ApprovalRow> {
  const agent = getAgent(deps.db, { kind: 'operator' }, agentId)
  const { tool } = getAgentApproval(deps.db, agentId, id)
  const isOwner = agent.kind === 'stead' && listOwnerIds(agent, channel).includes(personId)
  if (!isOwner || agent.ownerId === null) {
    throw new AppError('forbidden', 'Only the owner of this agent decides that', { code: 'NOT_OWNER' })
  }
  if (DASHBOARD_ALONE.has(tool)) throw new AppError('forbidden', PAYMENTS, { code: 'DASHBOARD_ONLY' })
  const why = decision === 'approve' ? whyDashboardOnly(deps, agent, tool) : null
  if (why !== null) throw new AppError('forbidden', why, { code: 'DASHBOARD_ONLY' })
  const by = { userId: agent.ownerId, via: channel, personId }
  return decideApproval(deps, by, id, decision === 'approve' ? 'approved' : 'denied')
}

/** Returns why a tool call of `agent` can be approved only on the dashboard, or null. */
export function whyDashboardOnly(
  {
    db,
    runsCommands,
  }: {
    db: Db
    /** Returns whether third-party programs run in the agent's container. They could read its token. */
    runsCommands(agent: AgentRow): boolean
  },
  agent: AgentRow,
  tool: string,
): string | null {
  if (DASHBOARD_ALONE.has(tool)) return PAYMENTS
  if (runsCommands(agent) || hasRunCommand(db, agent.id)) {
    return 'This agent runs commands, which could answer in your name: approve it on the dashboard'
  }
  // A leaked token may be the reason for the rotation, and the old one is still valid.
  return agent.retiringTokenHash === null ? null : 'This agent is being given a new token: approve it on the dashboard'
}

/** A tool that is disabled now may have leaked the token earlier. */
function hasRunCommand(db: Db, agentId: string): boolean {
  const isCommand = and(inArray(approvals.tool, COMMAND_TOOLS), eq(approvals.status, 'used'))
  const run = db
    .select({ id: approvals.id })
    .from(approvals)
    .where(and(eq(approvals.agentId, agentId), isCommand))
  return run.limit(1).get() !== undefined
}
