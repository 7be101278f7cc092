import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { agentFolder, findRecord } from '../../../adapters/runtimes/process/files.ts'
import { findInstance } from '../../../adapters/runtimes/process/place.ts'
import { endProcesses } from '../../../adapters/runtimes/process/spawn.ts'
import type { ProcessTable } from '../../../adapters/runtimes/process/table.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError, StartupError } from '../../../core/errors.ts'
import { lockDataDir } from '../../../db/instance-lock.ts'
import { type Db, openDatabase } from '../../../db/open.ts'
import { openWriteQueue, write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findOwnership, findStandbyReason, isSameMachine, type LocatedInstance, setOwnership } from './ownership.ts'
import type { OwnershipRow } from './tables.ts'

/**
 * `original` is null when this instance owned the agents already; `isTold` when the original will start as a standby.
 */
export type Takeover = { original: { path: string; isTold: boolean } | null }

/** A longer chain of copies is a cycle. */
const MAX_ORIGINALS = 20

/**
 * Makes the instance at `here` the owner of the agents. The original becomes a standby and its process agents are
 * ended; an original on another machine cannot be notified. `table` lists the processes of this machine.
 * @throws StartupError while the original runs, AppError `forbidden` when this user may not check whether it does.
 */
export async function takeOverAgents(
  { db, clock, table }: { db: Db; clock: Clock; table: ProcessTable },
  here: LocatedInstance,
): Promise<Takeover> {
  const known = findOwnership(db)
  if (!known || findStandbyReason(db, here) === null) {
    await write(db, (tx) => setOwnership(tx, here, null))
    return { original: null }
  }
  const isNotified = await notifyOriginals(table, known, here, clock.now())
  await write(db, (tx) => {
    setOwnership(tx, here, null)
    const detail = { from: known.path }
    recordAudit(tx, { actor: 'cli', action: 'installation.adopted', target: here.place.path, detail }, clock.now())
  })
  return { original: { path: known.path, isTold: isNotified } }
}

type Original = { unlock: () => void; path: string; databaseFile: string }

/** Notifies every previous owner or none: a running one keeps the agents. */
async function notifyOriginals(
  table: ProcessTable,
  known: OwnershipRow,
  here: LocatedInstance,
  now: Date,
): Promise<boolean> {
  const originals: Original[] = []
  try {
    const isWhole = await lockOriginals(known, here, originals)
    for (const { path, databaseFile } of originals) {
      await withDatabase(databaseFile, (db) => write(db, (tx) => setOwnership(tx, here, now)))
      await endAgentProcesses(join(path, 'agents'), table)
    }
    return isWhole
  } finally {
    for (const { unlock } of originals) unlock()
  }
}

/** Locks the previous owners, each of which names its successor. @returns whether the last of them was found. */
async function lockOriginals(known: OwnershipRow, here: LocatedInstance, originals: Original[]): Promise<boolean> {
  for (let next: OwnershipRow | null = known; next && next.path !== here.place.path; ) {
    if (originals.length === MAX_ORIGINALS || !isReachable(next, here)) return false
    const { path, databaseFile }: OwnershipRow = next
    originals.push({ unlock: lockOriginal(path), path, databaseFile })
    const before: OwnershipRow | null = await withDatabase(databaseFile, async (db) => findOwnership(db))
    next = before?.leftAt ? before : null
  }
  return true
}

function isReachable(original: OwnershipRow, { place, instance }: LocatedInstance): boolean {
  if (!isSameMachine(original, place) || original.volume !== place.volume) return false
  const found = findInstance(original.path)
  if (found === 'unknown') {
    throw new AppError('forbidden', `adopt: ${original.path} cannot be looked at: run it as the user who may`)
  }
  return found.id === instance && existsSync(original.databaseFile)
}

async function withDatabase<T>(file: string, work: (db: Db) => Promise<T>): Promise<T> {
  const connection = openDatabase(file)
  try {
    openWriteQueue(connection)
    return await work(connection.db)
  } finally {
    connection.close()
  }
}

function lockOriginal(path: string): () => void {
  try {
    return lockDataDir(path)
  } catch (error) {
    if (!(error instanceof StartupError)) throw error
    const reason = `adopt: the installation at ${path} has the agents: stop it first (${error.message})`
    throw new StartupError(reason, { cause: error })
  }
}

/** Time for an agent to exit before it is killed. */
const STOP_MS = 30_000

/**
 * Ends the process agents in an instance's folder, which would occupy the ports of the same agents elsewhere. The
 * caller holds the instance's lock.
 */
export async function endAgentProcesses(processes: string, table: ProcessTable): Promise<void> {
  const ids = existsSync(processes) ? readdirSync(processes) : []
  await Promise.all(
    ids.map(async (id) => {
      const folder = agentFolder(processes, id)
      // Without a readable record, processes are found by their folder.
      const record = await findRecord(folder).catch(() => null)
      await endProcesses(table, folder, record?.process ?? null, STOP_MS)
    }),
  )
}
