import { and, asc, eq, gt, lte, type SQL } from 'drizzle-orm'
import { MAX_PAIRINGS, newPairingCode, PAIRING_LASTS_MS } from '../../../core/agents/pairing.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../registry/tables.ts'
import type { ChannelPairing, ChannelPerson } from './schemas.ts'
import {
  agentChannels,
  type ChannelPairingRow,
  channelPairings,
  channelPeople,
  type PlatformChannel,
} from './tables.ts'

/** A channel of one agent that the platform serves. */
type ChannelKey = { agentId: string; channel: PlatformChannel }

/** Returns whether a person may write to the agent. The owner may from their own verified address. */
export function mayWrite(db: Db | Tx, { agentId, channel }: ChannelKey, personId: string): boolean {
  if (channel === 'mail' && findOwnersAddress(db, agentId) === personId) return true
  const isThis = and(ofPeople({ agentId, channel }), eq(channelPeople.personId, personId))
  return db.select({ id: channelPeople.personId }).from(channelPeople).where(isThis).get() !== undefined
}

/** Lists the people who may write, the owner first. */
export function listAllowedPeople(db: Db, of: ChannelKey): ChannelPerson[] {
  const owner = of.channel === 'mail' ? findOwnersAddress(db, of.agentId) : null
  const people = db.select().from(channelPeople).where(ofPeople(of)).orderBy(asc(channelPeople.since)).all()
  return [
    ...(owner === null ? [] : [{ id: owner, name: null, since: null, isConfigured: true }]),
    ...people
      .filter(({ personId }) => personId !== owner)
      .map(({ personId, name, since }) => ({ id: personId, name, since: since.toISOString(), isConfigured: false })),
  ]
}

/** Lists the people who wait for approval. */
export function listPairings(db: Db, { clock }: { clock: Clock }, of: ChannelKey): ChannelPairing[] {
  return db
    .select()
    .from(channelPairings)
    .where(isWaiting(of, clock.now()))
    .orderBy(asc(channelPairings.expiresAt))
    .all()
    .map(({ code, personId, name, expiresAt }) => ({ code, id: personId, name, expiresAt: expiresAt.toISOString() }))
}

/**
 * Creates a pairing code for an unknown person.
 * @returns null when they have a code already, were denied, or too many people wait.
 */
export function requestPairing(
  tx: Tx,
  { clock }: { clock: Clock },
  of: ChannelKey,
  person: { id: string; name: string },
): string | null {
  const now = clock.now()
  const isOver = lte(channelPairings.expiresAt, now)
  tx.delete(channelPairings)
    .where(and(ofPairings(of), isOver))
    .run()
  if (!mayWait(tx, of, person.id)) return null
  const code = newPairingCode()
  const expiresAt = new Date(now.getTime() + PAIRING_LASTS_MS)
  tx.insert(channelPairings)
    .values({ ...of, personId: person.id, name: person.name, code, expiresAt })
    .run()
  return code
}

/** Approves or denies the person with `code`. @returns the person. @throws AppError `not_found`. */
export function decidePairing(
  tx: Tx,
  { clock }: { clock: Clock },
  of: ChannelKey,
  { code, approve }: { code: string; approve: boolean },
): ChannelPairingRow {
  const now = clock.now()
  const isThis = and(isWaiting(of, now), eq(channelPairings.code, code.toUpperCase()))
  const found = tx.select().from(channelPairings).where(isThis).get()
  if (!found) throw new AppError('not_found', 'Pairing code not found')
  if (!approve) {
    tx.update(channelPairings).set({ isDenied: true }).where(isThis).run()
    return found
  }
  tx.delete(channelPairings).where(isThis).run()
  allowPerson(tx, of, found, now)
  return found
}

function allowPerson(tx: Tx, of: ChannelKey, { personId, name }: ChannelPairingRow, since: Date): void {
  const row = { ...of, personId, name, since }
  tx.insert(channelPeople).values(row).onConflictDoNothing().run()
}

function isWaiting(of: ChannelKey, now: Date): SQL | undefined {
  return and(ofPairings(of), gt(channelPairings.expiresAt, now), eq(channelPairings.isDenied, false))
}

function mayWait(tx: Tx, of: ChannelKey, personId: string): boolean {
  const isOfPerson = and(ofPairings(of), eq(channelPairings.personId, personId))
  if (countRows(tx, channelPairings, isOfPerson) > 0) return false
  return countRows(tx, channelPairings, ofPairings(of)) < MAX_PAIRINGS
}

/** Revokes a person's access. @throws AppError `not_found`; `conflict` for the owner. */
export function removeAllowedPerson(tx: Tx, of: ChannelKey, personId: string): void {
  if (of.channel === 'mail' && findOwnersAddress(tx, of.agentId) === personId) {
    throw new AppError('conflict', 'This is the address of the agent’s owner')
  }
  const isThis = and(ofPeople(of), eq(channelPeople.personId, personId))
  if (tx.delete(channelPeople).where(isThis).run().changes === 0) throw new AppError('not_found', 'Person not found')
}

/** Returns the owner's mail address; null when it is unverified. */
function findOwnersAddress(db: Db | Tx, agentId: string): string | null {
  const owner = db
    .select({ email: users.email, provedAt: users.emailVerifiedAt })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.ownerId))
    .where(eq(agents.id, agentId))
    .get()
  return owner?.provedAt ? owner.email : null
}

function ofPeople({ agentId, channel }: ChannelKey) {
  return and(eq(channelPeople.agentId, agentId), eq(channelPeople.channel, channel))
}

function ofPairings({ agentId, channel }: ChannelKey) {
  return and(eq(channelPairings.agentId, agentId), eq(channelPairings.channel, channel))
}

/** Removes an agent's platform channels and everyone on them, in the caller's transaction. */
export function endChannels(tx: Tx, agentId: string): void {
  for (const table of [channelPeople, channelPairings, agentChannels]) {
    tx.delete(table).where(eq(table.agentId, agentId)).run()
  }
}
