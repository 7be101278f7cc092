import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { AgentEndpoint } from './endpoint.ts'
import { type Ask, parseJson } from './http.ts'
import { Challenge, toConnectParams, toOpenClawDevice } from './openclaw-device.ts'
import { approveOpenClawDevice } from './openclaw-pairing.ts'

const Refusal = z.object({
  code: z.string(),
  message: z.string(),
  details: z.object({ requestId: z.string().optional() }).optional(),
})
type Refusal = z.infer<typeof Refusal>

const Frame = z.union([
  z.object({ type: z.literal('event'), event: z.string(), payload: z.unknown() }),
  z.object({ type: z.literal('res'), id: z.string(), ok: z.literal(true), payload: z.unknown() }),
  z.object({ type: z.literal('res'), id: z.string(), ok: z.literal(false), error: Refusal }),
])

/** Calls of OpenClaw's WebSocket protocol 4, as an operator who may do everything. */
export type OpenClawSocket = Disposable & {
  /** @throws AppError `upstream_failed` with the gateway's words, `upstream_timeout`, `unavailable`. */
  call<Schema extends z.ZodType>(schema: Schema, method: string, params: object): Promise<z.infer<Schema>>
}

/**
 * Connects to an OpenClaw gateway and, the first time, pairs with it: the gateway token alone opens nothing through a
 * published port, so the platform asks as a device and approves that itself over HTTP.
 */
export async function openOpenClawSocket(
  ask: Ask,
  endpoint: AgentEndpoint,
  timeoutMs: number,
): Promise<OpenClawSocket> {
  const first = await connect(endpoint, timeoutMs)
  if ('call' in first) return first
  const requestId = first.details?.requestId
  if (requestId === undefined) throw refused(first)
  await approveOpenClawDevice(ask, endpoint, requestId, timeoutMs)
  const second = await connect(endpoint, timeoutMs)
  if ('call' in second) return second
  throw refused(second)
}

/** The open socket, or why the gateway does not let us in. */
async function connect(endpoint: AgentEndpoint, timeoutMs: number): Promise<OpenClawSocket | Refusal> {
  const link = openLink(`${endpoint.baseUrl.replace(/^http/, 'ws')}/`, timeoutMs)
  try {
    const params = toConnectParams(
      toOpenClawDevice(endpoint.gatewayToken),
      endpoint.gatewayToken,
      parsePayload(Challenge, await link.challenge),
    )
    const answer = await link.request('connect', params)
    if (!answer.ok) {
      link.close()
      return answer.error
    }
  } catch (error) {
    link.close()
    throw error
  }
  return {
    async call(schema, method, params) {
      const answer = await link.request(method, params)
      if (answer.ok) return parsePayload(schema, answer.payload)
      throw refused(answer.error)
    },
    [Symbol.dispose]: link.close,
  }
}

type Answer = { ok: true; payload: unknown } | { ok: false; error: Refusal }

/** Frames over one WebSocket: the first event of the gateway, and requests with their answers. */
function openLink(url: string, timeoutMs: number) {
  const socket = new WebSocket(url)
  const challenge = Promise.withResolvers<unknown>()
  const waiting = new Map<string, PromiseWithResolvers<Answer>>()
  let count = 0

  const fail = (error: AppError) => {
    challenge.reject(error)
    for (const request of waiting.values()) request.reject(error)
    waiting.clear()
  }
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => {
      fail(new AppError('upstream_timeout', 'The agent did not answer in time'))
      socket.close()
    }, timeoutMs)
    return work.finally(() => clearTimeout(timer))
  }
  // Nobody may be waiting for it any more when the socket closes.
  challenge.promise.catch(() => undefined)
  socket.onclose = () => fail(new AppError('unavailable', 'The agent closed the connection'))
  socket.onerror = () => fail(new AppError('unavailable', 'The agent is not reachable'))
  socket.onmessage = ({ data }) => {
    const frame = Frame.safeParse(parseJson(String(data)))
    // Frames of later versions, and events that nobody asked for.
    if (!frame.success) return
    if (frame.data.type === 'event') {
      if (frame.data.event === 'connect.challenge') challenge.resolve(frame.data.payload)
      return
    }
    waiting.get(frame.data.id)?.resolve(frame.data)
    waiting.delete(frame.data.id)
  }
  return {
    challenge: inTime(challenge.promise),
    request(method: string, params: object): Promise<Answer> {
      const id = String(++count)
      const answer = Promise.withResolvers<Answer>()
      waiting.set(id, answer)
      socket.send(JSON.stringify({ type: 'req', id, method, params }))
      return inTime(answer.promise)
    },
    close: () => socket.close(),
  }
}

function parsePayload<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: parsed.error })
}

function refused({ message }: Refusal): AppError {
  return new AppError('upstream_failed', message)
}
