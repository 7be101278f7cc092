import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { openTestDatabase } from '../../../../tests/harness/database.ts'
import { testClock, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Connection } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { type Account, creditsOf, platformAccount } from './accounts.ts'
import { checkLedger } from './check.ts'
import { type Posting, post, readBalance, transfer } from './post.ts'
import { Credits, LedgerPage } from './schemas.ts'

const clock = testClock(new Date('2026-11-20T12:00:00Z'))
const CARDS = platformAccount('cards', 'USD')
const SALES = platformAccount('sales', 'USD')
const DOLLAR = 1_000_000

/** A ledger on an in-memory database. */
function books(): Connection & { post(posting: Posting): Promise<boolean>; move: Move } {
  const connection = openTestDatabase()
  return {
    ...connection,
    post: (posting) => write(connection.db, (tx) => post(tx, { clock }, posting)),
    move: (cause, from, to, amount) =>
      write(connection.db, (tx) => transfer(tx, { clock }, { cause, memo: cause, from, to, amount })),
  }
}
type Move = (cause: string, from: Account, to: Account, amount: number) => Promise<boolean>

test('post stores an entry once per cause, also 200 times at once, and balances are the sums of lines', async () => {
  const { db, move } = books()
  const ada = creditsOf('usr_ada')
  const posted = await Promise.all(Array.from({ length: 200 }, () => move('stripe:evt_1', CARDS, ada, 5 * DOLLAR)))
  expect(posted.filter(Boolean)).toHaveLength(1)
  expect(readBalance(db, ada)).toBe(5 * DOLLAR)
  expect(readBalance(db, CARDS)).toBe(-5 * DOLLAR)
  expect(checkLedger(db)).toEqual({ entries: 1, lines: 2, accounts: 2, faults: [] })
})

test('post throws a conflict and changes nothing when a cause has other amounts or another account', async () => {
  const { db, move } = books()
  await move('once', CARDS, creditsOf('usr_ada'), DOLLAR)
  await expect(move('once', CARDS, creditsOf('usr_ada'), 2 * DOLLAR)).rejects.toMatchObject({ kind: 'conflict' })
  await expect(move('once', CARDS, creditsOf('usr_bo'), DOLLAR)).rejects.toMatchObject({ kind: 'conflict' })
  expect(checkLedger(db)).toEqual({ entries: 1, lines: 2, accounts: 2, faults: [] })
})

test('post accepts only the covered ones of 200 concurrent debits', async () => {
  const { db, move } = books()
  const ada = creditsOf('usr_ada')
  await move('card', CARDS, ada, 50_000)
  const spent = await Promise.allSettled(Array.from({ length: 200 }, (_, at) => move(`work:${at}`, ada, SALES, 10_000)))
  expect(spent.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect(spent.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: {
      kind: 'payment_required',
      message: 'Insufficient balance: 0.01 USD needed, 0.00 available',
      extra: { code: 'INSUFFICIENT_FUNDS', balance: '0.00', needed: '0.01', currency: 'USD' },
    },
  })
  expect([readBalance(db, ada), readBalance(db, SALES)]).toEqual([0, 50_000])
  expect(checkLedger(db).faults).toEqual([])
})

test.each([
  [
    'lines that do not add up',
    [
      [CARDS, -1],
      [SALES, 2],
    ],
  ],
  [
    'lines that add up in two currencies together only',
    [
      [CARDS, -1],
      [platformAccount('sales', 'GBP'), 1],
    ],
  ],
  [
    'a fraction',
    [
      [CARDS, -0.5],
      [SALES, 0.5],
    ],
  ],
  [
    'what cannot be counted exactly',
    [
      [CARDS, -(2 ** 53)],
      [SALES, 2 ** 53],
    ],
  ],
  ['nothing', []],
  [
    'lines that cancel out',
    [
      [CARDS, -1],
      [CARDS, 1],
    ],
  ],
] satisfies [string, [Account, number][]][])('post throws when given %s', async (_, lines) => {
  const it = books()
  const posting = { cause: 'bad', memo: '', lines: lines.map(([account, amount]) => ({ account, amount })) }
  await expect(it.post(posting)).rejects.toThrow()
  expect(checkLedger(it.db)).toEqual({ entries: 0, lines: 0, accounts: 0, faults: [] })
})

