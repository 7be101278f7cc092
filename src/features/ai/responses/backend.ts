import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'
import type { Log } from '../../../core/log.ts'
import { MAX_LARGE_BODY_BYTES, receiveText } from '../../../http/bodies/body.ts'
import { endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { AnswerError } from '../../../http/env.ts'
import { eventStream } from '../../../http/streams/sse.ts'
import { validate } from '../../../http/validate.ts'
import { responsesTranslator } from '../dialects/responses/responses.ts'
import { setCompletedHeaders, setServedHeaders } from '../gateway/answers.ts'
import { type CachedDeps, completeOrRepeat, streamOrRepeat } from '../gateway/cached-completions.ts'
import { type CallerEnv, type CallerFinder, identifyBearer, limitCaller, requireCaller } from '../gateway/callers.ts'
import { countInput } from '../gateway/dialects/count-input.ts'
import { answerOpenAiError, toModelRequest } from '../gateway/openai-backend.ts'
import { requirePlainControlKeys } from '../gateway/request-body.ts'
import { toResponseEvents, toResponseJson } from './answers.ts'
import { DeletedResponse, InputTokens, ModelResponse, ResponsesRequest } from './schemas.ts'
import type { ResponseStore } from './store.ts'
import { openResponseTurn } from './turn.ts'

const ENDPOINT = '/v1/responses'
const COUNT_ENDPOINT = '/v1/responses/input_tokens'
const ofLargeBodies: RouteOptions = { maxBodyBytes: MAX_LARGE_BODY_BYTES, worksOnFullDisk: true }
type ResponsesBackendDeps = CachedDeps & {
  clock: Clock
  log: Log
  callers: CallerFinder
  responses: ResponseStore
  diskFloor: { isLow(): Promise<boolean> }
  /** Returns a further instruction for the agent's model, or null. */
  instruct: (agentId: string) => string | null
  requestsPerMinute: { backend: number }
}

const createAnswers: Responses = {
  responses: { 200: [ModelResponse, 'text/event-stream'] },
  errors: ['payment_required', 'not_found', 'limited', 'internal', 'upstream_failed', 'upstream_timeout'],
}
const countAnswers: Responses = {
  responses: { 200: InputTokens },
  errors: ['payment_required', 'not_found', 'limited'],
}
const storedAnswers: Responses = { responses: { 200: ModelResponse }, errors: ['invalid', 'not_found', 'limited'] }
const deletedAnswers: Responses = { responses: { 200: DeletedResponse }, errors: ['not_found', 'limited'] }

/** OpenAI's Responses API, with the conversations that the caller's account stores. Errors have OpenAI's form. */
export function responsesBackend(deps: ResponsesBackendDeps) {
  const app = new Hono<CallerEnv>()
  const caller = requireCaller(deps.callers)
  const limit = limitCaller(() => deps.requestsPerMinute.backend)

  const answerError = errorsInOpenAiForm(deps.log)

  app.post(
    '/v1/responses',
    endpoint(
      { summary: 'Creates a response, streamed or not', tag: 'Models', ...createAnswers, ...ofLargeBodies },
      answerError,
    ),
    caller,
    limit,
    validate('json', ResponsesRequest),
    async (c) => {
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      const turn = await openResponseTurn(deps, c.var.caller, { body, json }, deps.instruct(c.var.caller.agentId))
      const asked = {
        caller: c.var.caller,
        requested: toModelRequest(body),
        ...turn.sent,
        endpoint: ENDPOINT,
        signal: c.req.raw.signal,
        translator: responsesTranslator,
      }
      if (!body.stream) {
        const completed = await completeOrRepeat(deps, asked)
        setCompletedHeaders(c, completed)
        c.header('content-type', 'application/json')
        return c.body(await toResponseJson(deps, turn, completed))
      }
      // Errors before the first event still set the status; later ones are sent as events.
      const served = await streamOrRepeat(deps, asked)
      setServedHeaders(c, served)
      return eventStream(c, deps.log, async (stream) => {
        const events = toResponseEvents(deps, turn, served, stream.signal)
        for await (const { event, json: data } of events) await stream.sendText(event, data)
      })
    },
  )

  app.post(
    '/v1/responses/input_tokens',
    endpoint(
      { summary: 'Counts the input tokens of a response', tag: 'Models', ...countAnswers, ...ofLargeBodies },
      answerError,
    ),
    caller,
    limit,
    validate('json', ResponsesRequest),
    async (c) => {
      const body = c.req.valid('json')
      const json = await receiveText(c)
      requirePlainControlKeys(json)
      const { sent } = await openResponseTurn(deps, c.var.caller, { body, json }, deps.instruct(c.var.caller.agentId))
      const counted = await countInput(deps, {
        caller: c.var.caller,
        requested: toModelRequest(body),
        ...toCounted(sent.body),
        endpoint: COUNT_ENDPOINT,
        signal: c.req.raw.signal,
        translator: responsesTranslator,
      })
      return c.json({ object: 'response.input_tokens', input_tokens: counted } as const)
    },
  )

  app.route('/', storedRoutes(deps, limit))
  return app
}

/** Fields that are counted; OpenAI refuses the others here. */
const COUNTED_FIELDS = [
  'input',
  'instructions',
  'model',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
]

function toCounted(sent: JsonObject): { body: JsonObject; json: string } {
  const body = Object.fromEntries(Object.entries(sent).filter(([field]) => COUNTED_FIELDS.includes(field)))
  return { body, json: JSON.stringify(body) }
}

/** Reads and deletes stored responses, which costs nothing. */
function storedRoutes(deps: ResponsesBackendDeps, limit: ReturnType<typeof limitCaller>) {
  const app = new Hono<CallerEnv>()
  const caller = identifyBearer(deps.callers)
  const answerError = errorsInOpenAiForm(deps.log)

  app.get(
    '/v1/responses/:id',
    endpoint({ summary: 'Returns a stored response', tag: 'Models', ...storedAnswers }, answerError),
    caller,
    limit,
    (c) => {
      const id = c.req.param('id')
      if (c.req.query('stream') === 'true') throw notStreamed()
      const stored = deps.responses.find(c.var.caller.userId, id)
      if (!stored) throw responseNotFound(id)
      c.header('content-type', 'application/json')
      return c.body(stored.response)
    },
  )

  app.delete(
    '/v1/responses/:id',
    endpoint({ summary: 'Deletes a stored response', tag: 'Models', ...deletedAnswers }, answerError),
    caller,
    limit,
    async (c) => {
      const id = c.req.param('id')
      if (!(await deps.responses.remove(c.var.caller.userId, id))) throw responseNotFound(id)
      return c.json({ id, object: 'response', deleted: true } as const)
    },
  )

  return app
}

function errorsInOpenAiForm(log: Log): AnswerError {
  return (error, c) => answerOpenAiError(c, error, log)
}

function notStreamed(): AppError {
  const extra = { code: 'unsupported_parameter', param: 'stream' }
  return new AppError('invalid', 'A stored response is not available as a stream.', extra)
}

function responseNotFound(id: string): AppError {
  return new AppError('not_found', `Response with id '${id}' not found.`, { param: 'id' })
}
