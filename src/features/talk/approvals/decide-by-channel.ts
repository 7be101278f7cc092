import { AppError } from '../../../core/errors.ts'
import { listOwnerIds } from '../../agents/registry/config.ts'
import { getAgent } from '../../agents/registry/list.ts'
import { type DecideDeps, decideApproval, getAgentApproval } from './decide.ts'
import type { ChannelDecision } from './schemas.ts'
import type { ApprovalRow } from './tables.ts'

/** Money leaves only by a session of the owner. */
const DASHBOARD_ALONE: ReadonlySet<string> = new Set(['paid_request'])

/**
 * The owner has pressed a button in a channel of the built-in agent, which vouches for who that was: it must be somebody
 * whom the agent's settings name as its owner. OpenClaw runs whatever its model asks for beside its token, so it decides
 * nothing.
 * @throws AppError `forbidden` NOT_OWNER or DASHBOARD_ONLY, and as `decideApproval`.
 */
export async function decideByChannel(
  deps: DecideDeps,
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
  const by = { userId: agent.ownerId, via: channel, personId }
  return decideApproval(deps, by, id, decision === 'approve' ? 'approved' : 'denied')
}
