import { and, asc, eq, gt, lte, type SQL } from 'drizzle-orm'
import { MAX_PAIRINGS, newPairingCode, PAIRING_LASTS_MS } from '../../../core/agents/pairing-code.ts'
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

/** A channel of the platform's, of one agent. */
export type OfChannel = { agentId: string; channel: PlatformChannel }

/** May this person write to the agent? The owner's own address is let in once it is proved. */
export function isLetIn(db: Db | Tx, { agentId, channel }: OfChannel, personId: string): boolean {
  if (channel === 'mail' && findOwnersAddress(db, agentId) === personId) return true
  const isThis = and(ofPeople({ agentId, channel }), eq(channelPeople.personId, personId))
  return db.select({ id: channelPeople.personId }).from(channelPeople).where(isThis).get() !== undefined
}

/** Who may write, the owner first. */
export function listLetIn(db: Db, of: OfChannel): ChannelPerson[] {
  const owner = of.channel === 'mail' ? findOwnersAddress(db, of.agentId) : null
  const people = db.select().from(channelPeople).where(ofPeople(of)).orderBy(asc(channelPeople.since)).all()
  return [
    ...(owner === null ? [] : [{ id: owner, name: null, since: null, isConfigured: true }]),
    ...people
      .filter(({ personId }) => personId !== owner)
      .map(({ personId, name, since }) => ({ id: personId, name, since: since.toISOString(), isConfigured: false })),
  ]
}

/** Strangers who wait for the owner. */
export function listWaiting(db: Db, { clock }: { clock: Clock }, of: OfChannel): ChannelPairing[] {
  return db
    .select()
    .from(channelPairings)
    .where(isWaiting(of, clock.now()))
    .orderBy(asc(channelPairings.expiresAt))
    .all()
    .map(({ code, personId, name, expiresAt }) => ({ code, id: personId, name, expiresAt: expiresAt.toISOString() }))
}

/** The code for a stranger who has none; null for one who has been told theirs or was denied, and when too many wait. */
export function askToBeLetIn(
  tx: Tx,
  { clock }: { clock: Clock },
  of: OfChannel,
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

/** Lets the stranger in or not, and says who that was. @throws AppError `not_found`. */
export function decideWaiting(
  tx: Tx,
  { clock }: { clock: Clock },
  of: OfChannel,
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
  letIn(tx, of, found, now)
  return found
}

function letIn(tx: Tx, of: OfChannel, { personId, name }: ChannelPairingRow, since: Date): void {
  const row = { ...of, personId, name, since }
  tx.insert(channelPeople).values(row).onConflictDoNothing().run()
}

function isWaiting(of: OfChannel, now: Date): SQL | undefined {
  return and(ofPairings(of), gt(channelPairings.expiresAt, now), eq(channelPairings.isDenied, false))
}

function mayWait(tx: Tx, of: OfChannel, personId: string): boolean {
  const isOfPerson = and(ofPairings(of), eq(channelPairings.personId, personId))
  if (countRows(tx, channelPairings, isOfPerson) > 0) return false
  return countRows(tx, channelPairings, ofPairings(of)) < MAX_PAIRINGS
}

/** @throws AppError `not_found`; `conflict` for the owner. */
export function removeLetIn(tx: Tx, of: OfChannel, personId: string): void {
  if (of.channel === 'mail' && findOwnersAddress(tx, of.agentId) === personId) {
    throw new AppError('conflict', 'This is the address of the agent’s owner')
  }
  const isThis = and(ofPeople(of), eq(channelPeople.personId, personId))
  if (tx.delete(channelPeople).where(isThis).run().changes === 0) throw new AppError('not_found', 'Person not found')
}

/** Null for an address that nobody has proved. */
function findOwnersAddress(db: Db | Tx, agentId: string): string | null {
  const owner = db
    .select({ email: users.email, provedAt: users.emailVerifiedAt })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.ownerId))
    .where(eq(agents.id, agentId))
    .get()
  return owner?.provedAt ? owner.email : null
}

function ofPeople({ agentId, channel }: OfChannel) {
  return and(eq(channelPeople.agentId, agentId), eq(channelPeople.channel, channel))
}

function ofPairings({ agentId, channel }: OfChannel) {
  return and(eq(channelPairings.agentId, agentId), eq(channelPairings.channel, channel))
}

/** Sends everybody away from an agent's channels that the platform keeps, and switches these off, in the caller's closure. */
export function endChannels(tx: Tx, agentId: string): void {
  for (const table of [channelPeople, channelPairings, agentChannels]) {
    tx.delete(table).where(eq(table.agentId, agentId)).run()
  }
}
