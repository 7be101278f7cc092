import { type Context, Hono } from 'hono'
import { AppError, type ErrorKind } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { sha256 } from '../../core/secrets.ts'
import { statusOf, toAppError } from '../../http/errors.ts'
import { readBearer } from '../../http/internal-key.ts'
import { limitRate } from '../../http/rate-limit.ts'
import { eventStream } from '../../http/sse.ts'
import { validate } from '../../http/validate.ts'
import { AGENT_TOKEN_PREFIX, type CallerEnv, type CallerFinder, requireCaller } from './callers.ts'
import { isAllowed } from './catalogue.ts'
import { type CompletionRequest as Asked, type CompleteDeps, complete, completeStreaming } from './complete.ts'
import { CompletionRequest } from './schemas.ts'

const ENDPOINT = '/v1/chat/completions'

export type OpenAiBackendDeps = CompleteDeps & {
  log: Log
  callers: CallerFinder
  requestsPerMinute: { backend: number }
}

/** The OpenAI-compatible surface that agents and SDKs use (rulings, 28 and 36): errors have OpenAI's form as well. */
export function openAiBackend(deps: OpenAiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const caller = requireCaller(deps.callers)
  // Per bearer, not per address: all agents of this machine share one. Counted once the bearer is known to be one, so that
  // strangers cannot fill the counters with made-up ones.
  const limit = limitRate(deps.requestsPerMinute.backend, 'Too many requests, please slow down.', (c) =>
    sha256(c.req.header('authorization') ?? ''),
  )

  app.onError((error, c) => answerError(c, error, deps.log))

  app.post('/v1/chat/completions', caller, limit, validate('json', CompletionRequest), async (c) => {
    const body = c.req.valid('json')
    const json = await c.req.text()
    const asked = { caller: c.var.caller, body, json, endpoint: ENDPOINT, signal: c.req.raw.signal }
    if (body.stream) return streamCompletion(c, deps, asked)
    const answer = await complete(deps, asked)
    c.header('content-type', 'application/json')
    c.header('x-model', answer.model.id)
    return c.body(answer.json)
  })

  app.get('/v1/models', caller, limit, (c) =>
    c.json({
      object: 'list',
      data: deps.catalogue
        .list()
        .filter((model) => isAllowed(model, c.var.caller.plan))
        .map((model) => ({
          id: model.id,
          object: 'model',
          created: 0,
          owned_by: model.provider.id,
          provider: model.provider.id,
        })),
    }),
  )

  return app
}

/** Settles only when the provider has begun: until then an error is still a status. Later ones are events. */
async function streamCompletion(c: Context<CallerEnv>, deps: OpenAiBackendDeps, asked: Asked) {
  const { model, chunks } = await completeStreaming(deps, asked)
  c.header('x-model', model.id)
  return eventStream(c, deps.log, async (stream) => {
    try {
      for await (const chunk of chunks) await stream.write(chunk.json)
      await stream.write('[DONE]')
    } catch (error) {
      if (stream.signal.aborted) return
      await stream.write(JSON.stringify(toOpenAiError(toAppError(error))))
    }
  })
}

function answerError(c: Context<CallerEnv>, error: Error, log: Log) {
  const known = toAppError(error)
  const isAgent = readBearer(c.req.header('authorization'))?.startsWith(AGENT_TOKEN_PREFIX)
  const shown = isAgent ? forAgent(known) : known
  const status = statusOf(shown.kind)
  if (status >= 500) log.error({ requestId: c.var.requestId, path: c.req.path, error: error.stack }, shown.message)
  if (typeof shown.extra.retryAfter === 'string') c.header('retry-after', shown.extra.retryAfter)
  return c.json(toOpenAiError(shown), status)
}

/** Rulings, 35: a real agent runtime locks its provider out after one 402 or 403, so problems of plan and quota are 429 to it. */
function forAgent(error: AppError): AppError {
  const isPlanProblem = error.kind === 'payment_required' || error.kind === 'forbidden'
  return isPlanProblem ? new AppError('limited', error.message, error.extra) : error
}

const TYPES: Partial<Record<ErrorKind, string>> = {
  invalid: 'invalid_request_error',
  not_found: 'invalid_request_error',
  unauthenticated: 'authentication_error',
  limited: 'rate_limit_error',
}

function toOpenAiError(error: AppError) {
  return {
    error: {
      message: error.message,
      type: TYPES[error.kind] ?? 'api_error',
      code: error.extra.code ?? null,
      param: null,
    },
  }
}
