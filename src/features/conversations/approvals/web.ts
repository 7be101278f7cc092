import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { decideApproval } from './decide.ts'
import { listApprovals, toApproval } from './requests.ts'
import { ApprovalList, ApprovalQuery, OneApproval } from './schemas.ts'

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