const account = fc.oneof(
  fc.constantFrom<Account>(
    CARDS,
    SALES,
    platformAccount('chain', 'USD'),
    platformAccount('cards', 'GBP'),
    platformAccount('sales', 'GBP'),
  ),
  fc.constantFrom('a', 'b', 'c').map(creditsOf),
  fc.constantFrom('x', 'y').map((ownerId): Account => ({ kind: 'escrow', ownerId, currency: 'USD' })),
)
const movement = fc.record({
  cause: fc.nat(60).map(String),
  from: account,
  to: account,
  amount: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 2 ** 40 })),
})

test('the ledger adds up to the balances, and to zero, after every random history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(movement, { maxLength: 40 }), async (history) => {
      const { db, move, close } = books()
      const balances = new Map<string, number>()
      const change = ({ kind, ownerId, currency }: Account, amount: number) => {
        const name = `${kind} ${ownerId} ${currency}`
        balances.set(name, (balances.get(name) ?? 0) + amount)
      }
      for (const { cause, from, to, amount } of history) {
        const isPosted = await move(cause, from, to, amount).catch(() => false)
        if (!isPosted) continue
        change(from, -amount)
        change(to, amount)
      }
      expect(checkLedger(db).faults).toEqual([])
      const rows = db
        .select({
          kind: sql<string>`kind`,
          owner: sql<string>`owner_id`,
          currency: sql<string>`currency`,
          balance: sql<number>`balance`,
        })
        .from(sql`ledger_accounts`)
        .all()
      const stored = new Map(rows.map((row) => [`${row.kind} ${row.owner} ${row.currency}`, row.balance]))
      expect(stored).toEqual(balances)
      close()
    }),
    { numRuns: 60 },
  )
}, 300_000)

test('stead ledger check reports every manual change of the database', async () => {
  const { db, sqlite, move } = books()
  await move('card', CARDS, creditsOf('usr_ada'), DOLLAR)
  await move('work', creditsOf('usr_ada'), SALES, 10_000)
  expect(() => sqlite.exec('UPDATE ledger_lines SET amount = 1')).toThrow('What is posted stays')
  expect(() => sqlite.exec('DELETE FROM ledger_entries')).toThrow('What is posted stays')
  expect(() => sqlite.exec("UPDATE ledger_accounts SET balance = -1 WHERE kind = 'credits'")).toThrow('CHECK')
  const faultsAfter = (change: string) => {
    sqlite.exec(
      `SAVEPOINT tampering; DROP TRIGGER ledger_lines_no_update; DROP TRIGGER ledger_lines_no_delete; ${change}`,
    )
    const { faults } = checkLedger(db)
    sqlite.exec('ROLLBACK TO tampering; RELEASE tampering')
    return faults
  }
  expect(faultsAfter("UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'sales'")).toEqual([
    'account sales  (USD): the balance is 0.010001, its lines add up to 0.01',
  ])
  expect(
    faultsAfter(
      'UPDATE ledger_lines SET amount = amount + 1, balance_after = balance_after + 1 WHERE entry_id = 2 AND amount > 0',
    ),
  ).toEqual([
    'entry work (USD): its lines are 0.000001 apart',
    'account sales  (USD): the balance is 0.01, its lines add up to 0.010001',
  ])
  expect(faultsAfter('UPDATE ledger_lines SET balance_after = 7 WHERE entry_id = 1 AND amount > 0')).toEqual([
    'entry card: it says 0.000007 was there afterwards, it was 1.00',
  ])
  expect(faultsAfter('DELETE FROM ledger_lines WHERE entry_id = 2')).toContain('entry work: it has no lines')
  expect(checkLedger(db).faults).toEqual([])
})

test('GET /api/credits: 200 with the balance of the ledger, which settings and administrators get too', async () => {
  const { platform, web, signIn } = testPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  const ada = await signIn('ada@example.com', 'solo')
  const root = await signIn('root@example.com')
  const move = (cause: string, amount: number) =>
    write(platform.db, (tx) =>
      transfer(tx, platform, { cause, memo: 'Card', from: CARDS, to: creditsOf(ada.user.id), amount }),
    )
  await move('card', 129_999)
  const credits = () => read(Credits, web.request('/api/credits', { headers: ada.cookie }))
  expect(await credits()).toEqual({
    credits: 12,
    referralCode: ada.user.referralCode,
    referralCount: 0,
    plan: 'solo',
    balanceUsd: '0.129999',
  })
  const settings = async () => (await web.request('/api/settings', { headers: ada.cookie })).json()
  expect(await settings()).toMatchObject({ credits: 12 })
  const patch = json('PATCH', { credits: 40 }, root.cookie)
  expect(await (await web.request(`/api/admin/users/${ada.user.id}`, patch)).json()).toMatchObject({
    user: { credits: 40 },
  })
  expect(await credits()).toMatchObject({ credits: 40, balanceUsd: '0.40' })
  await web.request(`/api/admin/users/${ada.user.id}`, json('PATCH', { credits: 0 }, root.cookie))
  expect([await credits(), await settings()]).toMatchObject([{ credits: 0, balanceUsd: '0.00' }, { credits: 0 }])
  expect(checkLedger(platform.db).faults).toEqual([])
  expect((await web.request('/api/credits')).status).toBe(401)
})

