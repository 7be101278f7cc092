import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { GIT, openSealed } from '../../../tests/harness/rows/every-sealed-place.ts'
import { createSealer, sha256 } from '../../core/secrets.ts'
import { write } from '../../db/write.ts'
import { auditLog } from '../../features/accounts/audit/tables.ts'
import { findKeyProblem } from '../../features/accounts/encryption/master-key.ts'
import { findClosed, listSealed } from '../../features/accounts/encryption/sealed-values.ts'
import { users } from '../../features/accounts/users/tables.ts'
import { openTokens } from '../../features/agents/registry/agents.ts'
import { agents } from '../../features/agents/registry/tables.ts'
import { managedWallets } from '../../features/payments/wallets/tables.ts'
import { gitCredentials } from '../../features/web-tools/browse/tables.ts'
import { idempotencyKeys } from '../../http/tables.ts'
import { createJobQueue } from '../../jobs/queue.ts'
import { jobs } from '../../jobs/tables.ts'
import { dropFrom } from './drop-sealed.ts'

const OTHER = 'the key that takes its place'

type Sealed = Awaited<ReturnType<typeof openSealed>>

function depsOf({ platform, clock }: Sealed, keepsKeys: boolean) {
  return { clock, keepsKeys, enqueue: createJobQueue({ db: platform.db, clock, log: platform.log }).enqueue }
}

test.each([
  ['is missing', null],
  ['is another', createSealer('a key that was never used here')],
])('dropFrom keeps only values that the new key decrypts, when the key %s', async (_what, from) => {
  await using it = await openSealed()
  const { db } = it.platform
  const to = createSealer(OTHER)
  const before = [...listSealed(db)]
  const wallets = db.select().from(managedWallets).all()
  const [agent] = db.select().from(agents).all()
  const accounts = db.select().from(users).all()

  const dropped = await write(db, (tx) => dropFrom(depsOf(it, false), tx, { from, to }))

  expect(Object.values(dropped.counts).reduce((sum, count) => sum + count, 0)).toBe(before.length)
  expect(dropped.wallets).toEqual(wallets.map(({ address }) => address))
  expect(dropped.twoFactorAccounts).toEqual(['ada@example.com'])
  expect(findClosed(db, to)).toBeNull()
  expect(findKeyProblem(db, OTHER)).toBeNull()
  expect(db.select().from(managedWallets).all()).toEqual([])
  expect(db.select().from(users).all().length).toBe(accounts.length)
  expect(db.select().from(users).where(eq(users.email, 'ada@example.com')).get()).toMatchObject({
    twoFactorSecret: null,
    twoFactorEnabledAt: null,
  })
  const after = db
    .select()
    .from(agents)
    .where(eq(agents.id, agent?.id ?? ''))
    .get()
  if (!after) throw new Error('The agent is gone')
  expect(after.secretConfig).toBeNull()
  expect(after.accessTokenHash).not.toBe(agent?.accessTokenHash)
  expect(sha256(openTokens(to, after).accessToken)).toBe(after.accessTokenHash)
  expect(
    db
      .select()
      .from(jobs)
      .where(eq(jobs.key, `deploy:${after.id}`))
      .all(),
  ).toHaveLength(1)
  expect(db.select().from(idempotencyKeys).all()).toMatchObject([{ status: 409 }])
  const [line] = db.select().from(auditLog).where(eq(auditLog.action, 'key.sealed-dropped')).all()
  expect(line).toMatchObject({ actor: 'cli', target: 'installation' })
  expect(line?.detail).toEqual(dropped)
})

test('dropFrom removes only the damaged value when the key is the right one', async () => {
  await using it = await openSealed()
  const { db, sealer } = it.platform
  await write(db, (tx) => tx.update(gitCredentials).set({ sealedPassword: 'v1.damaged' }).run())
  const before = [...listSealed(db)].filter(({ sealed }) => sealed !== 'v1.damaged')
  const to = createSealer(OTHER)
  const dropped = await write(db, (tx) => dropFrom(depsOf(it, true), tx, { from: sealer, to }))
  expect(dropped).toMatchObject({ counts: { 'Git passwords': 1 }, wallets: [], sealed: before.length })
  expect(db.select().from(gitCredentials).where(eq(gitCredentials.origin, GIT.origin)).all()).toEqual([])
  const now = [...listSealed(db)].map(({ sealed, purpose }) => to.unseal(sealed, purpose))
  expect(now).toEqual(before.map(({ sealed, purpose }) => sealer.unseal(sealed, purpose)))
})
