import { and, eq, gt, inArray, lte } from 'drizzle-orm'
import { z } from 'zod'
import { needsConfinement, TOOL_NAMES } from '../../../core/agents/agent-tools.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { listOwnerIds } from '../../agents/registry/config.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { type ChatDeps, openTurn, sendMessage } from '../chat/send.ts'
import { raiseLimit } from './raise-limit.ts'
import { approvalStatusAt, hashOf } from './requests.ts'
import { type ApprovalUse, type ChannelDecision, RAISE_LIMIT } from './schemas.ts'
import { type ApprovalRow, approvals } from './tables.ts'

const EXPIRY_LOOK_MS = 15_000
const EXPIRY_BATCH = 100

/** The user who decides, and where: on the dashboard or in a channel, which knows them by `personId`. */
type Decider = { userId: string; via: string; address?: string | null; personId?: string }

/**
 * Records the owner's decision. An approval covers one use and expires after the same time as a request.
 * @throws AppError `not_found` for a missing request and for another user's; `conflict` NOT_WAITING when it was decided
 * or has expired.
 */
export function decideApproval(
  deps: Base & { approvalExpiryMinutes: number },
  by: Decider,
  id: string,
  decision: 'approved' | 'denied',
): Promise<ApprovalRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const asked = getOwnApproval(tx, by.userId, id)
    const isWaiting = and(eq(approvals.id, asked.id), eq(approvals.status, 'waiting'), gt(approvals.expiresAt, now))
    const expiresAt =
      decision === 'approved' ? new Date(now.getTime() + deps.approvalExpiryMinutes * 60_000) : asked.expiresAt
    const change = { status: decision, decidedBy: by.userId, decidedVia: by.via, decidedAt: now, expiresAt }
    const decided = tx.update(approvals).set(change).where(isWaiting).returning().get()
    if (!decided) throw new AppError('conflict', 'This question does not wait for an answer', { code: 'NOT_WAITING' })
    recordDecision(tx, decided, by, now)
    if (decision === 'approved' && !raiseLimit(tx, decided)) enqueueResume(tx, deps.enqueue, decided)
    return decided
  })
}

/**
 * Uses up an approval, once, for exactly the approved call.
 * @throws AppError `not_found` for another agent's; `conflict` NOT_APPROVED when it is not approved, used, expired, or
 * for another call.
 */
export function claimApproval(deps: Base, agentId: string, id: string, use: ApprovalUse): Promise<ApprovalRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const { argumentsHash } = getAgentApproval(tx, agentId, id)
    const isGood = and(eq(approvals.id, id), eq(approvals.status, 'approved'), gt(approvals.expiresAt, now))
    const isSame = argumentsHash === hashOf(use)
    const used = isSame && tx.update(approvals).set({ status: 'used', usedAt: now }).where(isGood).returning().get()
    if (!used) throw new AppError('conflict', 'The owner has not approved that', { code: 'NOT_APPROVED' })
    recordAudit(tx, { actor: agentId, action: 'approval.used', target: agentId, detail: toDetail(used) }, now)
    return used
  })
}

/** @throws AppError `not_found` for a missing request or another agent's. */
export function getAgentApproval(db: Db | Tx, agentId: string, id: string): ApprovalRow {
  const isThis = and(eq(approvals.id, id), eq(approvals.agentId, agentId))
  const row = db.select().from(approvals).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Approval not found')
  return row
}

/** Expires pending requests and unused approvals. */
export function expireApprovalsJob(deps: Base): RepeatingJob {
  return { name: 'approvals.expire', everyMs: EXPIRY_LOOK_MS, run: (signal) => expireApprovals(deps, signal) }
}

async function expireApprovals({ db, clock }: Base, signal: AbortSignal): Promise<void> {
  for (;;) {
    const isOver = and(inArray(approvals.status, ['waiting', 'approved']), lte(approvals.expiresAt, clock.now()))
    if (!db.select({ id: approvals.id }).from(approvals).where(isOver).limit(1).get() || signal.aborted) return
    await write(db, (tx) => {
      const now = clock.now()
      for (const { id } of tx.select({ id: approvals.id }).from(approvals).where(isOver).limit(EXPIRY_BATCH).all()) {
        const over = tx.update(approvals).set({ status: 'expired' }).where(eq(approvals.id, id)).returning().get()
        recordDecision(tx, over, null, now)
      }
    })
  }
}

