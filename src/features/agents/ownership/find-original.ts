import { readdirSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { isAlive } from '../../../adapters/runtimes/process/spawn.ts'
import type { ProcessTable } from '../../../adapters/runtimes/process/table.ts'

/**
 * The data folder of the installation that the agents of `processes` live in, when that is another one which is still
 * there: only a copy has records of living processes that are not its own. For databases that do not tell yet where they
 * live.
 */
export async function findOriginal(processes: string, table: ProcessTable): Promise<string | null> {
  for (const id of listNames(processes)) {
    const folder = agentFolder(processes, id)
    const record = await findRecord(folder).catch(() => null)
    if (!record?.process || !(await isAlive(table, record.process))) continue
    const state = resolveLinks((await table.markOf(record.process.pid)) ?? folder.state)
    if (state !== null && state !== resolveLinks(folder.state)) return dirname(dirname(dirname(state)))
  }
  return null
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Null for what is not there any more. */
function resolveLinks(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}
