import { z } from 'zod'
import { errorMessage } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { RunStead } from '../features/admin/backups/run-backup.ts'

const Report = z.object({ checks: z.array(z.object({ name: z.string(), status: z.string(), message: z.string() })) })

/**
 * Checks the database in a process of its own, as `stead doctor` does, and logs damage as an error.
 * @returns the function that ends the check.
 */
export function startDatabaseCheck(runStead: RunStead, log: Log): () => Promise<void> {
  const stopping = new AbortController()
  const checking = checkDatabase(runStead, log, stopping.signal)
  return () => {
    stopping.abort()
    return checking
  }
}

async function checkDatabase(runStead: RunStead, log: Log, signal: AbortSignal): Promise<void> {
  try {
    const { stdout } = await runStead(['doctor', '--json'], signal)
    if (signal.aborted) return
    const { checks } = Report.parse(JSON.parse(stdout))
    const damage = checks.find(({ name, status }) => name === 'database' && status === 'error')
    if (damage) log.error({ reason: damage.message }, 'the database is damaged')
    else log.info('The database was not closed properly; it was checked and is whole.')
  } catch (error) {
    if (!signal.aborted) log.warn({ error: errorMessage(error) }, 'the database could not be checked')
  }
}
