import { z } from 'zod'
import { PageLimit } from '../../../core/page-limit.ts'
import { ModelCall } from '../usage/schemas.ts'

const badBefore = 'before must be the id of a request'
const badStatus = 'status must be succeeded or failed'
const Filter = z.string().min(1).max(512).optional()
const Time = (name: string) =>
  z.iso
    .datetime({ offset: true, error: `${name} must be an ISO 8601 time` })
    .transform((time) => new Date(time))
    .optional()

/**
 * `GET /api/requests`: filters, the time from `from` until before `to`, and the request `before` which the page starts.
 * `agent` and `key` are ids; `agent=direct` finds requests that no agent made.
 */
export const RequestQuery = z.object({
  key: Filter,
  agent: Filter,
  model: Filter,
  endUser: Filter,
  tag: Filter,
  status: z.enum(['succeeded', 'failed'], badStatus).optional(),
  from: Time('from'),
  to: Time('to'),
  before: z.coerce.number(badBefore).int(badBefore).positive(badBefore).optional(),
  limit: PageLimit,
})
export type RequestQuery = z.infer<typeof RequestQuery>

/**
 * One request to a model. `inputTokens` includes `cachedInputTokens`. `firstTokenMs` is the time to the first chunk of a
 * streamed answer. `priceSource` names the origin of `costUsd`. `attempts` counts all providers tried until this one.
 */
export const LoggedRequest = ModelCall.extend({
  cachedInputTokens: z.number(),
  firstTokenMs: z.number().nullable(),
  priceSource: z.enum(['provider', 'administrator', 'list', 'cache']).nullable(),
  finishReason: z.string().nullable(),
  endUser: z.string().nullable(),
  tags: z.array(z.string()),
})
export type LoggedRequest = z.infer<typeof LoggedRequest>

/** Newest first; `next` is the `before` of the next page, null at the end. */
export const RequestList = z.object({ requests: z.array(LoggedRequest), next: z.number().nullable() })
export type RequestList = z.infer<typeof RequestList>

/**
 * One attempt of a request. `failure` is the reason of the fallback: the kind of the error, or `cooldown` for a model
 * that was skipped after earlier failures; null when it answered. `generationId` is null when the attempt cost nothing.
 */
const Attempt = z.object({
  generationId: z.string().nullable(),
  model: z.string(),
  provider: z.string(),
  latencyMs: z.number().nullable(),
  failure: z.string().nullable(),
  error: z.string().nullable(),
})

/** Stored bodies, redacted and shortened. `answer` is null when there is none. */
const Bodies = z.object({ request: z.string(), answer: z.string().nullable(), expiresAt: z.string() })

/**
 * `GET /api/requests/:generationId`. `tried` lists every attempt of the call in order; `answeredBy` is the generation
 * id of a later attempt that answered instead of this one. `bodies` is null unless the owner turned `logBodies` on.
 */
export const RequestDetail = LoggedRequest.extend({
  tried: z.array(Attempt),
  answeredBy: z.string().nullable(),
  bodies: Bodies.nullable(),
})
export type RequestDetail = z.infer<typeof RequestDetail>

/** The number of requests whose bodies were deleted. */
export const DeletedBodies = z.object({ deleted: z.number() })
