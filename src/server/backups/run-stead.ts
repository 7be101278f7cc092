import { constants, setPriority } from 'node:os'
import { resolve } from 'node:path'
import type { RunStead } from '../../features/admin/backups/run-backup.ts'

/**
 * Runs this program with other arguments in a low-priority child process, so that long work does not block the server.
 * `environment` holds the settings as this process received them.
 */
export function createRunStead(environment: Record<string, string | undefined>): RunStead {
  const main = resolve(import.meta.dir, '..', '..', 'main.ts')
  const command = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, main]
  return async (args, signal, settings) => {
    const child = Bun.spawn([...command, ...args], {
      env: { ...environment, ...settings },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      signal,
    })
    lowerPriority(child.pid)
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { exitCode: await child.exited, stdout, stderr }
  }
}

/** Lowers the priority of a child, unless it has already ended. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) throw error
  }
}
