import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { parseBoundedJson } from '../../core/json/bounded-json.ts'
import { requestIdHeader } from '../../core/request-id.ts'
import { readText } from '../egress/answers/read-text.ts'
import { TooMuch } from '../egress/body.ts'
import type { AgentKind } from '../runtimes/contract/runtime.ts'

export const MAX_JSON_BYTES = 1024 * 1024
/** Error codes of Bun, Node and the system for a closed port or an unreachable host. */
const UNREACHABLE_CODES = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EHOSTUNREACH',
])

/** A request to an agent, authenticated by its gateway token. */
export type AgentCall = {
  endpoint: AgentEndpoint
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** A connection that failed or broke. `wasReached`: the agent may have received the call and may continue with it. */
export class BrokenConnection extends AppError {
  readonly wasReached: boolean
  constructor(message: string, wasReached: boolean, cause?: unknown) {
    super(wasReached ? 'upstream_failed' : 'unavailable', message, {}, { cause })
    this.wasReached = wasReached
  }
}

/** A recorded failure of a turn: requesting the turn again fails the same way. */
export class KeptFailure extends AppError {}

/** Error codes of turns that are requested by id. */
const TURN_CODES: ReadonlySet<unknown> = new Set(['TURN_NOT_FOUND', 'TURN_INTERRUPTED', 'TURN_STOPPED'])

/** An agent's error, with or without a type. */
export const Problem = z.object({
  error: z.union([
    z.string().transform((message) => ({ message, type: undefined, code: undefined })),
    z.object({ message: z.string(), type: z.string().nullish(), code: z.unknown().optional() }),
  ]),
})
type Problem = z.infer<typeof Problem>['error']

/** Requests a JSON response of a known schema with a status in `statuses`. */
export type Ask = <Schema extends z.ZodType>(
  schema: Schema,
  call: AgentCall & { timeoutMs: number },
  statuses?: number[],
) => Promise<z.infer<Schema>>

/** @throws AppError from its calls, as in `AgentGateway`. */
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

/** Redirects are not followed: an agent must not choose the platform's targets. */
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

/** Returns undefined, which no schema here accepts, for invalid or too large JSON. */
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

/** Converts an agent's error. Inside a stream only the type distinguishes limits and timeouts. */
export function toProblemError({ message, type, code }: Problem, status: number): AppError {
  if (code === 'TURN_FAILED') {
    const { kind } = toProblemError({ message, type, code: undefined }, status)
    return new KeptFailure(kind, message)
  }
  // The agent keeps the turn and continues it after a restart, or when its machine is back.
  if (code === 'AGENT_STOPPING' || code === 'MACHINE_OFFLINE') return new BrokenConnection(message, true)
  if (TURN_CODES.has(code)) return new AppError(code === 'TURN_NOT_FOUND' ? 'not_found' : 'conflict', message, { code })
  if (status === 429 || type === 'rate_limit_error') return new AppError('limited', message)
  if (status === 401) return new AppError('upstream_failed', 'The agent refused its gateway token')
  if (status === 408 || status === 504 || type === 'upstream_timeout') return new AppError('upstream_timeout', message)
  return new AppError(status === 503 || type === 'unavailable' ? 'unavailable' : 'upstream_failed', message)
}

/** Names timeouts and broken connections; the caller's own abort passes unchanged. */
export function toGatewayError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AppError) return error
  if (error instanceof TooMuch)
    return new AppError('upstream_failed', 'The agent’s answer is too long', {}, { cause: error })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (UNREACHABLE_CODES.has(code)) return new BrokenConnection('The agent is not reachable', false, error)
  return new BrokenConnection('The connection to the agent broke', true, error)
}

/** Creates a signal that aborts after `totalMs`, after `idleMs` without `restart`, and with `outer`. */
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
 * Address of an agent without a trailing slash, its token, and its program. `agentId` is given if the agent may be
 * asleep and must be woken first.
 */
export type AgentEndpoint = { baseUrl: string; gatewayToken: string; kind: AgentKind; agentId?: string }
