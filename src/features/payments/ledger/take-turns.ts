import { and, gt, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Account } from './accounts.ts'
import { transfer } from './post.ts'
import { ledgerEntries } from './tables.ts'

/** What a chain moved; `isUndone` when it has taken that back. `reference` names the payment among all causes. */
export type ChainMovement = {
  reference: string
  memo: string
  from: Account
  to: Account
  amount: number
  isUndone: boolean
}

/**
 * Books what moved on a chain, and the way back when the chain takes it back. A chain may change its mind more than once, so
 * each turn of a payment is an entry of its own: the caller sees to it that there is one for each change.
 */
export function postTurn(tx: Tx, deps: { clock: Clock }, movement: ChainMovement): void {
  const { reference, memo, from, to, amount, isUndone } = movement
  const cause = `${reference}:${countEntries(tx, reference) + 1}`
  if (isUndone) transfer(tx, deps, { cause, memo: `${memo}, taken back by the chain`, from: to, to: from, amount })
  else transfer(tx, deps, { cause, memo, from, to, amount })
}

/** Entries whose cause is `reference` with something behind a colon. */
export function countEntries(db: Db, reference: string): number {
  // The semicolon follows the colon: between them is all that belongs to it, found by the index.
  const isOfIt = and(gt(ledgerEntries.cause, `${reference}:`), lt(ledgerEntries.cause, `${reference};`))
  return countRows(db, ledgerEntries, isOfIt)
}
