import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, Hono } from 'hono'
import type { Tx } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { claimApproval, decideApproval, decideByChannel, getAgentApproval, whyDashboardOnly } from './decide.ts'
import { approvalStatusAt, askOwner, listApprovals, toApproval } from './requests.ts'
import {
  ApprovalList,
  ApprovalQuery,
  ApprovalRequest,
  ApprovalState,
  ApprovalUse,
  ChannelDecision,
  OneApproval,
  WaitQuery,
} from './schemas.ts'
import type { ApprovalRow } from './tables.ts'

/**
 * Routes for approvals. Deciding needs a session or a key without limits, because a limited key often belongs to an
 * agent.
 */
export function approvalsWeb(deps: Base & { approvalExpiryMinutes: number; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/approvals',
    endpoint({
      summary: 'Lists pending approvals',
      tag: 'Approvals',
      responses: { 200: ApprovalList },
      errors: ['not_found'],
    }),
    signedIn,
    validate('query', ApprovalQuery),
    (c) => c.json(listApprovals(deps, c.var.user, c.req.valid('query'))),
  )

  app.post(
    '/api/approvals/:id/approve',
    endpoint({
      summary: 'Approves a tool call',
      tag: 'Approvals',
      responses: { 200: OneApproval },
      errors: ['not_found', 'conflict'],
    }),
    signedIn,
    async (c) => c.json(await decide(deps, c, 'approved')),
  )

  app.post(
    '/api/approvals/:id/deny',
    endpoint({
      summary: 'Denies a tool call',
      tag: 'Approvals',
      responses: { 200: OneApproval },
      errors: ['not_found', 'conflict'],
    }),
    signedIn,
    async (c) => c.json(await decide(deps, c, 'denied')),
  )

  return app
}

async function decide(
  deps: Base & { approvalExpiryMinutes: number },
  c: Context<WebEnv, '/api/approvals/:id/approve'>,
  decision: 'approved' | 'denied',
) {
  const { user } = c.var
  const by = { userId: user.id, via: 'web', address: c.env.address }
  const row = await decideApproval(deps, by, c.req.param('id'), decision)
  const { name } = getAgent(deps.db, { kind: 'user', user }, row.agentId)
  return { approval: toApproval(row, name, deps.clock.now()) }
}

const LOOK_MS = 250

type ApprovalsBackendDeps = Base & {
  sendNotice: SendNotice
  approvalExpiryMinutes: number
  /** @throws AppError `forbidden` TOOL_OFF for a tool that was disabled since the turn began. */
  requireToolOn(tx: Tx, agentId: string, tool: string): void
  /** Returns whether third-party programs run in the agent's container. They could read its token. */
  runsCommands(agent: AgentRow): boolean
  callers: CallerFinder
  requestsPerMinute: { backend: number }
  appUrl: string
}

/** Routes through which an agent requests, awaits and uses approvals. */
export function approvalsBackend(deps: ApprovalsBackendDeps) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)
  const whoAsks = (c: Context) => String(c.get('agentId'))
  const limit = limitRate(() => deps.requestsPerMinute.backend, 'Too many requests, please slow down.', whoAsks)

  app.post(
    '/v1/approvals',
    endpoint({
      summary: 'Requests approval for a tool call',
      tag: 'Approvals',
      responses: { 201: ApprovalState },
      errors: ['limited'],
    }),
    agent,
    limit,
    validate('json', ApprovalRequest),
    async (c) => c.json(toAnswer(deps, await askOwner(deps, c.var.agentId, c.req.valid('json'))), 201),
  )

  app.get(
    '/v1/approvals/:id',
    endpoint({
      summary: "Waits for the owner's decision",
      tag: 'Approvals',
      responses: { 200: ApprovalState },
      errors: ['not_found'],
    }),
    agent,
    limit,
    validate('query', WaitQuery),
    async (c) => {
      c.env.keepOpen?.(c.req.raw)
      const read = () => toAnswer(deps, getAgentApproval(deps.db, c.var.agentId, c.req.param('id')))
      const endsAt = performance.now() + c.req.valid('query').wait * 1000
      let answer = read()
      while (answer.status === 'waiting' && performance.now() < endsAt && !isLeft(c)) {
        await sleep(LOOK_MS)
        answer = read()
      }
      return c.json(answer)
    },
  )

  app.post(
    '/v1/approvals/:id/use',
    endpoint({
      summary: 'Consumes an approval',
      tag: 'Approvals',
      responses: { 200: ApprovalState },
      errors: ['not_found', 'conflict'],
    }),
    agent,
    limit,
    validate('json', ApprovalUse),
    async (c) =>
      c.json(toAnswer(deps, await claimApproval(deps, c.var.agentId, c.req.param('id'), c.req.valid('json')))),
  )

  app.post(
    '/v1/approvals/:id/decision',
    endpoint({
      summary: 'Records a decision made in a messenger',
      tag: 'Approvals',
      responses: { 200: ApprovalState },
      errors: ['forbidden', 'not_found', 'conflict'],
    }),
    agent,
    limit,
    validate('json', ChannelDecision),
    async (c) =>
      c.json(toAnswer(deps, await decideByChannel(deps, c.var.agentId, c.req.param('id'), c.req.valid('json')))),
  )

  return app
}

function isLeft(c: Context<AgentCallerEnv>): boolean {
  return c.req.raw.signal.aborted || (c.env.stopping?.aborted ?? false)
}

function toAnswer(deps: ApprovalsBackendDeps, row: ApprovalRow) {
  const agent = getAgent(deps.db, { kind: 'operator' }, row.agentId)
  return {
    id: row.id,
    status: approvalStatusAt(row, deps.clock.now()),
    expiresAt: row.expiresAt.toISOString(),
    page: `${deps.appUrl}/approvals`,
    dashboardOnly: whyDashboardOnly(deps, agent, row.tool) !== null,
  }
}
