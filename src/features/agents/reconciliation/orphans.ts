import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime, RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import { errorMessage } from '../../../core/errors.ts'
import { inRanges } from '../../../db/pages/newest-first.ts'
import { type OperationDeps, stopIfDeployed } from '../deployments/start.ts'
import { AGENTS_NEWEST_FIRST } from '../registry/list.ts'
import { agents } from '../registry/tables.ts'

/** Looks once, and removes what has been without a row for long enough. */
export type RemoveOrphans = () => Promise<void>

/** A deletion ends what runs within a minute; what is left after this long was forgotten. */
const ORPHAN_MS = 600_000
/** Nobody leaves. */
const NEVER = new AbortController().signal

/**
 * What a runtime has for this installation and no row says that it runs there. It is removed only when that is sure: seen
 * so for ten minutes on end, by a platform that has agents at all (an empty table is rather a lost database). What it has
 * stored is kept as a snapshot among the backups.
 */
export function createOrphanFinder(deps: OperationDeps): RemoveOrphans {
  const seenSince = new Map<string, number>()
  return async () => {
    const homes = new Map<string, RuntimeName | null>()
    for await (const isInRange of inRanges(deps.db, AGENTS_NEWEST_FIRST, undefined, NEVER)) {
      const rows = deps.db.select({ id: agents.id, runtime: agents.runtime }).from(agents).where(isInRange).all()
      for (const { id, runtime } of rows) homes.set(id, runtime)
    }
    for (const runtime of deps.runtimes.listOpen()) {
      if (!(await runtime.isAvailable())) continue
      const orphans = (await runtime.list()).map(({ id }) => id).filter((id) => !isAtHome(homes, id, runtime.name))
      const overdue = noteSeen(seenSince, runtime.name, orphans, deps.clock.now().getTime())
      for (const id of homes.size > 0 ? overdue : []) await removeOrphan(deps, runtime, id)
    }
  }
}

/** Notes in `seenSince` which orphans a runtime has. @returns those that it has had for long enough. */
function noteSeen(seenSince: Map<string, number>, runtime: RuntimeName, orphans: string[], nowMs: number): string[] {
  for (const key of seenSince.keys()) {
    const [name, id = ''] = key.split(' ')
    if (name === runtime && !orphans.includes(id)) seenSince.delete(key)
  }
  return orphans.filter((id) => {
    const key = `${runtime} ${id}`
    const since = seenSince.get(key) ?? nowMs
    seenSince.set(key, since)
    return nowMs - since >= ORPHAN_MS
  })
}

function isAtHome(homes: ReadonlyMap<string, RuntimeName | null>, id: string, runtime: RuntimeName): boolean {
  const home = homes.get(id)
  return home === null || home === runtime
}

async function removeOrphan(deps: OperationDeps, runtime: Runtime, id: string): Promise<void> {
  const who = { agent: id, runtime: runtime.name }
  try {
    await deps.agentTurns.take(id, () => putAside(deps, runtime, id))
    deps.log.warn(who, 'an agent that no row knows was removed; what it had stored is among the backups')
  } catch (error) {
    deps.log.error({ ...who, error: errorMessage(error) }, 'an agent that no row knows could not be removed')
  }
}

async function putAside({ snapshotDir }: OperationDeps, runtime: Runtime, id: string): Promise<void> {
  await stopIfDeployed(runtime, id)
  const folder = join(snapshotDir, '..', 'orphans')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await runtime.snapshot(id, join(folder, `${id}.tar.gz`))
  await runtime.remove(id)
}
