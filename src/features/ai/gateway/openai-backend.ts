import { type Context, Hono } from 'hono'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { MAX_LARGE_BODY_BYTES, receiveText } from '../../../http/bodies/body.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { AnswerError, BaseEnv } from '../../../http/env.ts'
import { logFailure, statusOf } from '../../../http/errors.ts'
import { validate } from '../../../http/validate.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import { toOpenAiError } from '../dialects/openai-error.ts'
import { ToolEventRequest } from '../usage/schemas.ts'
import { recordToolEvents } from '../usage/tool-events.ts'
import { setCompletedHeaders, streamChunks, toShownError } from './answers.ts'
import { type CachedDeps, completeOrRepeat, embedOrRepeat, streamOrRepeat } from './cached-completions.ts'
import { type CallerEnv, type CallerFinder, limitCaller, requireCaller } from './callers.ts'
import {
  AnthropicModel,
  AnthropicModelList,
  isAnthropicClient,
  toAnthropicModel,
  toAnthropicPage,
} from './dialects/anthropic-models.ts'
import { answerMessagesError } from './dialects/messages-errors.ts'
import { requirePlainControlKeys } from './request-body.ts'
import { findForCaller, listForCaller, type ModelRequest } from './routing.ts'
import {
  type CompletionRequest as Asked,
  CompletionRequest,
  EmbeddingRequest,
  isUsualCompletion,
  OpenAiModel,
  OpenAiModelList,
} from './schemas.ts'

const CHAT_ENDPOINT = '/v1/chat/completions'
const EMBEDDINGS_ENDPOINT = '/v1/embeddings'

/** Clients may send texts as lists of token numbers. */
const ofManyValues: RouteOptions = { worksOnFullDisk: true, maxBodyValues: 500_000 }
const ofLargeBodies: RouteOptions = { maxBodyBytes: MAX_LARGE_BODY_BYTES, worksOnFullDisk: true }

export type OpenAiBackendDeps = CachedDeps & {
  db: Db
  clock: Clock
  log: Log
  callers: CallerFinder
  /** Returns a further system message for the agent's model, or null. */
  instruct: (agentId: string) => string | null
  requestsPerMinute: { backend: number }
}

const completionAnswers: Responses = {
  responses: { 200: ['application/json', 'text/event-stream'] },
  errors: ['payment_required', 'not_found', 'limited', 'internal', 'upstream_failed', 'upstream_timeout'],
}
const embeddingsAnswers: Responses = {
  responses: { 200: 'application/json' },
  errors: ['payment_required', 'not_found', 'internal'],
}
const toolEventsAnswers: Responses = { responses: { 204: null }, errors: ['payment_required', 'limited'] }
const modelsAnswers: Responses = {
  responses: { 200: z.union([OpenAiModelList, AnthropicModelList]) },
  errors: ['invalid', 'payment_required', 'limited'],
}
const modelAnswers: Responses = {
  responses: { 200: z.union([OpenAiModel, AnthropicModel]) },
  errors: ['payment_required', 'not_found', 'limited'],
}

/** The OpenAI-compatible routes for agents and SDKs. Errors have OpenAI's form as well. */
export function openAiBackend(deps: OpenAiBackendDeps) {
  const app = new Hono<CallerEnv>()
  const caller = requireCaller(deps.callers)
  const limit = limitCaller(() => deps.requestsPerMinute.backend)
  const answerError = errorsForClient(deps.log)

  app.post(
    '/v1/chat/completions',
    endpoint(
      {
        summary: 'Creates a chat completion, streamed or not',
        tag: 'Models',
        ...completionAnswers,
        ...ofLargeBodies,
      },
      answerError,
    ),
    caller,
    limit,
    validate('json', CompletionRequest, {}, isUsualCompletion),
    async (c) => {
      const caller = c.get('caller')
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      const asked = {
        caller,
        requested: toModelRequest(body),
        ...withInstruction({ body, json }, deps.instruct(caller.agentId)),
        endpoint: CHAT_ENDPOINT,
        signal: c.req.raw.signal,
      }
      // Errors before the first chunk still set the status; later ones are sent as events.
      if (body.stream) return streamChunks(c, deps.log, await streamOrRepeat(deps, asked))
      const answer = await completeOrRepeat(deps, asked)
      setCompletedHeaders(c, answer)
      c.header('content-type', 'application/json')
      return c.body(answer.json)
    },
  )

  app.post(
    '/v1/embeddings',
    endpoint({ summary: 'Creates embeddings', tag: 'Models', ...embeddingsAnswers, ...ofManyValues }, answerError),
    caller,
    limit,
    validate('json', EmbeddingRequest),
    async (c) => {
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      const answer = await embedOrRepeat(deps, {
        caller: c.get('caller'),
        requested: toModelRequest(body),
        body,
        json,
        endpoint: EMBEDDINGS_ENDPOINT,
        signal: c.req.raw.signal,
      })
      setCompletedHeaders(c, answer)
      c.header('content-type', 'application/json')
      return c.body(answer.json)
    },
  )

  app.route('/', bookkeepingRoutes(deps, caller, limit, answerError))
  return app
}

