import { inArray, isNull } from 'drizzle-orm'
import type { RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import { findInstance, type InstanceLocation } from '../../../adapters/runtimes/process/place.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../registry/tables.ts'
import { instanceOwnership, type OwnershipRow } from './tables.ts'

/** `home`: this is the installation. `moved`: it is, and its folder was renamed. `copy`: another one is. */
export type Verdict = 'home' | 'moved' | 'copy'

/**
 * Is the installation at `here` the one that `known` tells of? `isGone` says that nothing of it is left at its old path.
 * In containers the machine's id may be another one each time, so its present run will do, and the path may be the same
 * for everybody, so the volume counts as well.
 */
export function compareOwnership(known: OwnershipRow, here: InstanceLocation, isGone: () => boolean): Verdict {
  if (known.leftAt !== null) return 'copy'
  if (isSameMachine(known, here) && known.path === here.path && known.volume === here.volume) return 'home'
  const hasNoVolume = known.volume === null && here.volume === null
  const isRenamed = isKnownMachine(known, here) && hasNoVolume && known.inode === here.inode
  return isRenamed && isGone() ? 'moved' : 'copy'
}

/** Why an installation stands back, in one sentence without its full stop. */
export function describeStandby(known: OwnershipRow, here: InstanceLocation): string {
  const volume = known.volume ? ` (volume ${known.volume})` : ''
  const where = `${known.path}${volume}${isSameMachine(known, here) ? '' : ' on another machine'}`
  const what = known.leftAt
    ? `the installation at ${where} took the agents over`
    : `this is a copy of the installation at ${where}`
  return `${what}: agents are left alone until stead adopt`
}

/** Machines without an id are taken for the same. */
export function isSameMachine(known: OwnershipRow, here: InstanceLocation): boolean {
  return known.machine === here.machine || isSameRun(known, here)
}

function isKnownMachine(known: OwnershipRow, here: InstanceLocation): boolean {
  return (known.machine !== null && known.machine === here.machine) || isSameRun(known, here)
}

function isSameRun(known: OwnershipRow, here: InstanceLocation): boolean {
  return known.boot !== null && known.boot === here.boot
}

/** Where an installation is and its database; `instance` is its id, which copies share. */
export type LocatedInstance = { place: InstanceLocation; databaseFile: string; instance: string }

export function findOwnership(db: Db): OwnershipRow | null {
  return db.select().from(instanceOwnership).get() ?? null
}

/** Why this installation must leave the agents alone; null when it is the one that they belong to, or the first to ask. */
export function findStandbyReason(db: Db, { place, instance }: LocatedInstance): string | null {
  const known = findOwnership(db)
  if (!known || compareOwnership(known, place, () => isGone(known, instance)) !== 'copy') return null
  return describeStandby(known, place)
}

/**
 * Notes that the installation lives here unless something speaks against it: at its first start, after its folder was
 * renamed, and in each run of its machine. @returns why it must leave the agents alone, null when it need not.
 */
export async function claimOwnership(db: Db, here: LocatedInstance): Promise<string | null> {
  const objection = findStandbyReason(db, here)
  if (objection === null) await write(db, (tx) => setOwnership(tx, here, null))
  return objection
}

/** Writes where the installation lives, and with `leftAt` that this was another one until then. */
export function setOwnership(
  tx: Tx,
  { place, databaseFile }: Omit<LocatedInstance, 'instance'>,
  leftAt: Date | null,
): void {
  const home = { ...place, databaseFile, leftAt }
  tx.insert(instanceOwnership)
    .values({ id: 1, ...home })
    .onConflictDoUpdate({ target: instanceOwnership.id, set: home })
    .run()
}

/** Nothing, or another installation, is where this one was. */
function isGone(known: OwnershipRow, instance: string): boolean {
  const found = findInstance(known.path)
  return found !== 'unknown' && found.id !== instance
}

/** Returns whether an agent of this installation ever ran in a container; it may have been deleted since. */
export function hasRunContainers(db: Db): boolean {
  const inContainer = inArray(agents.runtime, ['docker', 'swarm'])
  if (db.select({ id: agents.id }).from(agents).where(inContainer).limit(1).get()) return true
  return Boolean(db.select({ since: instanceOwnership.ranContainersAt }).from(instanceOwnership).get()?.since)
}

/** Records that this installation has run containers, when `runtime` does. */
export function recordContainerUse(tx: Tx, runtime: RuntimeName, now: Date): void {
  if (runtime === 'process') return
  tx.update(instanceOwnership).set({ ranContainersAt: now }).where(isNull(instanceOwnership.ranContainersAt)).run()
}
