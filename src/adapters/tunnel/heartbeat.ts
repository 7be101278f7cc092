import { decodeFrame, encodeFrame } from './frames.ts'

export type HeartbeatTimes = { everyMs: number; deadMs: number }
/** Below the idle timeouts of common proxies. */
export const HEARTBEAT: HeartbeatTimes = { everyMs: 3000, deadMs: 10_000 }

/** Pings the other side of a connection and notes whatever arrives. */
export type Heartbeat = {
  /** Handles a message that belongs to the heartbeat. @returns false for any other. @throws ProtocolError. */
  take(message: Buffer): boolean
  /** The last round trip; null before the first. */
  latencyMs(): number | null
  stop(): void
}

/** Starts a heartbeat. `onDead` is called when nothing arrived for `deadMs`. */
export function startHeartbeat(
  { send, onDead }: { send: (bytes: Uint8Array) => void; onDead: () => void },
  { everyMs, deadMs }: HeartbeatTimes,
): Heartbeat {
  let heardAt = performance.now()
  let pingedAt = 0
  let latencyMs: number | null = null
  let token = 0
  const sendToken = (type: 'ping' | 'pong', number: number) =>
    send(encodeFrame({ type, number, stream: 0, payload: new Uint8Array(0) }))
  const beat = () => {
    if (performance.now() - heardAt > deadMs) return onDead()
    token = (token + 1) % 0x1_0000_0000
    pingedAt = performance.now()
    sendToken('ping', token)
  }
  const timer = setInterval(beat, everyMs)
  return {
    take(message) {
      heardAt = performance.now()
      const { type, number } = decodeFrame(message)
      if (type === 'ping') sendToken('pong', number)
      else if (type !== 'pong') return false
      else if (number === token) latencyMs = Math.round(performance.now() - pingedAt)
      return true
    },
    latencyMs: () => latencyMs,
    stop: () => clearInterval(timer),
  }
}
