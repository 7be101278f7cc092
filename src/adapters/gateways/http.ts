import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { requestIdHeader } from '../../core/request-id.ts'
import { readText } from '../egress/answers/read-text.ts'
import { TooMuch } from '../egress/body.ts'
import type { AgentKind } from '../runtimes/contract/runtime.ts'

export const MAX_JSON_BYTES = 1024 * 1024
/** What Bun, Node and the system say when nobody is there. */
const NOBODY_THERE = new Set(['ConnectionRefused', 'ECONNREFUSED', 'FailedToOpenSocket', 'ENOTFOUND', 'EHOSTUNREACH'])

/** One request to an agent, which carries its gateway token. */
export type AgentCall = {
  endpoint: AgentEndpoint
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/**
 * The connection to an agent could not be made, or broke. `wasReached` tells whether the agent may know of the call; what it
 * was asked for may then go on.
 */
export class BrokenConnection extends AppError {
  readonly wasReached: boolean
  constructor(message: string, wasReached: boolean, cause?: unknown) {
    super(wasReached ? 'upstream_failed' : 'unavailable', message, {}, { cause })
    this.wasReached = wasReached
  }
}

/** A turn that was asked for before had failed: asked for again by its id it fails so for ever. */
export class KeptFailure extends AppError {}

/** What agents say of a turn that is asked for by its id, as codes of their errors. */
const TURN_CODES: ReadonlySet<unknown> = new Set(['TURN_NOT_FOUND', 'TURN_INTERRUPTED', 'TURN_STOPPED'])

/** How agents say that something went wrong, with or without a type. */
export const Problem = z.object({
  error: z.union([
    z.string().transform((message) => ({ message, type: undefined, code: undefined })),
    z.object({ message: z.string(), type: z.string().nullish(), code: z.unknown().optional() }),
  ]),
})
type Problem = z.infer<typeof Problem>['error']

/** Asks an agent for one JSON answer of a known shape, with a status among `statuses`. */
export type Ask = <Schema extends z.ZodType>(
  schema: Schema,
  call: AgentCall & { timeoutMs: number },
  statuses?: number[],
) => Promise<z.infer<Schema>>

/** @throws AppError from the calls it makes, as `AgentGateway` says. */
export function createAsk(plainFetch: typeof fetch): Ask {
  return async (schema, call, statuses = [200]) => {
    const bounded = createBounds(call.timeoutMs, call.timeoutMs)
    try {
      const response = await sendToAgent(plainFetch, call, bounded.signal)
      const text = await readText(response, MAX_JSON_BYTES)
      if (!statuses.includes(response.status)) throw toStatusError(response.status, text)
      return parseAnswer(schema, text)
    } catch (error) {
      throw toGatewayError(error, bounded.signal)
    } finally {
      bounded.stop()
    }
  }
}

/** Never follows a redirect: an agent must not choose whom the platform talks to. */
export function sendToAgent(plainFetch: typeof fetch, call: AgentCall, signal: AbortSignal): Promise<Response> {
  return plainFetch(`${call.endpoint.baseUrl}${call.path}`, {
    method: call.method ?? 'GET',
    headers: { ...call.headers, ...requestIdHeader(), authorization: `Bearer ${call.endpoint.gatewayToken}` },
    redirect: 'manual',
    signal,
    ...(call.body !== undefined && { body: call.body }),
  })
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> {
  const parsed = schema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: parsed.error })
}

/** Undefined, which no schema here accepts, for what is not JSON, or more of it than an agent has to say. */
export function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

export function toStatusError(status: number, text: string): AppError {
  const problem = Problem.safeParse(parseJson(text)).data?.error
  return toProblemError(
    problem ?? { message: `The agent answered with status ${status}`, type: undefined, code: undefined },
    status,
  )
}

/** Inside a stream only the type tells a limit or a timeout from other failures. */
export function toProblemError({ message, type, code }: Problem, status: number): AppError {
  if (code === 'TURN_FAILED') {
    const { kind } = toProblemError({ message, type, code: undefined }, status)
    return new KeptFailure(kind, message)
  }
  // The turn is kept, and goes on when the agent is back.
  if (code === 'AGENT_STOPPING') return new BrokenConnection(message, true)
  if (TURN_CODES.has(code)) return new AppError(code === 'TURN_NOT_FOUND' ? 'not_found' : 'conflict', message, { code })
  if (status === 429 || type === 'rate_limit_error') return new AppError('limited', message)
  if (status === 401) return new AppError('upstream_failed', 'The agent refused its gateway token')
  if (status === 408 || status === 504 || type === 'upstream_timeout') return new AppError('upstream_timeout', message)
  return new AppError(status === 503 || type === 'unavailable' ? 'unavailable' : 'upstream_failed', message)
}

/** The caller's own abort comes out as it is; a timeout and a broken connection get their names. */
export function toGatewayError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AppError) return error
  if (error instanceof TooMuch)
    return new AppError('upstream_failed', 'The agent’s answer is too long', {}, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (NOBODY_THERE.has(code)) return new BrokenConnection('The agent is not reachable', false, error)
  return new BrokenConnection('The connection to the agent broke', true, error)
}

/** Aborts after `totalMs`, after `idleMs` without `restart`, and with `outer`. */
export function createBounds(idleMs: number, totalMs: number, outer?: AbortSignal) {
  const controller = new AbortController()
  const expire = () => controller.abort(new AppError('upstream_timeout', 'The agent did not answer in time'))
  const total = setTimeout(expire, totalMs)
  let idle = setTimeout(expire, idleMs)
  const stop = () => {
    clearTimeout(total)
    clearTimeout(idle)
  }
  return {
    signal: outer ? AbortSignal.any([outer, controller.signal]) : controller.signal,
    stop,
    restart() {
      clearTimeout(idle)
      idle = setTimeout(expire, idleMs)
    },
    abort() {
      stop()
      controller.abort()
    },
  }
}

/**
 * Where an agent listens, without a trailing slash, the token that owns it, and which program it is. `agentId` names the
 * agent for whoever has to wake it first; those who look at what runs leave it out.
 */
export type AgentEndpoint = { baseUrl: string; gatewayToken: string; kind: AgentKind; agentId?: string }
