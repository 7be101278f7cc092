import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Log } from '../../../../core/log.ts'
import type { BaseEnv } from '../../../../http/env.ts'
import { logFailure } from '../../../../http/errors.ts'
import { toMessagesErrorBody } from '../../dialects/messages/errors.ts'
import { toShownError } from '../answers.ts'

/** Responds with an error in Anthropic's form; agents get 429 for problems of plan and quota. */
export function answerMessagesError(c: Context<BaseEnv>, error: Error, log: Log): Response {
  const shown = toShownError(c, error)
  const { status, body } = toMessagesErrorBody(shown, c.var.requestId)
  logFailure(c, log, error, shown)
  if (typeof shown.extra.retryAfter === 'string') c.header('retry-after', shown.extra.retryAfter)
  c.header('request-id', c.var.requestId)
  return c.json(body, status as ContentfulStatusCode)
}
