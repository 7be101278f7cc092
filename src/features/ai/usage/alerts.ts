import { and, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import { type Clock, toMonth } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { parameter, prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { findPlan, usedPercentOfPlan } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AccountRules, isAdmin } from '../../accounts/users/users.ts'
import { usageAlerts, usageKeyMonths, usageMonths } from './tables.ts'

/** Shares of a monthly limit at which its owner is mailed. */
const PERCENTS = [50, 80, 100] as const
type Percent = (typeof PERCENTS)[number]

export type AlertDeps = { db: Db; clock: Clock; enqueue: Enqueue; rules: AccountRules; sendNotice: SendNotice }

/** One limit and how much of it is used. `subject` is a user or a key, `keyName` the name of the latter. */
type Meter = {
  subject: string
  user: typeof users.$inferSelect
  keyName: string | null
  usedPercent: number
  what: 'usage' | 'key-usage'
}

/**
 * Notifies and mails owners who have used 50, 80 or 100 % of a monthly limit of a plan or key, once for each share.
 * Administrators are notified of the plans.
 */
export async function sendUsageAlerts(deps: AlertDeps): Promise<void> {
  const month = toMonth(deps.clock.now())
  const meters = [...listPlanMeters(deps, month), ...listKeyMeters(deps, month)]
  const sent = sentAlerts(deps.db).all({ month })
  const isSent = new Set(sent.map(({ subject, percent }) => `${subject} ${percent}`))
  const reached = meters.filter(({ subject, usedPercent }) => {
    const highest = PERCENTS.findLast((percent) => percent <= usedPercent)
    return highest !== undefined && !isSent.has(`${subject} ${highest}`)
  })
  if (reached.length === 0) return
  await write(deps.db, (tx) => {
    for (const meter of reached) notifyOnce(deps, tx, meter, month)
  })
}

/** Reports only the highest of several new shares. */
function notifyOnce(deps: AlertDeps, tx: Tx, meter: Meter, month: string): void {
  const createdAt = deps.clock.now()
  const news = PERCENTS.filter((percent) => percent <= meter.usedPercent).filter(
    (percent) =>
      tx.insert(usageAlerts).values({ subject: meter.subject, month, percent, createdAt }).onConflictDoNothing().run()
        .changes > 0,
  )
  const highest: Percent | undefined = news.at(-1)
  if (highest === undefined) return
  sendNotices(deps, tx, meter, highest)
  if (!wantsMail(meter.user)) return
  enqueueMail(tx, deps.enqueue, { mail: `${meter.what}-${highest}`, userId: meter.user.id, address: meter.user.email })
}

function sendNotices({ sendNotice }: AlertDeps, tx: Tx, meter: Meter, percent: Percent): void {
  for (const { userId, text } of listReceivers(tx, meter, `has used ${percent}% of`)) {
    sendNotice(tx, {
      userId,
      agent: null,
      kind: 'usage_limit',
      text: `${text} It resets at the start of the month, UTC.`,
    })
  }
}

function listReceivers(tx: Tx, { user, keyName }: Meter, used: string): { userId: string; text: string }[] {
  if (keyName !== null) return [{ userId: user.id, text: `The key ${keyName} ${used} its monthly limit.` }]
  const isOther = and(eq(users.isAdmin, true), ne(users.id, user.id), isNull(users.disabledAt))
  const admins = tx.select({ id: users.id }).from(users).where(isOther).all()
  return [
    { userId: user.id, text: `Your account ${used} the monthly limit of its plan.` },
    ...admins.map(({ id }) => ({
      userId: id,
      text: `The account ${user.email} ${used} the monthly limit of its plan.`,
    })),
  ]
}

const sentAlerts = prepareOnce((db) =>
  db
    .select()
    .from(usageAlerts)
    .where(eq(usageAlerts.month, parameter('month')))
    .prepare(),
)

const usageOfUsers = prepareOnce((db) =>
  db
    .select({ user: users, tokens: usageMonths.tokens, costMicroUsd: usageMonths.costMicroUsd })
    .from(usageMonths)
    .innerJoin(users, eq(users.id, usageMonths.userId))
    .where(and(eq(usageMonths.month, parameter('month')), isNull(users.disabledAt)))
    .prepare(),
)

function listPlanMeters({ db, rules }: AlertDeps, month: string): Meter[] {
  return usageOfUsers(db)
    .all({ month })
    .flatMap(({ user, ...used }) => {
      const plan = isAdmin(user, rules) ? null : findPlan(db, user.plan)
      return plan
        ? [
            {
              subject: user.id,
              user,
              keyName: null,
              usedPercent: usedPercentOfPlan(plan, used),
              what: 'usage' as const,
            },
          ]
        : []
    })
}

const usageOfKeys = prepareOnce((db) => {
  const isIncreased = sql`${apiKeys.budgetIncreaseUntil} > ${sql.placeholder('nowMs')}`
  const increase = sql`CASE WHEN ${isIncreased} THEN coalesce(${apiKeys.budgetIncreaseMicroUsd}, 0) ELSE 0 END`
  const hasLimit = or(isNotNull(apiKeys.tokensPerMonth), isNotNull(apiKeys.budgetMicroUsd))
  const used = {
    ofTokens: sql<number>`coalesce(${usageKeyMonths.tokens} * 100.0 / ${apiKeys.tokensPerMonth}, 0)`,
    ofBudget: sql<number>`coalesce(${usageKeyMonths.costMicroUsd} * 100.0 / (${apiKeys.budgetMicroUsd} + ${increase}), 0)`,
  }
  return db
    .select({ user: users, subject: apiKeys.id, keyName: apiKeys.name, ...used })
    .from(usageKeyMonths)
    .innerJoin(apiKeys, eq(apiKeys.id, usageKeyMonths.keyId))
    .innerJoin(users, eq(users.id, apiKeys.userId))
    .where(
      and(eq(usageKeyMonths.month, parameter('month')), isNull(apiKeys.disabledAt), isNull(users.disabledAt), hasLimit),
    )
    .prepare()
})

function listKeyMeters({ db, clock }: AlertDeps, month: string): Meter[] {
  return usageOfKeys(db)
    .all({ month, nowMs: clock.now().getTime() })
    .map(({ user, subject, keyName, ofTokens, ofBudget }) => ({
      ...{ subject, user, keyName },
      usedPercent: Math.max(ofTokens, ofBudget),
      what: 'key-usage' as const,
    }))
}

/** `notifications: {usageAlerts: false}` in the settings switches these mails off. */
function wantsMail({ notifications }: Meter['user']): boolean {
  const preferences = notifications !== null && typeof notifications === 'object' ? notifications : {}
  return !('usageAlerts' in preferences && preferences.usageAlerts === false)
}
