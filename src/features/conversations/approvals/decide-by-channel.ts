import { and, eq, inArray } from 'drizzle-orm'
import { needsConfinement, TOOL_NAMES } from '../../../core/agents/agent-tools.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { listOwnerIds } from '../../agents/registry/config.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type DecideDeps, decideApproval, getAgentApproval } from './decide.ts'
import type { ChannelDecision } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

/** Money leaves only by a session of the owner. */
const DASHBOARD_ALONE: ReadonlySet<string> = new Set(['paid_request'])

const PAYMENTS = 'Payments are decided on the dashboard alone'

const COMMAND_TOOLS = TOOL_NAMES.filter(needsConfinement)

export type DecideByChannelDeps = DecideDeps & {
  /** May programs run beside an agent, which could find its token? */
  runsCommands(agent: AgentRow): boolean
}

/**
 * The owner has pressed a button in a channel of the built-in agent, which vouches for who that was: it must be somebody
 * whom the agent's settings name as its owner. OpenClaw runs whatever its model asks for beside its token, so it decides
 * nothing. By a built-in agent that runs commands, or has run one, nothing is approved: a command that found its token would
 * approve what it likes itself.
 * @throws AppError `forbidden` NOT_OWNER or DASHBOARD_ONLY, and as `decideApproval`.
 */
export async function decideByChannel(
  deps: DecideByChannelDeps,
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

/** Why no channel approves what `agent` asks with this tool; null where the button of an owner does. */
export function whyDashboardOnly(
  { db, runsCommands }: Pick<DecideByChannelDeps, 'db' | 'runsCommands'>,
  agent: AgentRow,
  tool: string,
): string | null {
  if (DASHBOARD_ALONE.has(tool)) return PAYMENTS
  if (runsCommands(agent) || hasRunCommand(db, agent.id)) {
    return 'This agent runs commands, which could answer in your name: approve it on the dashboard'
  }
  // Whoever holds the token before the present one may be why that was replaced.
  return agent.retiringTokenHash === null ? null : 'This agent is being given a new token: approve it on the dashboard'
}

/** A tool that was switched off since may have told the token to somebody before. */
function hasRunCommand(db: Db, agentId: string): boolean {
  const isCommand = and(inArray(approvals.tool, COMMAND_TOOLS), eq(approvals.status, 'used'))
  const run = db
    .select({ id: approvals.id })
    .from(approvals)
    .where(and(eq(approvals.agentId, agentId), isCommand))
  return run.limit(1).get() !== undefined
}
