import { AppError, errorMessage } from '../../core/errors.ts'
import { findManager, type Manager } from '../service/manager.ts'

/** Stops and starts the server around an upgrade. */
export type Host = {
  /** Set when a service manager runs the server. */
  isRunning: boolean
  stop(): Promise<void>
  /**
   * Starts the server and waits until it has been healthy for a while.
   * @throws AppError with the reason when it is not.
   */
  startWell(): Promise<void>
  /** Restores the state before the upgrade: running or stopped. */
  settle(): Promise<void>
}

const START_LIMIT_MS = 120_000
/** A server that exits soon after its start is not healthy. */
const STEADY_MS = 3000
const PAUSE_MS = 200

/** Returns the installed service if it runs; null otherwise. */
export function findRunningManager(isOfUser: boolean): Manager | null {
  try {
    const manager = findManager(isOfUser)
    return manager.isInstalled() && manager.isActive() ? manager : null
  } catch {
    // Without a service manager no service is installed.
    return null
  }
}

/** `healthUrl` is the health endpoint of the web API. */
export function toManagedHost(manager: Manager, healthUrl: string): Host {
  return {
    isRunning: true,
    stop: async () => manager.stop(),
    async startWell() {
      manager.start()
      await watch({ isAlive: () => manager.isActive(), healthUrl: () => healthUrl })
    },
    settle: async () => undefined,
  }
}

/** Controls a server without a service manager: started from its executable for the health check only. */
export function createTrialHost(command: readonly string[], environment: Record<string, string | undefined>): Host {
  let child: Bun.Subprocess<'ignore', 'pipe', 'pipe'> | null = null
  const stop = async () => {
    child?.kill('SIGTERM')
    await child?.exited
    child = null
  }
  return {
    isRunning: false,
    stop,
    async startWell() {
      const started = Bun.spawn([...command], {
        env: { ...environment },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      child = started
      const words = new Response(started.stderr).text()
      let webUrl: string | null = null
      const reading = (async () => {
        const decoder = new TextDecoder()
        let said = ''
        for await (const bytes of started.stdout) {
          if (webUrl !== null) continue
          said += decoder.decode(bytes, { stream: true })
          webUrl = said.match(/^ +Dashboard +(\S+)\n/m)?.[1] ?? null
        }
      })()
      reading.catch(() => undefined)
      await watch({
        isAlive: () => started.exitCode === null && started.signalCode === null,
        healthUrl: () => webUrl && `${webUrl}/api/health`,
      }).catch(async (error) => {
        await stop()
        throw new AppError('unavailable', [errorMessage(error), (await words).trim().split('\n').at(-1)].join(': '))
      })
    },
    settle: stop,
  }
}

/**
 * Waits until the server has answered for `STEADY_MS` without a failure.
 * @throws AppError when it exits or is not healthy in time.
 */
async function watch(of: { isAlive: () => boolean; healthUrl: () => string | null }): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS
  let wellSince: number | null = null
  while (performance.now() < deadline) {
    if (!of.isAlive()) throw new AppError('unavailable', 'it ended')
    const url = of.healthUrl()
    const isWell = url !== null && (await isAnswering(url))
    wellSince = isWell ? (wellSince ?? performance.now()) : null
    if (wellSince !== null && performance.now() - wellSince >= STEADY_MS) return
    await Bun.sleep(PAUSE_MS)
  }
  throw new AppError('unavailable', `it was not well within ${START_LIMIT_MS / 1000} s`)
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(5000) })).ok
  } catch {
    return false
  }
}
