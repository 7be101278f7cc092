import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../core/errors.ts'
import { agents } from '../agents/tables.ts'
import { type OperationDeps, stopIfDeployed } from './start.ts'

/** Looks once, and removes what has been without a row for long enough. */
export type RemoveOrphans = () => Promise<void>

/** A deletion ends what runs within a minute; what is left after this long was forgotten. */
const ORPHAN_MS = 600_000

/**
 * What the engine runs for this installation and no row knows. It is removed only when that is sure: seen so for ten
 * minutes on end, by a platform that has agents at all (an empty table is rather a lost database). What it has stored is
 * kept as a snapshot among the backups.
 */
export function createOrphanFinder(deps: OperationDeps): RemoveOrphans {
  const seenSince = new Map<string, number>()
  return async () => {
    if (!(await deps.runtime.isAvailable())) return
    const found = await deps.runtime.list()
    const known = new Set(
      deps.db
        .select({ id: agents.id })
        .from(agents)
        .all()
        .map(({ id }) => id),
    )
    const orphans = found.map(({ id }) => id).filter((id) => !known.has(id))
    for (const id of seenSince.keys()) if (!orphans.includes(id)) seenSince.delete(id)
    const now = deps.clock.now().getTime()
    for (const id of orphans) {
      const since = seenSince.get(id) ?? now
      seenSince.set(id, since)
      if (now - since >= ORPHAN_MS && known.size > 0) await removeOrphan(deps, id)
    }
  }
}

async function removeOrphan(deps: OperationDeps, id: string): Promise<void> {
  try {
    await deps.agentTurns.take(id, async () => {
      await stopIfDeployed(deps.runtime, id)
      const folder = join(deps.snapshotDir, '..', 'orphans')
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await deps.runtime.snapshot(id, join(folder, `${id}.tar.gz`))
      await deps.runtime.remove(id)
    })
    deps.log.warn({ agent: id }, 'an agent that no row knows was removed; what it had stored is among the backups')
  } catch (error) {
    deps.log.error({ agent: id, error: errorMessage(error) }, 'an agent that no row knows could not be removed')
  }
}
