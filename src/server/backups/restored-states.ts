import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import { ignoreMissing } from '../../core/files/system-error.ts'
import type { Db } from '../../db/open.ts'
import { agents } from '../../features/agents/registry/tables.ts'

/** Returns the folder of agent files that wait to be restored into an agent. */
export function toRestoredStates(dataDir: string): string {
  return join(dataDir, 'restored-states')
}

/** Age at which an unclaimed file is a leftover of an interrupted restore. */
const FORGOTTEN_MS = 3_600_000

/** Lists the file names that wait for an agent, in order of precedence. */
export type FindWaiting = (agentId: string) => string[]

/** Finds the waiting files: one restored for this agent alone, named by its row, before one of a full restore. */
export function createFindWaiting(db: Db): FindWaiting {
  return (agentId) => {
    const row = db.select({ name: agents.restoredState }).from(agents).where(eq(agents.id, agentId)).get()
    return [...(row?.name ? [row.name] : []), `${agentId}.tar.gz`]
  }
}

/**
 * Wraps a runtime: `deploy` first replaces an agent's files by the waiting ones. After a crash they are still waiting.
 */
export function bringRestoredStates(runtime: Runtime, folder: string, findWaiting: FindWaiting): Runtime {
  const listFiles = (id: string) => findWaiting(id).map((name) => join(folder, name))
  const forget = (id: string) => Promise.all(listFiles(id).map((file) => rm(file, { force: true })))
  return {
    ...runtime,
    async deploy(spec) {
      const file = listFiles(spec.id).find((waiting) => existsSync(waiting))
      if (file !== undefined) {
        // An unknown agent must be created before its files can be replaced.
        if (!(await runtime.inspect(spec.id))) await runtime.deploy(spec)
        await runtime.stop(spec.id)
        await runtime.restore(spec.id, file)
        await forget(spec.id)
      }
      await runtime.deploy(spec)
    },
    async remove(id) {
      await runtime.remove(id)
      await forget(id)
    },
  }
}

/** Removes files of interrupted restores that no row names, and those of deleted agents. */
export async function sweepRestoredStates(db: Db, folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const rows = db.select({ id: agents.id, name: agents.restoredState }).from(agents).all()
  const wanted = new Set(rows.flatMap(({ id, name }) => [`${id}.tar.gz`, name]))
  for (const name of (await readdir(folder)).filter((entry) => !wanted.has(entry))) {
    const stats = await stat(join(folder, name)).catch(ignoreMissing)
    if (stats && Date.now() - stats.mtimeMs > FORGOTTEN_MS) await rm(join(folder, name), { force: true })
  }
}
