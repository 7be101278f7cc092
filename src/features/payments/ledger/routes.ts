import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { toDay } from '../../../core/clock.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Exports, sendExport } from '../../../http/streams/exports.ts'
import { validate } from '../../../http/validate.ts'
import { referrals, users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { creditsOf } from './accounts.ts'
import { readCredits } from './credits.ts'
import { exportLedgerCsv, listLedger } from './list.ts'
import { readBalance } from './post.ts'
import { Credits, LedgerPage, LedgerQuery } from './schemas.ts'

/** The signed-in user's prepaid balance and its movements. */
export function ledgerWeb(deps: Base & { guards: Guards; exports: Exports }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/credits',
    endpoint({ summary: 'Returns your balance', tag: 'Billing', responses: { 200: Credits } }),
    signedIn,
    (c) => c.json(toCredits(deps.db, c.var.user)),
  )

  app.get(
    '/api/ledger',
    endpoint({ summary: 'Lists the entries of your account', tag: 'Billing', responses: { 200: LedgerPage } }),
    signedIn,
    validate('query', LedgerQuery),
    (c) => c.json(listLedger(deps.db, c.var.user.id, c.req.valid('query'))),
  )

  app.get(
    '/api/ledger/export',
    endpoint({
      summary: 'Exports the entries of your account as CSV',
      tag: 'Billing',
      responses: { 200: 'text/csv' },
      errors: ['limited'],
    }),
    signedIn,
    (c) =>
      sendExport(c, deps, () => ({
        name: `ledger-${toDay(deps.clock.now())}.csv`,
        type: 'text/csv; charset=utf-8; header=present',
        pieces: exportLedgerCsv(deps.db, c.var.user.id),
      })),
  )

  return app
}

function toCredits(db: Db, { id, plan }: SignedInUser): Credits {
  const row = db.select({ referralCode: users.referralCode }).from(users).where(eq(users.id, id)).get()
  const referralCount = countRows(db, referrals, eq(referrals.referrerId, id))
  return {
    credits: readCredits(db, id),
    referralCode: row?.referralCode ?? null,
    referralCount,
    plan,
    balanceUsd: formatMicroUsd(readBalance(db, creditsOf(id)), 2),
  }
}
