import { AppError } from '../../core/errors.ts'
import { HEARTBEAT, type Heartbeat, type HeartbeatTimes, startHeartbeat } from './heartbeat.ts'
import { CLOSE, type MachineHello, PlatformHello, parseHello, STOPPED, TUNNEL_PROTOCOL } from './hello.ts'
import { type Carrier, TunnelSession } from './session.ts'
import type { TunnelStream } from './stream.ts'

const CONNECT_MS = 15_000
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 30_000
/** A connection that lasted this long resets the intervals of retries. */
const STEADY_MS = 10_000
/** Longer than the platform waits for the machine, which then starts a new session. */
const ABANDON_MS = 60_000

export type TunnelEvent =
  | { event: 'tunnel'; version: string; isResumed: boolean }
  | { event: 'reconnecting'; error: string; retryMs: number }

type DialDeps = {
  /** Serves a stream that the platform opened. @throws Error for an unknown target. */
  accept: (target: string, stream: TunnelStream) => void
  report: (event: TunnelEvent) => void
  /** Called after a connection was refused. @throws AppError when a retry cannot help. */
  afterRefusal: () => Promise<void>
  /** Jitter from 0 to 1, so that machines do not reconnect at the same moment. */
  random: () => number
  /** Resolves after `ms`, or at once when `signal` aborts. */
  pause: (ms: number, signal: AbortSignal) => Promise<void>
  heartbeat?: HeartbeatTimes
}

type Dialed = { id: string; session: TunnelSession }
/** End of one connection: whether it was accepted, for how long it lasted, and its close code. */
type Ended = { wasAccepted: boolean; lastedMs: number; code: number; reason: string }

/**
 * Keeps one WebSocket open to `url` until `stopping` aborts, and resumes its streams after a lost connection; retries
 * with growing intervals.
 * @throws AppError when the platform removed the machine or refuses its version.
 */
export async function keepTunnel(
  deps: DialDeps,
  target: { url: string; token: string; version: string },
  stopping: AbortSignal,
): Promise<void> {
  const place: { dialed: Dialed | null } = { dialed: null }
  let failures = 0
  try {
    while (!stopping.aborted) {
      const ended = await connectOnce(deps, target, place, stopping)
      if (stopping.aborted) return
      requireRetryable(ended)
      if (!ended.wasAccepted) await deps.afterRefusal()
      failures = ended.lastedMs > STEADY_MS ? 0 : failures + 1
      const isReplaced = ended.code === CLOSE.replaced
      const longestMs = isReplaced ? MAX_RETRY_MS : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10))
      const retryMs = Math.round(longestMs * (0.5 + deps.random() / 2))
      deps.report({ event: 'reconnecting', error: describe(ended), retryMs })
      await abandoning(place, deps.pause(retryMs, stopping))
    }
  } finally {
    place.dialed?.session.end(new Error('The machine stops'))
  }
}

/** Ends the session when the pause takes longer than the platform keeps its side. */
async function abandoning(place: { dialed: Dialed | null }, paused: Promise<void>): Promise<void> {
  const timer = setTimeout(() => place.dialed?.session.end(new Error('The platform is away')), ABANDON_MS)
  await paused.finally(() => clearTimeout(timer))
}

function requireRetryable({ code, reason }: Ended): void {
  if (code === CLOSE.removed) throw new AppError('unauthenticated', reason || 'The platform removed this machine')
  if (code === CLOSE.version) throw new AppError('conflict', reason || 'The platform refuses this version')
}

function describe({ wasAccepted, code, reason }: Ended): string {
  if (reason) return reason
  return wasAccepted ? 'The tunnel was closed' : `The platform does not accept the tunnel (${code})`
}

function connectOnce(
  deps: DialDeps,
  { url, token, version }: { url: string; token: string; version: string },
  place: { dialed: Dialed | null },
  stopping: AbortSignal,
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false })
  socket.binaryType = 'nodebuffer'
  const carrier: Carrier = { send: (bytes) => void socket.send(bytes), close: () => socket.terminate() }
  let acceptedAt: number | null = null
  let heartbeat: Heartbeat | null = null
  const giveUp = setTimeout(() => socket.terminate(), CONNECT_MS)
  const stop = () => socket.close(STOPPED)
  stopping.addEventListener('abort', stop, { once: true })

  socket.onopen = () => {
    const { dialed } = place
    const session = dialed && !dialed.session.isOver ? dialed : null
    const hello: MachineHello = {
      protocol: TUNNEL_PROTOCOL,
      version,
      session: session?.id ?? null,
      received: session?.session.received ?? 0,
    }
    socket.send(JSON.stringify(hello))
  }
  const acceptHello = (message: string | Buffer) => {
    const hello = parseHello(PlatformHello, message)
    if (!hello) return socket.close(CLOSE.invalid)
    clearTimeout(giveUp)
    acceptedAt = performance.now()
    heartbeat = startHeartbeat({ send: carrier.send, onDead: carrier.close }, deps.heartbeat ?? HEARTBEAT)
    takeUp(deps, place, hello, carrier)
    deps.report({ event: 'tunnel', version: hello.version, isResumed: hello.isResumed })
  }
  socket.onmessage = ({ data }: MessageEvent<string | Buffer>) => {
    if (!heartbeat) acceptHello(data)
    else if (typeof data !== 'string' && !takeBeat(heartbeat, data, carrier)) {
      place.dialed?.session.receive(carrier, data)
    }
  }
  socket.onclose = ({ code, reason }) => {
    clearTimeout(giveUp)
    heartbeat?.stop()
    stopping.removeEventListener('abort', stop)
    place.dialed?.session.detach(carrier)
    const lastedMs = acceptedAt === null ? 0 : performance.now() - acceptedAt
    resolve({ wasAccepted: acceptedAt !== null, lastedMs, code, reason })
  }
  return promise
}

/** Returns whether the message was part of the heartbeat, or invalid, which closes the connection. */
export function takeBeat(heartbeat: Heartbeat, message: Buffer, carrier: Carrier): boolean {
  try {
    return heartbeat.take(message)
  } catch {
    carrier.close()
    return true
  }
}

/** Resumes the session of `place`, or starts the one that the platform has started. */
function takeUp(deps: DialDeps, place: { dialed: Dialed | null }, hello: PlatformHello, carrier: Carrier): void {
  const known = place.dialed
  if (hello.isResumed) {
    const canResume = known?.id === hello.session && known.session.canResumeAt(hello.received)
    if (canResume) known.session.attach(carrier, hello.received)
    else {
      known?.session.end(new Error('The session cannot be resumed'))
      carrier.close()
    }
    return
  }
  known?.session.end(new Error('The platform has begun a new session'))
  const session = new TunnelSession({ role: 'machine', accept: deps.accept, onEnd: () => undefined })
  place.dialed = { id: hello.session, session }
  session.attach(carrier, 0)
}
