import { z } from 'zod'

/** A frame of the socket: ready, about to close, or an envelope to acknowledge. */
const Frame = z.union([
  z.object({ type: z.literal('hello') }),
  z.object({ type: z.literal('disconnect'), reason: z.string() }),
  z.object({ type: z.string(), envelope_id: z.string(), payload: z.unknown() }),
])
export type Envelope = { type: string; payload: unknown }

const PING_EVERY_MS = 15_000

type Needs = {
  /** Valid for one connection. */
  url: string
  connected(): void
  /** A rejection closes the socket unacknowledged, and Slack delivers the envelope again. */
  receive(envelope: Envelope): Promise<void>
  signal: AbortSignal
}

/** Slack's reason for closing, or `broken`. */
export type SocketEnd = { reason: string }

/**
 * Listens to one socket of Socket Mode until it ends or `signal` aborts. Slack's own client needs a network library that the
 * runtime replaces, and would take each connection for dead after 30 seconds.
 * @throws what `receive` throws.
 */
export async function listenToSocket({ url, connected, receive, signal }: Needs): Promise<SocketEnd> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<SocketEnd>()
  const socket = new WebSocket(url)
  let isAlive = true
  const endAsBroken = () => resolve({ reason: 'broken' })
  const confirm = async ({ envelope_id: id, ...envelope }: Envelope & { envelope_id: string }) => {
    await receive(envelope)
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ envelope_id: id }))
  }
  socket.addEventListener('message', ({ data }) => {
    isAlive = true
    const frame = Frame.safeParse(parseJson(String(data))).data
    if (!frame) return
    if ('envelope_id' in frame) confirm(frame).catch(reject)
    else if (frame.type === 'hello') connected()
    else resolve({ reason: frame.reason })
  })
  socket.addEventListener('pong', () => {
    isAlive = true
  })
  socket.addEventListener('error', endAsBroken)
  socket.addEventListener('close', endAsBroken)
  signal.addEventListener('abort', endAsBroken)
  const timer = setInterval(() => {
    if (!isAlive) return endAsBroken()
    isAlive = false
    if (socket.readyState === WebSocket.OPEN) socket.ping()
  }, PING_EVERY_MS)
  try {
    if (signal.aborted) endAsBroken()
    return await ended
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', endAsBroken)
    socket.close()
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
