import { type Context, Hono } from 'hono'
import { AppError } from '../../../../core/errors.ts'
import { MAX_LARGE_BODY_BYTES, receiveText } from '../../../../http/bodies/body.ts'
import { endpoint, type RouteOptions } from '../../../../http/endpoint.ts'
import type { AnswerError } from '../../../../http/env.ts'
import { validate } from '../../../../http/validate.ts'
import { requireToolCalls } from '../../dialects/messages/messages-to-chat.ts'
import { messagesTranslator } from '../../dialects/messages/translator.ts'
import { type CallerEnv, type CallerFinder, limitCaller, requireCaller } from '../callers.ts'
import { toModelRequest } from '../openai-backend.ts'
import { requirePlainControlKeys } from '../request-body.ts'
import { countInput } from './count-input.ts'
import { answerInDialect, type DialectDeps, type DialectRequest } from './dialect-answers.ts'
import { answerMessagesError } from './messages-errors.ts'
import { CountedTokens, CountTokensRequest, MessagesRequest } from './messages-schemas.ts'

const MESSAGES_ENDPOINT = '/v1/messages'

const options: RouteOptions = { maxBodyBytes: MAX_LARGE_BODY_BYTES, worksOnFullDisk: true }

/** Anthropic's Messages API. Errors have Anthropic's form and statuses as well. */
export function messagesBackend(
  deps: DialectDeps & {
    callers: CallerFinder
    /** Returns a further system message for the agent's model, or null. */
    instruct: (agentId: string) => string | null
    requestsPerMinute: { backend: number }
  },
) {
  const app = new Hono<CallerEnv>()
  const caller = requireCaller(deps.callers)
  const limit = limitCaller(() => deps.requestsPerMinute.backend)

  const answerError: AnswerError = (error, c) => answerMessagesError(c, error, deps.log)

  app.post(
    '/v1/messages',
    endpoint(
      {
        summary: 'Creates a message in the Anthropic format, streamed or not',
        tag: 'Models',
        responses: { 200: ['application/json', 'text/event-stream'], 529: 'application/json' },
        errors: ['payment_required', 'not_found', 'limited', 'internal', 'upstream_timeout'],
        ...options,
      },
      answerError,
    ),
    caller,
    limit,
    validate('json', MessagesRequest),
    async (c) => {
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      requireToolCalls(body.messages)
      return answerInDialect(c, deps, toRequest(c, body, json, deps.instruct))
    },
  )

  app.post(
    '/v1/messages/count_tokens',
    endpoint(
      {
        summary: 'Counts the input tokens of an Anthropic request',
        tag: 'Models',
        responses: { 200: CountedTokens },
        errors: ['payment_required', 'not_found', 'limited'],
        ...options,
      },
      answerError,
    ),
    caller,
    limit,
    validate('json', CountTokensRequest),
    async (c) => {
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      requireToolCalls(body.messages)
      const counted = await countInput(deps, toRequest(c, body, json, deps.instruct))
      return c.json({ input_tokens: counted })
    },
  )

  return app
}

function toRequest(
  c: Context<CallerEnv>,
  body: CountTokensRequest,
  json: string,
  instruct: (agentId: string) => string | null,
): DialectRequest {
  return {
    caller: c.var.caller,
    requested: toModelRequest(body),
    ...withSystem({ body, json }, instruct(c.var.caller.agentId)),
    endpoint: MESSAGES_ENDPOINT,
    signal: c.req.raw.signal,
    translator: messagesTranslator,
    headers: readBeta(c),
  }
}

const BETA = /^[\w.,: -]{1,1000}$/

/** Returns the beta features that the caller turns on, for providers of the same dialect. */
function readBeta(c: Context): Record<string, string> {
  const beta = c.req.header('anthropic-beta')
  if (beta === undefined) return {}
  if (!BETA.test(beta)) throw new AppError('invalid', 'anthropic-beta: a list of names separated by commas')
  return { 'anthropic-beta': beta }
}

/** Adds text to the end of the system prompt. */
function withSystem(request: { body: CountTokensRequest; json: string }, text: string | null) {
  if (text === null) return request
  const { system } = request.body
  const block = { type: 'text', text }
  const before = Array.isArray(system) ? system : system ? [{ type: 'text', text: system }] : []
  const body = { ...request.body, system: [...before, block] }
  return { body, json: JSON.stringify(body) }
}
