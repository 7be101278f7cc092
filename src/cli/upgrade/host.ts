import { AppError, errorMessage } from '../../core/errors.ts'
import { findManager, type Manager } from '../service/manager.ts'

/** How the service is stopped and started around an upgrade. */
export type Host = {
  /** Is it kept by a service manager that runs it now? */
  isRunning: boolean
  stop(): Promise<void>
  /** Starts it and waits until it has been well for a while. @throws AppError saying why it is not. */
  startWell(): Promise<void>
  /** After an upgrade: what had run before runs on, what had not is stopped again. */
  settle(): Promise<void>
}

const START_LIMIT_MS = 120_000
/** One that ends soon after its start is not well. */
const STEADY_MS = 3000
const PAUSE_MS = 200

/** The service that is installed, when it runs; null without one. */
export function findRunningManager(isOfUser: boolean): Manager | null {
  try {
    const manager = findManager(isOfUser)
    return manager.isInstalled() && manager.isActive() ? manager : null
  } catch {
    // A machine without a manager of services has none that runs it.
    return null
  }
}

/** `healthUrl` is that of the web face. */
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

/** A service that nobody keeps: it is started for the trial alone, from its executable. */
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

/** Waits until it has answered for `STEADY_MS` on end. @throws AppError when it ends, or is not well in time. */
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
