import type { Machine, PlatformClient } from '../../adapters/platform/client.ts'
import { AppError, type ErrorKind, errorMessage } from '../../core/errors.ts'

/** Errors that a retry cannot fix: a wrong key, address or request. */
const FINAL: ReadonlySet<ErrorKind> = new Set(['unauthenticated', 'forbidden', 'invalid', 'not_found'])
const FIRST_RETRY_MS = 1000

/** Events, printed as `--json` lines or text. */
export type ConnectionEvent =
  | { event: 'connected'; userId: string; name: string; dashboardUrl: string }
  | { event: 'heartbeat'; timestamp: string }
  | { event: 'waiting'; error: string; retryMs: number }

export type ConnectionOptions = { everyMs: number; once: boolean }

/**
 * Registers `machine` and sends heartbeats while its gateway is healthy, until `stopping` aborts; retries with growing
 * intervals of at most `everyMs`. `once` runs one cycle.
 * @throws AppError that a retry cannot fix, and with `once` every error.
 */
export async function keepConnected(
  deps: {
    platform: PlatformClient
    /** Checks the gateway. @throws AppError while it is not usable. */
    checkGateway: (signal: AbortSignal) => Promise<void>
    report: (event: ConnectionEvent) => void
    /** Jitter from 0 to 1, so that machines do not reconnect at the same moment. */
    random: () => number
    /** Resolves after `ms`, or at once when `signal` aborts. */
    pause: (ms: number, signal: AbortSignal) => Promise<void>
  },
  machine: Machine,
  { everyMs, once }: ConnectionOptions,
  stopping: AbortSignal,
): Promise<void> {
  const { platform, report } = deps
  let userId: string | null = null
  let isRegistered = false
  let failures = 0

  const beat = async () => {
    userId ??= await platform.findUserId(stopping)
    await deps.checkGateway(stopping)
    if (!isRegistered) {
      const dashboardUrl = await platform.register(userId, machine, stopping)
      isRegistered = true
      report({ event: 'connected', userId, name: machine.name, dashboardUrl })
    }
    report({ event: 'heartbeat', timestamp: await platform.sendHeartbeat(userId, machine.name, stopping) })
  }

  while (!stopping.aborted) {
    let waitMs = everyMs * (0.9 + deps.random() * 0.2)
    try {
      await beat()
      failures = 0
      if (once) return
    } catch (error) {
      if (stopping.aborted) return
      if (once || !(error instanceof AppError) || FINAL.has(error.kind)) throw error
      isRegistered = false
      waitMs = Math.min(everyMs, FIRST_RETRY_MS * 2 ** failures++) * (0.5 + deps.random() / 2)
      report({ event: 'waiting', error: errorMessage(error), retryMs: Math.round(waitMs) })
    }
    await deps.pause(waitMs, stopping)
  }
}