test('GET /api/ledger: 200 with own lines, newest first, page by page, and none for a stranger', async () => {
  const { platform, web, signIn, clock: now } = testPlatform()
  const ada = await signIn('ada@example.com')
  const eve = await signIn('eve@example.com')
  await write(platform.db, (tx) => {
    for (let at = 1; at <= 7; at++) {
      const entry = {
        cause: `card:${at}`,
        memo: `Card ${at}`,
        from: CARDS,
        to: creditsOf(ada.user.id),
        amount: at * DOLLAR,
      }
      transfer(tx, platform, entry)
    }
  })
  const pageOf = (query: string, headers = ada.cookie) =>
    read(LedgerPage, web.request(`/api/ledger${query}`, { headers }))
  const first = await pageOf('?limit=4')
  expect(first.lines.map(({ memo }) => memo)).toEqual(['Card 7', 'Card 6', 'Card 5', 'Card 4'])
  expect(first.balances).toEqual([{ kind: 'credits', currency: 'USD', balance: '28.00' }])
  expect(first.lines[0]).toEqual({
    entry: expect.any(Number),
    createdAt: now.now().toISOString(),
    account: 'credits',
    currency: 'USD',
    amount: '7.00',
    balance: '28.00',
    memo: 'Card 7',
  })
  const second = await pageOf(`?limit=4&before=${first.next}`)
  expect(second.lines.map(({ memo }) => memo)).toEqual(['Card 3', 'Card 2', 'Card 1'])
  expect(second.next).toBeNull()
  expect(await pageOf('', eve.cookie)).toEqual({ balances: [], lines: [], next: null })
  expect((await web.request('/api/ledger')).status).toBe(401)
  expect((await web.request('/api/ledger?limit=0', { headers: ada.cookie })).status).toBe(400)
  expect((await web.request('/api/ledger', { headers: bearer('sk_wrong') })).status).toBe(401)
})

test('GET /api/ledger/export: 200 with all own lines as CSV without formulas', async () => {
  const { platform, web, signIn } = testPlatform()
  const ada = await signIn('ada@example.com')
  await write(platform.db, (tx) => {
    for (let at = 0; at < 450; at++) {
      const ends = { from: CARDS, to: creditsOf(ada.user.id) }
      transfer(tx, platform, { cause: `card:${at}`, memo: at === 0 ? '=1+1' : 'Card, "gold"', ...ends, amount: 10_000 })
    }
  })
  const response = await web.request('/api/ledger/export', { headers: ada.cookie })
  expect(response.headers.get('content-type')).toContain('text/csv')
  const lines = (await response.text()).split('\r\n')
  expect(lines).toHaveLength(452)
  expect(lines[0]).toBe('created_at,entry,account,currency,amount,balance,memo')
  expect(lines[1]).toEndWith(",credits,USD,0.01,0.01,'=1+1")
  expect(lines[450]).toEndWith(`,credits,USD,0.01,${formatMicroUsd(4_500_000, 2)},"Card, ""gold"""`)
  expect((await web.request('/api/ledger/export')).status).toBe(401)
})

test('checkLedger reports a payment when it has no posting', () => {
  const { sqlite, db } = openTestDatabase()
  sqlite.exec(`INSERT INTO wallet_payments (id, kind, purpose, reference, currency, recipient, amount_micro_usd, status, created_at)
    VALUES ('pay_1', 'transfer', 'send', 'one', 'USDC', '0xb', 1500000, 'succeeded', 0)`)
  sqlite.exec(`INSERT INTO gateway_payments (id, plugin, method, amount_micros, currency, state, changed_at)
    VALUES ('0xb:1', 'agent', 'x402', 50000, 'USDC', 'settled', 0)`)
  expect(checkLedger(db).faults).toEqual([
    'payment pay_1 (succeeded): moved -1.50 in its wallet, the ledger says 0.00',
    'paid call 0xb:1 (settled): 0.05 is to be held for it, 0.00 is',
  ])
})