/** Reports of tool uses, and the models that the caller may request. */
function bookkeepingRoutes(
  deps: OpenAiBackendDeps,
  caller: ReturnType<typeof requireCaller>,
  limit: ReturnType<typeof limitCaller>,
  answerError: AnswerError,
) {
  const app = new Hono<CallerEnv>()

  app.post(
    '/v1/tool-events',
    endpoint({ summary: 'Reports which tools an agent used', tag: 'Models', ...toolEventsAnswers }, answerError),
    caller,
    limit,
    validate('json', ToolEventRequest),
    async (c) => {
      const { userId, agentId } = c.get('caller')
      await recordToolEvents(deps, { userId, agentId }, c.req.valid('json'))
      return c.body(null, 204)
    },
  )

  app.get(
    '/v1/models',
    endpoint({ summary: 'Lists the models that the key may use', tag: 'Models', ...modelsAnswers }, answerError),
    caller,
    limit,
    (c) => {
      const models = listForCaller(deps, c.get('caller'))
      if (isAnthropicClient(c)) return c.json(toAnthropicPage(models, (name) => c.req.query(name)))
      return c.json({ object: 'list', data: models.map(toOpenAiModel) } as const)
    },
  )

  // Ids contain slashes, which clients send as they are or encoded.
  app.get(
    '/v1/models/:model{.+}',
    endpoint({ summary: 'Returns a model that the key may use', tag: 'Models', ...modelAnswers }, answerError),
    caller,
    limit,
    (c) => {
      const name = c.req.param('model')
      const model = findForCaller(deps, name, c.get('caller'))
      if (!model) throw modelNotFound(name)
      return c.json(isAnthropicClient(c) ? toAnthropicModel(model) : toOpenAiModel(model))
    },
  )

  return app
}

function toOpenAiModel({ id, provider }: CatalogueModel): OpenAiModel {
  return { id, object: 'model', created: 0, owned_by: provider.id, provider: provider.id }
}

/** OpenAI's own code, which its SDKs compare with. */
const MODEL_NOT_FOUND = 'model_not_found'

/** OpenAI says the same of a model that does not exist and of one that the key may not use. */
function modelNotFound(name: string): AppError {
  const message = `The model \`${name}\` does not exist or you do not have access to it.`
  return new AppError('not_found', message, { code: MODEL_NOT_FOUND, param: 'model' })
}

/** Adds a system message after the leading ones. */
function withInstruction(
  request: { body: Asked; json: string },
  content: string | null,
): { body: Asked; json: string } {
  if (content === null) return request
  const { messages } = request.body
  const end = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const instruction: { role: string } & { content: string } = { role: 'system', content }
  const body = { ...request.body, messages: messages.toSpliced(end === -1 ? messages.length : end, 0, instruction) }
  return { body, json: JSON.stringify(body) }
}

/** Merges `model`, our `fallbacks`, and the aggregator's `models`, which may repeat `model`. */
export function toModelRequest({
  model,
  fallbacks = [],
  models = [],
  taskType,
}: Pick<Asked, 'fallbacks' | 'models' | 'taskType'> & { model?: string | null | undefined }): ModelRequest {
  const all = [...(model ? [model] : []), ...fallbacks, ...models.filter((name) => name !== model)]
  return { model: all[0], fallbacks: all.slice(1), taskType }
}

/** Answers errors in the form of the client's own API. */
function errorsForClient(log: Log): AnswerError {
  return (error, c) => {
    const answerError = isAnthropicClient(c) ? answerMessagesError : answerOpenAiError
    return answerError(c, error, log)
  }
}

/** Responds with an error in OpenAI's form; agents get 429 for problems of plan and quota. */
export function answerOpenAiError(c: Context<BaseEnv>, error: Error, log: Log): Response {
  const shown = toShownError(c, error)
  const status = statusOf(shown.kind)
  logFailure(c, log, error, shown)
  if (typeof shown.extra.retryAfter === 'string') c.header('retry-after', shown.extra.retryAfter)
  return c.json(toOpenAiError(shown), status)
}
