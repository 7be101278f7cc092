import { and, eq, inArray } from 'drizzle-orm'
import { needsConfinement, TOOL_NAMES } from '../../../core/agent-tools.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { listOwnerIds } from '../../agents/registry/config.ts'
import { getAgent } from '../../agents/registry/list.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type DecideDeps, decideApproval, getAgentApproval } from './decide.ts'
import type { ChannelDecision } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

/** Money leaves only by a session of the owner. */
const DASHBOARD_ALONE: ReadonlySet<string> = new Set(['paid_request'])

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
  if (DASHBOARD_ALONE.has(tool)) {
    throw new AppError('forbidden', 'Payments are decided on the dashboard alone', { code: 'DASHBOARD_ONLY' })
  }
  if (decision === 'approve' && (deps.runsCommands(agent) || hasRunCommand(deps.db, agentId))) {
    const message = 'This agent runs commands, which could answer in your name: approve it on the dashboard'
    throw new AppError('forbidden', message, { code: 'DASHBOARD_ONLY' })
  }
  const by = { userId: agent.ownerId, via: channel, personId }
  return decideApproval(deps, by, id, decision === 'approve' ? 'approved' : 'denied')
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
