import { existsSync, readdirSync } from 'node:fs'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { endProcesses } from '../../../adapters/runtimes/process/spawn.ts'
import type { ProcessTable } from '../../../adapters/runtimes/process/table.ts'

/** So long an agent has to end by itself. */
const STOP_MS = 30_000

/**
 * Ends the agents that run as processes in the folder of an installation which has given them away: they would hold the
 * ports that the same agents get elsewhere. Whoever calls this holds the installation.
 */
export async function endAgents(processes: string, table: ProcessTable): Promise<void> {
  const ids = existsSync(processes) ? readdirSync(processes) : []
  await Promise.all(
    ids.map(async (id) => {
      const folder = agentFolder(processes, id)
      // A record that cannot be read tells of no process; what was started in the folder is found without it.
      const record = await findRecord(folder).catch(() => null)
      await endProcesses(table, folder, record?.process ?? null, STOP_MS)
    }),
  )
}
