import { inArray, isNull } from 'drizzle-orm'
import type { RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import { findInstance, type InstanceLocation } from '../../../adapters/runtimes/process/place.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../registry/tables.ts'
import { instanceOwnership, type OwnershipRow } from './tables.ts'

/**
 * `home`: this instance owns the agents. `moved`: it does, and its folder was renamed. `copy`: another instance does.
 */
export type OwnershipVerdict = 'home' | 'moved' | 'copy'

/**
 * Compares the recorded owner with the instance at `here`. `isGone` returns whether the old path holds no instance. A
 * container may get another machine id each time, so an equal boot id suffices; its path is the same everywhere, so the
 * volume must match too.
 */
export function compareOwnership(known: OwnershipRow, here: InstanceLocation, isGone: () => boolean): OwnershipVerdict {
  if (known.leftAt !== null) return 'copy'
  if (isSameMachine(known, here) && known.path === here.path && known.volume === here.volume) return 'home'
  const hasNoVolume = known.volume === null && here.volume === null
  const isRenamed = isKnownMachine(known, here) && hasNoVolume && known.inode === here.inode
  return isRenamed && isGone() ? 'moved' : 'copy'
}

/** Describes why an instance is a standby, in one sentence without its full stop. */
export function describeStandby(known: OwnershipRow, here: InstanceLocation): string {
  const volume = known.volume ? ` (volume ${known.volume})` : ''
  const where = `${known.path}${volume}${isSameMachine(known, here) ? '' : ' on another machine'}`
  const what = known.leftAt
    ? `the installation at ${where} took the agents over`
    : `this is a copy of the installation at ${where}`
  return `${what}: agents are left alone until stead adopt`
}

/** Returns whether both are on one machine; machines without an id count as the same. */
export function isSameMachine(known: OwnershipRow, here: InstanceLocation): boolean {
  return known.machine === here.machine || isSameRun(known, here)
}

function isKnownMachine(known: OwnershipRow, here: InstanceLocation): boolean {
  return (known.machine !== null && known.machine === here.machine) || isSameRun(known, here)
}

function isSameRun(known: OwnershipRow, here: InstanceLocation): boolean {
  return known.boot !== null && known.boot === here.boot
}

/** Location of an instance and its database; `instance` is its id, which copies share. */
export type LocatedInstance = { place: InstanceLocation; databaseFile: string; instance: string }

export function findOwnership(db: Db): OwnershipRow | null {
  return db.select().from(instanceOwnership).get() ?? null
}

/** Returns why this instance must not touch the agents; null when it owns them or no owner is recorded. */
export function findStandbyReason(db: Db, { place, instance }: LocatedInstance): string | null {
  const known = findOwnership(db)
  if (!known || compareOwnership(known, place, () => isGone(known, instance)) !== 'copy') return null
  return describeStandby(known, place)
}

/**
 * Records this instance as the owner unless another one is: at the first start, after a renamed folder, and at each
 * boot.
 * @returns why it must not touch the agents, else null.
 */
export async function claimOwnership(db: Db, here: LocatedInstance): Promise<string | null> {
  const objection = findStandbyReason(db, here)
  if (objection === null) await write(db, (tx) => setOwnership(tx, here, null))
  return objection
}

/** Records the owner's location; `leftAt` when this instance gave the agents away. */
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

/** Returns whether the recorded path holds no instance, or another one. */
function isGone(known: OwnershipRow, instance: string): boolean {
  const found = findInstance(known.path)
  return found !== 'unknown' && found.id !== instance
}

/** Returns whether an agent of this instance ever ran in a container, including deleted agents. */
export function hasRunContainers(db: Db): boolean {
  const inContainer = inArray(agents.runtime, ['docker', 'swarm'])
  if (db.select({ id: agents.id }).from(agents).where(inContainer).limit(1).get()) return true
  return Boolean(db.select({ since: instanceOwnership.ranContainersAt }).from(instanceOwnership).get()?.since)
}

/** Records that this instance has run containers, unless `runtime` is `process`. */
export function recordContainerUse(tx: Tx, runtime: RuntimeName, now: Date): void {
  if (runtime === 'process') return
  tx.update(instanceOwnership).set({ ranContainersAt: now }).where(isNull(instanceOwnership.ranContainersAt)).run()
}
