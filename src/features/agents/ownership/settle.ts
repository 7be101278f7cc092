import { findInstance, type Place } from '../../../adapters/runtimes/process/place.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { describeStandingBack, judgeResidence } from './judge.ts'
import { type ResidenceRow, residence } from './tables.ts'

/** Where an installation is and its database; `instance` is its id, which copies share. */
export type Here = { place: Place; databaseFile: string; instance: string }

export function findResidence(db: Db): ResidenceRow | null {
  return db.select().from(residence).get() ?? null
}

/** Why this installation must leave the agents alone; null when it is the one that they belong to, or the first to ask. */
export function findObjection(db: Db, { place, instance }: Here): string | null {
  const known = findResidence(db)
  if (!known || judgeResidence(known, place, () => isGone(known, instance)) !== 'copy') return null
  return describeStandingBack(known, place)
}

/**
 * Notes that the installation lives here unless something speaks against it: at its first start, after its folder was
 * renamed, and in each run of its machine. @returns why it must leave the agents alone, null when it need not.
 */
export async function settle(db: Db, here: Here): Promise<string | null> {
  const objection = findObjection(db, here)
  if (objection === null) await write(db, (tx) => setResidence(tx, here, null))
  return objection
}

/** Writes where the installation lives, and with `leftAt` that this was another one until then. */
export function setResidence(tx: Tx, { place, databaseFile }: Omit<Here, 'instance'>, leftAt: Date | null): void {
  const home = { ...place, databaseFile, leftAt }
  tx.insert(residence)
    .values({ id: 1, ...home })
    .onConflictDoUpdate({ target: residence.id, set: home })
    .run()
}

/** Nothing, or another installation, is where this one was. */
function isGone(known: ResidenceRow, instance: string): boolean {
  const found = findInstance(known.path)
  return found !== 'unknown' && found.id !== instance
}