/** Denies open requests for tools that `isOff` matches, in the transaction that disables these tools. */
export function denyApprovalsOfTools(tx: Tx, agentId: string, isOff: (tool: string) => boolean, now: Date): void {
  const isOpen = and(eq(approvals.agentId, agentId), inArray(approvals.status, ['waiting', 'approved']))
  const open = tx.select().from(approvals).where(isOpen).all()
  for (const { id } of open.filter(({ tool }) => isOff(tool))) {
    const change = { status: 'denied', decidedVia: 'platform', decidedAt: now } as const
    recordDecision(tx, tx.update(approvals).set(change).where(eq(approvals.id, id)).returning().get(), null, now)
  }
}

/** Denies all open requests of a user's agents, in the caller's transaction. */
export function denyAllApprovals(tx: Tx, ownerId: string, now: Date): void {
  const own = tx.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, ownerId))
  const isOpen = inArray(approvals.status, ['waiting', 'approved'])
  tx.update(approvals)
    .set({ status: 'denied', decidedVia: 'platform', decidedAt: now })
    .where(and(inArray(approvals.agentId, own), isOpen))
    .run()
}

function getOwnApproval(tx: Tx, userId: string, id: string): ApprovalRow {
  const row = tx
    .select({ approval: approvals })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(and(eq(approvals.id, id), eq(agents.ownerId, userId)))
    .get()
  if (!row) throw new AppError('not_found', 'Approval not found')
  return row.approval
}

function recordDecision(tx: Tx, approval: ApprovalRow, by: Decider | null, now: Date): void {
  recordAudit(
    tx,
    {
      actor: by?.userId ?? 'system',
      action: `approval.${approval.status}`,
      target: approval.agentId,
      detail: { ...toDetail(approval), ...(by && { via: by.via, ...(by.personId && { personId: by.personId }) }) },
      address: by?.address ?? null,
    },
    now,
  )
}

/** The log has no arguments, because they may hold a secret; their hash identifies them. */
function toDetail({ id, tool, argumentsHash }: ApprovalRow) {
  return { approvalId: id, tool, argumentsHash }
}

const RESUME_JOB = 'approvals.resume'
/** A waiting agent polls more often and has used the approval before this delay ends. */
const RESUME_AFTER_MS = 40_000
const ATTEMPTS = 4

const Resume = z.object({ id: z.string() })

function enqueueResume(tx: Tx, enqueue: Enqueue, { id, agentId }: ApprovalRow): void {
  const { ownerId } = getAgent(tx, { kind: 'operator' }, agentId)
  enqueue(tx, RESUME_JOB, { id }, { delayMs: RESUME_AFTER_MS, share: ownerId })
}

/** Resumes an agent whose turn has ended, or which was restarted, after an approval. */
export function resumeJob(deps: ChatDeps & { rules: AccountRules }): JobKind {
  return defineJob({
    kind: RESUME_JOB,
    payload: Resume,
    maxAttempts: ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => resumeAgent(deps, id, signal),
  })
}

/**
 * Does nothing for an approval that was used or has expired.
 * @throws AppError when the agent does not run or does not answer.
 */
export async function resumeAgent(
  deps: ChatDeps & { rules: AccountRules },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const found = deps.db
    .select({ approval: approvals, ownerId: agents.ownerId })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(eq(approvals.id, id))
    .get()
  if (!found?.ownerId || approvalStatusAt(found.approval, deps.clock.now()) !== 'approved') return
  const owner = createUserFinder(deps.db, deps.rules)(found.ownerId)
  if (!owner) return
  const { agentId, session, tool, arguments: json } = found.approval
  const message = `I have approved what you asked for: ${tool} with ${json}. If it is still wanted, do it now with exactly these arguments.`
  const place = session === null ? {} : { sessionKey: session }
  await sendMessage(deps, await openTurn(deps, owner, { agentId, message }, place), signal)
}

/** Payments need a session of the owner on the dashboard. */
const DASHBOARD_ALONE: ReadonlySet<string> = new Set(['paid_request', RAISE_LIMIT])

const PAYMENTS = 'Payments and limits are decided on the dashboard alone'

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
