import { join } from 'node:path'
import { z } from 'zod'
import { MAX_PAIRINGS, newPairingCode, PAIRING_LASTS_MS } from '../../core/agents/pairing.ts'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { openStateFile } from '../state/files.ts'

const Guest = z.object({ id: z.string(), name: z.string() })
const Person = Guest.extend({ since: z.string() })
/** `chatId` is the direct chat that received the code. A refused person gets no new code until it expires. */
const Pairing = Guest.extend({ code: z.string(), chatId: z.string(), expiresAt: z.string(), isDenied: z.boolean() })
/** `account` is the bot that admitted these people; missing in files of earlier versions. */
const GuestState = z.object({ people: z.array(Person), pairings: z.array(Pairing), account: z.string().optional() })

type Pairing = z.infer<typeof Pairing>
/** `isConfigured`: the agent's settings name the person, who cannot be removed here; `since` is then null. */
export type ListedPerson = { id: string; name: string | null; since: string | null; isConfigured: boolean }

/** People who may write to the agent on one channel. */
export type Guests = {
  isAllowed(personId: string): boolean
  /**
   * Returns a pairing code, the same one until it expires; null for a refused person and when too many codes are
   * pending.
   */
  askFor(person: { id: string; name: string }, chatId: string): Promise<string | null>
  listPeople(): ListedPerson[]
  /** Lists codes that wait for the owner's decision. */
  listPairings(): Pairing[]
  /** Admits or refuses the person and returns the pairing. @throws AppError `not_found`. */
  decide(code: string, approve: boolean): Promise<Pairing>
  /** @throws AppError `not_found`, `conflict` for a person that the settings name. */
  remove(personId: string): Promise<void>
}

/**
 * Opens the list of admitted people; `configuredIds` come from the agent's settings. A changed `account` clears the
 * list, because another bot admitted those people.
 */
export async function openGuests(
  folder: string,
  { name, account, configuredIds }: { name: string; account: string; configuredIds: readonly string[] },
  clock: Clock,
): Promise<Guests> {
  const file = await openStateFile(join(folder, `${name}-people.json`), GuestState, { people: [], pairings: [] })
  await file.change((state) => {
    const { account: former } = state
    if (former === account) return { state, result: undefined }
    const kept = former === undefined ? state : { people: [], pairings: [] }
    return { state: { ...kept, account }, result: undefined }
  })
  const isConfigured = (id: string) => configuredIds.includes(id)
  const listCurrent = (pairings: readonly Pairing[]) => {
    const now = clock.now().toISOString()
    return pairings.filter(({ expiresAt }) => expiresAt > now)
  }
  const listWaiting = () => listCurrent(file.read().pairings).filter(({ isDenied }) => !isDenied)
  return {
    isAllowed: (id) => isConfigured(id) || file.read().people.some((person) => person.id === id),
    askFor: (person, chatId) =>
      file.change((state) => {
        const pairings = listCurrent(state.pairings)
        const known = pairings.find(({ id }) => id === person.id)
        if (known) return { state, result: known.isDenied ? null : known.code }
        if (pairings.length >= MAX_PAIRINGS) return { state, result: null }
        const expiresAt = new Date(clock.now().getTime() + PAIRING_LASTS_MS).toISOString()
        const pairing = { ...person, chatId, code: newPairingCode(), expiresAt, isDenied: false }
        return { state: { ...state, pairings: [...pairings, pairing] }, result: pairing.code }
      }),
    listPeople: () => [
      ...configuredIds.map((id) => ({ id, name: null, since: null, isConfigured: true })),
      ...file
        .read()
        .people.filter(({ id }) => !isConfigured(id))
        .map((person) => ({ ...person, isConfigured: false })),
    ],
    listPairings: listWaiting,
    decide: (code, approve) =>
      file.change((state) => {
        const { people, pairings } = state
        const found = listWaiting().find((pairing) => pairing.code === code.toUpperCase())
        if (!found) throw new AppError('not_found', 'Pairing code not found')
        const others = pairings.filter((pairing) => pairing !== found)
        if (!approve) return { state: { ...state, pairings: [...others, { ...found, isDenied: true }] }, result: found }
        const added = { id: found.id, name: found.name, since: clock.now().toISOString() }
        return { state: { ...state, people: [...people, added], pairings: others }, result: found }
      }),
    remove: (personId) =>
      file.change((state) => {
        if (isConfigured(personId)) throw new AppError('conflict', 'The agent’s settings name this person')
        const people = state.people.filter(({ id }) => id !== personId)
        if (people.length === state.people.length) throw new AppError('not_found', 'Person not found')
        return { state: { ...state, people }, result: undefined }
      }),
  }
}
