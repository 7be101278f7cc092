import { LogLevel, SocketModeClient, type SocketModeOptions } from '@slack/socket-mode'
import { z } from 'zod'
import { orLate } from '../../../core/concurrency/race.ts'

const Disconnect = z.object({ type: z.literal('disconnect'), reason: z.string() })
type Envelope = { type: string; body: unknown }
type Acknowledged = Envelope & { ack: () => Promise<void> }

const PING_TIMEOUT_MS = 15_000
const GOODBYE_MS = 2000
/** Failures reject, or become the state of the channel. */
const SILENT = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  setName() {},
  getLevel: () => LogLevel.ERROR,
}

type SocketParts = {
  appToken: string
  clientOptions: NonNullable<SocketModeOptions['clientOptions']>
  connected(): void
  /** A rejection closes the socket unacknowledged, and Slack delivers the envelope again. */
  receive(envelope: Envelope): Promise<void>
  signal: AbortSignal
}

/**
 * Listens to one socket of Socket Mode until it ends or `signal` aborts.
 * @returns Slack's reason for the end, or `broken`. @throws errors of `receive` and of opening the socket.
 */
export async function listenToSocket(parts: SocketParts): Promise<string> {
  const { appToken, clientOptions, connected, receive, signal } = parts
  // The caller reconnects without the client's pause, and reports why a socket has ended.
  const client = new SocketModeClient({
    appToken,
    clientOptions,
    logger: SILENT,
    clientPingTimeout: PING_TIMEOUT_MS,
    autoReconnectEnabled: false,
  })
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const end = () => resolve()
  let reason = 'broken'
  client.on('ws_message', (data: unknown) => {
    reason = Disconnect.safeParse(parseJson(String(data))).data?.reason ?? reason
  })
  client.on('slack_event', ({ ack, type, body }: Acknowledged) => {
    // A repeated envelope is ignored, so a lost acknowledgement is harmless.
    receive({ type, body }).then(() => ack().catch(() => undefined), reject)
  })
  let isReady = false
  client.on('connected', () => {
    isReady = true
    connected()
  })
  client.on('disconnected', end)
  signal.addEventListener('abort', end)
  // Without an error, the socket has ended before it was ready.
  const started = client.start().catch((error: unknown) => (error === undefined ? resolve() : reject(error)))
  try {
    if (signal.aborted) end()
    await ended
    return reason
  } finally {
    signal.removeEventListener('abort', end)
    // A start that is still requesting its address would connect later.
    if (!isReady) void started.then(() => client.disconnect())
    await orLate(client.disconnect(), GOODBYE_MS, undefined)
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
