import { and, asc, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import QuickLRU from 'quick-lru'
import { addDays, type Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { bytesOf } from '../../../db/pages.ts'
import { personalRows } from '../../../db/personal-data.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { type StoredResponseRow, storedResponseItems, storedResponses } from './tables.ts'

/** Stored responses of an account; beyond it the least recently used ones are deleted. */
const MAX_ACCOUNT_BYTES = 64 * 1024 * 1024
/** Deletes down to this size, so that not every response deletes another. */
const KEPT_ACCOUNT_BYTES = 63 * 1024 * 1024
/** Longer responses are not stored. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
/** Space of a row besides its texts. */
const ROW_BYTES = 512
/** Accounts whose size is kept in memory. */
const MAX_SIZES = 10_000
/** Rows read at once to find the oldest. */
const PAGE = 500
/** Maximum ids in a statement, and item ids of a response. */
const MAX_IDS = 500

/** A response, and the ids of its output items. */
type NewStoredResponse = Pick<StoredResponseRow, 'id' | 'userId' | 'previousId' | 'input' | 'response'> & {
  itemIds: readonly string[]
}

/** The responses that accounts keep for `previous_response_id` and `GET /v1/responses/{id}`. */
export type ResponseStore = {
  /** Returns whether the caller has an account, which stored responses belong to. */
  canStore(userId: string): boolean
  find(userId: string, id: string): StoredResponseRow | null
  /** Returns the response of the account with this output item. */
  findByItem(userId: string, itemId: string): StoredResponseRow | null
  /**
   * Stores a response and marks its `ancestors` as used. @returns false when it is too long.
   * @throws AppError `not_found` when the account was deleted.
   */
  add(response: NewStoredResponse, ancestors: readonly StoredResponseRow[]): Promise<boolean>
  /** Deletes a response of the account. @returns whether it existed. */
  remove(userId: string, id: string): Promise<boolean>
}

export function createResponseStore({ db, clock }: { db: Db; clock: Clock }): ResponseStore {
  const isThis = and(eq(storedResponses.id, parameter('id')), eq(storedResponses.userId, parameter('userId')))
  const byId = db.select().from(storedResponses).where(isThis).prepare()
  const byItem = db
    .select(getTableColumns(storedResponses))
    .from(storedResponseItems)
    .innerJoin(storedResponses, eq(storedResponses.id, storedResponseItems.responseId))
    .where(and(eq(storedResponseItems.itemId, parameter('itemId')), eq(storedResponses.userId, parameter('userId'))))
    .prepare()
  const account = db
    .select({ id: users.id })
    .from(users)
    .where(eq(users.id, parameter('userId')))
    .prepare()
  // Upper bounds: deletions elsewhere are noticed when a size is read again, before anything is deleted for it.
  const sizes = new QuickLRU<string, number>({ maxSize: MAX_SIZES })

  return {
    canStore: (userId) => account.get({ userId }) !== undefined,
    find: (userId, id) => byId.get({ id, userId }) ?? null,
    findByItem: (userId, itemId) => byItem.get({ itemId, userId }) ?? null,
    async add({ itemIds, ...response }, ancestors) {
      const { id, userId } = response
      const sizeBytes = ROW_BYTES + Buffer.byteLength(response.input) + Buffer.byteLength(response.response)
      if (sizeBytes > MAX_RESPONSE_BYTES) return false
      const now = clock.now()
      await write(db, (tx) => {
        touch(tx, userId, ancestors, now)
        const stored = (sizes.get(userId) ?? sumSizes(tx, userId)) + sizeBytes
        sizes.set(userId, stored <= MAX_ACCOUNT_BYTES ? stored : evictOldest(tx, userId, sizeBytes) + sizeBytes)
        tx.insert(storedResponses)
          .values({ ...response, sizeBytes, createdAt: now, usedAt: now })
          .run()
        const items = [...new Set(itemIds)].slice(0, MAX_IDS).map((itemId) => ({ itemId, responseId: id }))
        if (items.length > 0) tx.insert(storedResponseItems).values(items).run()
      })
      return true
    },
    remove: (userId, id) =>
      write(db, (tx) => {
        const isTheirs = and(eq(storedResponses.id, id), eq(storedResponses.userId, userId))
        return tx.delete(storedResponses).where(isTheirs).run().changes > 0
      }),
  }
}

/** Writes at most once a day per response, because every turn of a conversation uses all earlier ones. */
function touch(tx: Tx, userId: string, ancestors: readonly StoredResponseRow[], now: Date): void {
  const ids = ancestors.filter(({ usedAt }) => usedAt < addDays(now, -1)).map(({ id }) => id)
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const some = inArray(storedResponses.id, ids.slice(from, from + MAX_IDS))
    tx.update(storedResponses)
      .set({ usedAt: now })
      .where(and(eq(storedResponses.userId, userId), some))
      .run()
  }
}

/** Deletes the least recently used responses of an account. @returns the size of the others. */
function evictOldest(tx: Tx, userId: string, sizeBytes: number): number {
  let left = sumSizes(tx, userId)
  if (left + sizeBytes <= MAX_ACCOUNT_BYTES) return left
  while (left + sizeBytes > KEPT_ACCOUNT_BYTES) {
    const oldest = tx
      .select({ id: storedResponses.id, sizeBytes: storedResponses.sizeBytes })
      .from(storedResponses)
      .where(eq(storedResponses.userId, userId))
      .orderBy(asc(storedResponses.usedAt))
      .limit(PAGE)
      .all()
    if (oldest.length === 0) return 0
    const ids: string[] = []
    for (const row of oldest) {
      if (left + sizeBytes <= KEPT_ACCOUNT_BYTES) break
      left -= row.sizeBytes
      ids.push(row.id)
    }
    tx.delete(storedResponses)
      .where(and(eq(storedResponses.userId, userId), inArray(storedResponses.id, ids)))
      .run()
  }
  return left
}

function sumSizes(tx: Tx, userId: string): number {
  const total = sql<number>`coalesce(sum(${storedResponses.sizeBytes}), 0)`
  return tx.select({ total }).from(storedResponses).where(eq(storedResponses.userId, userId)).get()?.total ?? 0
}

/** Conversations of the Responses API. */
export const personalResponses = personalRows('storedResponses', storedResponses, {
  of: storedResponses.userId,
  hide: ['userId', 'sizeBytes'],
  sizeBytes: bytesOf(storedResponses.input, storedResponses.response),
})
