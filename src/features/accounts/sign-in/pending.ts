import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import type { Base } from '../../base.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import { requireSecondFactor } from '../two-factor/two-factor.ts'
import { type UserRow, users } from '../users/tables.ts'
import { isUnused, PENDING_MS, rememberOnce, takeOnce } from './attempts.ts'
import { type EnterDeps, enterWithProfile } from './enter.ts'

const PURPOSE = 'sign-in waiting for a second factor'
const ID_LENGTH = 43

/** The provider's user to link after the second factor. The refresh token is left out to keep the cookie small. */
const Link = z.object({
  provider: z.enum(['idp-a', 'idp-b']),
  profile: z.object({
    issuer: z.string(),
    subject: z.string(),
    email: z.string().nullable(),
    name: z.string().nullable(),
  }),
})
const Ticket = z.object({ id: z.string(), userId: z.string(), link: Link.nullable() })
export type PendingLink = z.infer<typeof Link>

/** Starts waiting for the second factor. @returns the sealed, single-use value of the browser's cookie. */
export async function startPending(
  { db, clock, sealer }: Base,
  userId: string,
  link: PendingLink | null,
): Promise<string> {
  const id = randomText(ID_LENGTH)
  await write(db, (tx) => rememberOnce(tx, keyOf(id), new Date(clock.now().getTime() + PENDING_MS)))
  return sealer.seal(JSON.stringify(Ticket.parse({ id, userId, link })), PURPOSE)
}

/**
 * Completes the sign-in with a code of the authenticator or a recovery code.
 * @throws AppError `unauthenticated` SIGN_IN_EXPIRED when nothing is pending, and as `requireSecondFactor`.
 */
export async function finishPending(
  deps: Base & EnterDeps & { knownDevices: KnownDevices },
  { ticket, code, visitor }: { ticket: string | undefined; code: string; visitor: Visitor },
): Promise<UserRow> {
  const { id, userId, link } = openTicket(deps, ticket)
  const user = deps.db.select().from(users).where(eq(users.id, userId)).get()
  if (!user || user.disabledAt || !isUnused(deps.db, keyOf(id), deps.clock.now())) throw expired()
  await requireSecondFactor(deps, user, code, visitor)
  await write(deps.db, (tx) => {
    if (!takeOnce(tx, keyOf(id), deps.clock.now())) throw expired()
  })
  if (link) await enterAgain(deps, userId, link, visitor.address)
  return user
}

/** Links the pending identity after checking again that it may open the account. */
async function enterAgain(deps: EnterDeps, userId: string, link: PendingLink, address: string | null): Promise<void> {
  const profile = { ...link.profile, refreshToken: null }
  const entered = await enterWithProfile(deps, { ...link, profile, address, hasSecondFactor: true })
  if (entered.id !== userId) throw expired()
}

function openTicket({ sealer }: { sealer: Sealer }, ticket: string | undefined): z.infer<typeof Ticket> {
  try {
    return Ticket.parse(JSON.parse(sealer.unseal(ticket ?? '', PURPOSE)))
  } catch {
    throw expired()
  }
}

/** Wallet nonces are letters and digits, so the prefix keeps both kinds apart. */
function keyOf(id: string): string {
  return `two-factor:${sha256(id)}`
}

function expired(): AppError {
  return new AppError('unauthenticated', 'Sign in again', { code: 'SIGN_IN_EXPIRED' })
}
