import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { type AgentEndpoint, type Ask, parseJson } from './http.ts'
import { approveOpenClawDevice, OpenClawChallenge, toConnectParams, toOpenClawDevice } from './openclaw-device.ts'

/** Limits of one connection, whatever the agent sends. Memory is listed in pages and its files are read one by one. */
const MAX_CALLS = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024
const MAX_FRAME_CHARACTERS = 4 * 1024 * 1024
const MAX_MS = 10 * 60_000
/** A longer invalid frame was probably a response, so its caller must not keep waiting. */
const MAX_UNREAD_CHARACTERS = 50_000
/** Events that a busy gateway broadcasts. */
const MAX_UNASKED_FRAMES = 5000

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

/** A client of OpenClaw's WebSocket protocol 4 with the operator role. */
export type OpenClawSocket = Disposable & {
  /** @throws AppError `upstream_failed` with the gateway's message, `upstream_timeout`, `unavailable`. */
  call<Schema extends z.ZodType>(schema: Schema, method: string, params: object): Promise<z.infer<Schema>>
}

/**
 * Connects to an OpenClaw gateway and pairs with it the first time. Through a published port the gateway token alone
 * grants nothing, so the platform connects as a device and approves it over HTTP.
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

/** Returns the open socket, or the gateway's refusal. */
async function connect(endpoint: AgentEndpoint, timeoutMs: number): Promise<OpenClawSocket | Refusal> {
  const link = openLink(`${endpoint.baseUrl.replace(/^http/, 'ws')}/`, timeoutMs)
  try {
    const params = toConnectParams(
      toOpenClawDevice(endpoint.gatewayToken),
      endpoint.gatewayToken,
      parsePayload(OpenClawChallenge, await link.challenge),
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

/** Opens a WebSocket: the gateway's first event, then requests with their responses. */
function openLink(url: string, timeoutMs: number) {
  const socket = new WebSocket(url)
  const challenge = Promise.withResolvers<unknown>()
  const waiting = new Map<string, PromiseWithResolvers<Answer>>()
  let [count, unasked, characters] = [0, 0, 0]
  let isOver = false

  const fail = (error: AppError) => {
    challenge.reject(error)
    for (const request of waiting.values()) request.reject(error)
    waiting.clear()
  }
  const breakOff = (error: AppError) => {
    isOver = true
    clearTimeout(whole)
    fail(error)
    socket.terminate()
  }
  const whole = setTimeout(() => breakOff(tooLate()), MAX_MS)
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const timer = setTimeout(() => {
      fail(tooLate())
      socket.close()
    }, timeoutMs)
    return work.finally(() => clearTimeout(timer))
  }
  // The socket may close when nothing awaits the challenge any more.
  challenge.promise.catch(() => undefined)
  socket.onclose = () => fail(new AppError('unavailable', 'The agent closed the connection'))
  socket.onerror = () => fail(new AppError('unavailable', 'The agent is not reachable'))
  socket.onmessage = ({ data }) => {
    if (isOver) return
    const text = String(data)
    characters += text.length
    if (text.length > MAX_FRAME_CHARACTERS || characters > MAX_CHARACTERS) return breakOff(tooMuch())
    const frame = Frame.safeParse(parseJson(text)).data
    if (frame?.type === 'res' && waiting.has(frame.id)) {
      waiting.get(frame.id)?.resolve(frame)
      waiting.delete(frame.id)
      return
    }
    if (frame?.type === 'event' && frame.event === 'connect.challenge') challenge.resolve(frame.payload)
    if (!frame && text.length > MAX_UNREAD_CHARACTERS) return breakOff(tooMuch())
    // Frames of newer versions, and unrequested events.
    if (++unasked > MAX_UNASKED_FRAMES) breakOff(tooMuch())
  }
  return {
    challenge: inTime(challenge.promise),
    request(method: string, params: object): Promise<Answer> {
      if (isOver || count >= MAX_CALLS) return Promise.reject(tooMuch())
      const id = String(++count)
      const answer = Promise.withResolvers<Answer>()
      waiting.set(id, answer)
      socket.send(JSON.stringify({ type: 'req', id, method, params }))
      return inTime(answer.promise)
    },
    close() {
      clearTimeout(whole)
      socket.close()
    },
  }
}

function tooLate(): AppError {
  return new AppError('upstream_timeout', 'The agent did not answer in time')
}

function tooMuch(): AppError {
  return new AppError('upstream_failed', 'The agent’s answer is too long')
}

function parsePayload<Schema extends z.ZodType>(schema: Schema, payload: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  throw new AppError('upstream_failed', 'The agent answered something unexpected', {}, { cause: parsed.error })
}

function refused({ message }: Refusal): AppError {
  return new AppError('upstream_failed', message)
}
