import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import type { Db } from '../../db/open.ts'
import { agents } from '../../features/agents/registry/tables.ts'
import { ignoreMissing } from '../../features/agents/snapshots/snapshots.ts'

/** Where the states of agents wait that a restored backup has brought. */
export function toRestoredStates(dataDir: string): string {
  return join(dataDir, 'restored-states')
}

/** A file in that folder which nobody has taken for so long belongs to a restore that was broken off. */
const FORGOTTEN_MS = 3_600_000

/** The names of the files that wait for an agent, that which counts first. */
export type FindWaiting = (agentId: string) => string[]

/**
 * What waits for an agent: the state that was restored for it alone, which its row names, or that which came with the whole
 * installation.
 */
export function createFindWaiting(db: Db): FindWaiting {
  return (agentId) => {
    const row = db.select({ name: agents.restoredState }).from(agents).where(eq(agents.id, agentId)).get()
    return [...(row?.name ? [row.name] : []), `${agentId}.tar.gz`]
  }
}

/**
 * A runtime that gives an agent the state that waits for it when it is deployed next, in the place of all that it has
 * stored. A crash in between leaves the state waiting; the agent works with it alone once it has gone.
 */
export function bringRestoredStates(runtime: Runtime, folder: string, findWaiting: FindWaiting): Runtime {
  const listFiles = (id: string) => findWaiting(id).map((name) => join(folder, name))
  const forget = (id: string) => Promise.all(listFiles(id).map((file) => rm(file, { force: true })))
  return {
    ...runtime,
    async deploy(spec) {
      const file = listFiles(spec.id).find((waiting) => existsSync(waiting))
      if (file !== undefined) {
        // A runtime that does not know the agent makes its place first.
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

/** Removes the states that restores have left which were broken off before a row named them, and those of agents that are gone. */
export async function sweepRestoredStates(db: Db, folder: string): Promise<void> {
  if (!existsSync(folder)) return
  const rows = db.select({ id: agents.id, name: agents.restoredState }).from(agents).all()
  const wanted = new Set(rows.flatMap(({ id, name }) => [`${id}.tar.gz`, name]))
  for (const name of (await readdir(folder)).filter((entry) => !wanted.has(entry))) {
    const stats = await stat(join(folder, name)).catch(ignoreMissing)
    if (stats && Date.now() - stats.mtimeMs > FORGOTTEN_MS) await rm(join(folder, name), { force: true })
  }
}
