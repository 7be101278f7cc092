import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { MailRequest } from '../../accounts/notifications/send-mail.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { PLANS } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { sendUsageAlerts } from './alerts.ts'
import { usageKeyMonths, usageMonths } from './tables.ts'

async function installation(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const { platform, clock } = test
  clock.set(new Date('2100-06-15T12:00:00Z'))
  const ada = await test.signIn('ada@example.com', 'solo')
  return {
    ...test,
    ada,
    use: (share: number, month = '2100-06') =>
      write(platform.db, (tx) => {
        const tokens = Math.round((PLANS.solo.tokensPerMonth ?? 0) * share)
        const target = [usageMonths.userId, usageMonths.month]
        tx.insert(usageMonths)
          .values({ userId: ada.user.id, month, tokens })
          .onConflictDoUpdate({ target, set: { tokens } })
          .run()
      }),
    mails: () =>
      platform.db
        .select()
        .from(jobs)
        .all()
        .map(({ payload }) => MailRequest.parse(payload).mail),
  }
}

test('usage alerts are mailed once for each threshold of the monthly tokens', async () => {
  const { platform, use, mails, clock } = await installation()
  for (const share of [0.49, 0.5, 0.79, 0.8, 0.99, 1, 1.2]) {
    await use(share)
    await sendUsageAlerts(platform)
    await sendUsageAlerts(platform)
  }
  expect(mails()).toEqual(['usage-50', 'usage-80', 'usage-100'])
  clock.set(new Date('2100-07-01T00:00:00Z'))
  await sendUsageAlerts(platform)
  await use(0.6, '2100-07')
  await sendUsageAlerts(platform)
  expect(mails()).toEqual(['usage-50', 'usage-80', 'usage-100', 'usage-50'])
})

test('usage alerts report only the highest threshold when several are passed at once', async () => {
  const { platform, use, mails } = await installation()
  await use(1)
  await sendUsageAlerts(platform)
  expect(mails()).toEqual(['usage-100'])
})

test('usage alerts are not sent to administrators and to users who disabled them', async () => {
  const admin = await installation({ ADMIN_EMAILS: 'ada@example.com' })
  await admin.use(1)
  await sendUsageAlerts(admin.platform)
  expect(admin.mails()).toEqual([])
  const quiet = await installation()
  await quiet.web.request('/api/settings', json('PATCH', { notifications: { usageAlerts: false } }, quiet.ada.cookie))
  await quiet.use(1)
  await sendUsageAlerts(quiet.platform)
  expect(quiet.mails()).toEqual([])
})

test('usage alerts are sent to the user, and to administrators for plans', async () => {
  const { platform, clock, signIn, ada, use } = await installation({ ADMIN_EMAILS: 'root@example.com' })
  const root = await signIn('root@example.com', 'network')
  await write(platform.db, (tx) => tx.update(users).set({ isAdmin: true }).where(eq(users.id, root.user.id)).run())
  const { row } = await createKey({ db: platform.db, clock }, ada.user.id, { name: 'laptop', monthlyBudgetUsd: 1 })
  await use(0.8)
  const sums = { month: '2100-06', calls: 1, tokens: 10, costMicroUsd: 600_000 }
  await write(platform.db, (tx) =>
    tx
      .insert(usageKeyMonths)
      .values({ ...sums, keyId: row.id })
      .run(),
  )
  await sendUsageAlerts(platform)
  await sendUsageAlerts(platform)
  const sent = platform.db.select().from(notices).all()
  const end = 'It resets at the start of the month, UTC.'
  expect(sent.map(({ userId, kind, text }) => [userId, kind, text])).toEqual([
    [ada.user.id, 'usage_limit', `Your account has used 80% of the monthly limit of its plan. ${end}`],
    [root.user.id, 'usage_limit', `The account ada@example.com has used 80% of the monthly limit of its plan. ${end}`],
    [ada.user.id, 'usage_limit', `The key laptop has used 50% of its monthly limit. ${end}`],
  ])
})

test('usage alerts are sent for the budget of a key', async () => {
  const { platform, clock, ada, mails } = await installation()
  const { row } = await createKey({ db: platform.db, clock }, ada.user.id, { name: 'x', monthlyBudgetUsd: 1 })
  const month = { month: '2100-06', calls: 1, tokens: 10 }
  await write(platform.db, (tx) =>
    tx
      .insert(usageKeyMonths)
      .values({ ...month, keyId: row.id, costMicroUsd: 810_000 })
      .run(),
  )
  await sendUsageAlerts(platform)
  expect(mails()).toEqual(['key-usage-80'])
})

test('usage alerts include the budget increase of a key until it ends', async () => {
  const { platform, clock, ada, mails } = await installation()
  const budgetIncrease = { usd: 1, until: '2100-06-16T00:00:00.000Z' }
  const request = { name: 'x', monthlyBudgetUsd: 1, budgetIncrease }
  const { row } = await createKey({ db: platform.db, clock }, ada.user.id, request)
  const sums = { month: '2100-06', calls: 1, tokens: 10, costMicroUsd: 1_100_000 }
  await write(platform.db, (tx) =>
    tx
      .insert(usageKeyMonths)
      .values({ ...sums, keyId: row.id })
      .run(),
  )
  await sendUsageAlerts(platform)
  expect(mails()).toEqual(['key-usage-50'])
  clock.set(new Date(budgetIncrease.until))
  await sendUsageAlerts(platform)
  expect(mails()).toEqual(['key-usage-50', 'key-usage-100'])
})
