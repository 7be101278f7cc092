import { z } from 'zod'
import { LIMIT_KINDS } from '../../../core/agents/day-limits.ts'
import { JsonObjectText } from '../../../core/json/bounded-json.ts'

const MAX_PAGE = 100
const MAX_WAIT_SECONDS = 30

const Tool = z.string('tool must be text').min(1, 'tool is required').max(200, 'tool is too long')

/** Body of `POST /v1/approvals`: an agent requests approval for a tool call. */
export const ApprovalRequest = z
  .object({
    tool: Tool,
    arguments: JsonObjectText,
    session: z.string('session must be text').max(256, 'session is too long').optional(),
  })
  .meta({ examples: [{ tool: 'http_request', arguments: '{"url":"https://api.example.com"}' }] })
export type ApprovalRequest = z.infer<typeof ApprovalRequest>

/** Body of `POST /v1/approvals/:id/use`; the call must equal the approved one. */
export const ApprovalUse = z.object({ tool: Tool, arguments: JsonObjectText })
export type ApprovalUse = z.infer<typeof ApprovalUse>

/** Body of `POST /v1/approvals/:id/decision`: a button press on a messenger. */
export const ChannelDecision = z.object({
  decision: z.enum(['approve', 'deny'], 'decision must be approve or deny'),
  channel: z.enum(['telegram', 'discord', 'slack'], 'channel must be telegram, discord or slack'),
  personId: z.string('personId must be text').min(1, 'personId is required').max(100, 'personId is too long'),
})
export type ChannelDecision = z.infer<typeof ChannelDecision>

/** Query of `GET /v1/approvals/:id`, which answers when the request is decided or after `wait` seconds. */
export const WaitQuery = z.object({
  wait: z.coerce
    .number('wait must be a number of seconds')
    .min(0)
    .max(MAX_WAIT_SECONDS, `wait must be at most ${MAX_WAIT_SECONDS}`)
    .default(0),
})

/** The tool of the platform's request to raise a daily limit; agents cannot make it. */
export const RAISE_LIMIT = 'raise_limit'
/** Its arguments: `amount` is allowed in addition on `day`, in the time zone of the owner. */
export const RaisedLimit = z.object({ limit: z.enum(LIMIT_KINDS), amount: z.number(), day: z.string() })

const APPROVAL_STATUSES = ['waiting', 'approved', 'denied', 'expired', 'used'] as const

/** Query of `GET /api/approvals`: newest first; `before` is the `next` of the previous page. */
export const ApprovalQuery = z.object({
  agentId: z.string().max(100).optional(),
  status: z.enum(APPROVAL_STATUSES, `status must be one of ${APPROVAL_STATUSES.join(', ')}`).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_PAGE, `limit must be at most ${MAX_PAGE}`).default(50),
  before: z.coerce.number().int().positive().optional(),
})
export type ApprovalQuery = z.infer<typeof ApprovalQuery>

/** An approval request. `arguments` is the canonical JSON text that will be executed; times are ISO 8601. */
export const Approval = z.object({
  id: z.string(),
  agentId: z.string(),
  agentName: z.string(),
  tool: z.string(),
  arguments: z.string(),
  session: z.string().nullable(),
  status: z.enum(APPROVAL_STATUSES),
  decidedVia: z.string().nullable(),
  createdAt: z.string(),
  expiresAt: z.string(),
  decidedAt: z.string().nullable(),
})
export type Approval = z.infer<typeof Approval>

export const ApprovalList = z.object({ approvals: z.array(Approval), next: z.number().nullable() })
export type ApprovalList = z.infer<typeof ApprovalList>

export const OneApproval = z.object({ approval: Approval })

/**
 * State for the agent that asked. `page` is the dashboard page of the request; `dashboardOnly` requests cannot be
 * approved in a channel.
 */
export const ApprovalState = Approval.pick({ id: true, status: true, expiresAt: true }).extend({
  page: z.string(),
  dashboardOnly: z.boolean(),
})
