import { and, eq, gt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { randomText } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { hasAccounts } from '../accounts/register.ts'
import { setupLinks } from './tables.ts'

/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43
const LIFETIME_MS = 24 * 3_600_000

export type SetupLink = { token: string; expiresAt: Date }

/**
 * Makes the link by which the first account is made; null when there is one. Only the hash of its token is kept, and a link
 * from before ends.
 */
export function issueSetupLink({ db, clock }: { db: Db; clock: Clock }): Promise<SetupLink | null> {
  return write(db, (tx) => {
    if (hasAccounts(tx)) return null
    const link = { token: randomText(TOKEN_LENGTH), expiresAt: new Date(clock.now().getTime() + LIFETIME_MS) }
    const row = { tokenHash: sha256(link.token), expiresAt: link.expiresAt }
    tx.insert(setupLinks)
      .values({ id: 1, ...row })
      .onConflictDoUpdate({ target: setupLinks.id, set: row })
      .run()
    return link
  })
}

/** The page that a link leads to. */
export function toSetupUrl(webUrl: string, token: string): string {
  return `${webUrl}/setup?token=${token}`
}

/** Uses the link up: of any number of callers one gets it. */
export function takeSetupLink(tx: Tx, token: string, now: Date): boolean {
  return tx.delete(setupLinks).where(isOpen(token, now)).returning().all().length > 0
}

/** Would the link work now? Answers before a password is hashed. */
export function isSetupLinkOpen(db: Db, token: string, now: Date): boolean {
  return db.select({ id: setupLinks.id }).from(setupLinks).where(isOpen(token, now)).get() !== undefined
}

function isOpen(token: string, now: Date) {
  return and(eq(setupLinks.tokenHash, sha256(token)), gt(setupLinks.expiresAt, now))
}
