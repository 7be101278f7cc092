import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { json, read } from '../../../../../tests/harness/requests.ts'
import { write } from '../../../../db/write.ts'
import { wallets } from '../../../accounts/sign-in/tables.ts'
import { users } from '../../../accounts/users/tables.ts'
import { insertAgent } from '../../../agents/registry/agents.ts'
import { creditsOf } from '../../ledger/accounts.ts'
import { createGrantCredits } from '../../ledger/credits.ts'
import { readBalance } from '../../ledger/post.ts'
import { bookings, events } from '../../underground/tables.ts'

const DOLLAR = 1_000_000
const GIG = new Date('2026-12-24T20:00:00Z')
const Answer = z.looseObject({ success: z.literal(true) })

/** Ada has 1000 dollars and books Bo for 500.25 plus 100; Bo has an event. */
async function openTestPlatform() {
  const test = testPlatform()
  const { platform, clock, web } = test
  clock.set(new Date('2026-12-01T12:00:00Z'))
  const join = async (name: string, credits = 0) => {
    const { user, cookie } = await test.signIn(`${name}@example.com`, 'network')
    const grant = createGrantCredits(platform)
    const usual = { model: 'a/b', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
    const agent = await write(platform.db, (tx) => {
      if (credits > 0) grant(tx, { userId: user.id, credits, cause: `test:${name}`, memo: 'Test' })
      return insertAgent(platform, tx, { ...usual, name, ownerId: user.id })
    })
    const use = (skill: string, body: object) => web.request(`/api/skills/${skill}`, json('POST', body, cookie))
    const settle = (action: string, body: object = {}) =>
      use('booking-settlement', { action, bookingId: 'bk_1', ...body })
    const ticket = (action: string, body: object = {}) => use('event-ticketing', { action, ...body })
    return { user, cookie, agent, settle, ticket, balance: () => readBalance(platform.db, creditsOf(user.id)) }
  }
  const ada = await join('ada', 100_000)
  const bo = await join('bo')
  const eve = await join('eve', 100)
  const book = (change: Partial<typeof bookings.$inferInsert> = {}) =>
    write(platform.db, (tx) =>
      tx
        .insert(bookings)
        .values({
          id: 'bk_1',
          messageId: 'm',
          payerId: ada.user.id,
          payeeId: bo.user.id,
          talentName: 'DJ Bo',
          venue: 'Cellar',
          gigAt: GIG,
          guaranteeMicroUsd: 500_250_000,
          backendMicroUsd: 100 * DOLLAR,
          depositMicroUsd: 100 * DOLLAR,
          status: 'confirmed',
          createdAt: clock.now(),
          updatedAt: clock.now(),
          ...change,
        })
        .run(),
    )
  const announce = (totalTickets: number, price: number) =>
    write(platform.db, (tx) => {
      const whose = { ownerId: bo.user.id, agentId: bo.agent.id, localAgentId: bo.agent.id }
      const what = {
        name: 'Night',
        description: 'x',
        venue: 'Cellar',
        eventDate: GIG,
        pricePlaces: 2,
        createdAt: clock.now(),
      }
      const row = { ...whose, ...what, ticketPriceMicroUsd: price * DOLLAR, totalTickets }
      return tx.insert(events).values(row).returning().get().id
    })
  return { ...test, ada, bo, eve, book, announce }
}

test('POST /api/skills/booking-settlement: 200 reserves the whole fee and releases it once after the gig; the parts add up', async () => {
  const { ada, bo, book, clock } = await openTestPlatform()
  await book()
  const held = await read(Answer, ada.settle('create_escrow'))
  expect(held).toMatchObject({ bookingId: 'bk_1', depositAmount: 600.25, currency: 'USD' })
  expect(ada.balance()).toBe(1000 * DOLLAR - 600_250_000)
  const early = await ada.settle('release_funds')
  expect([early.status, await early.json()]).toMatchObject([409, { code: 'NOT_DUE' }])
  clock.set(GIG)
  expect(await read(Answer, bo.settle('get'))).toMatchObject({ booking: { status: 'completed', escrow: 'held' } })
  expect(await read(Answer, bo.settle('release_funds'))).toMatchObject({
    totalPayout: 600.25,
    splits: [{ recipient: 'DJ Bo', amount: 600.25, status: 'released', txHash: null }],
  })
  expect([ada.balance(), bo.balance()]).toEqual([399_750_000, 600_250_000])
  expect(await read(Answer, ada.settle('list'))).toMatchObject({ bookings: [{ id: 'bk_1', status: 'settled' }] })
})

test('POST /api/skills/booking-settlement: one effect for 200 concurrent releases and refunds, and for 200 escrows', async () => {
  const { ada, bo, book, clock } = await openTestPlatform()
  await book()
  const all = async (...asks: (() => Promise<Response>)[]) => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => asks[index % asks.length]?.()))
    return answers.filter((response) => response?.status === 200).length
  }
  expect(await all(() => ada.settle('create_escrow'))).toBe(1)
  expect(ada.balance()).toBe(399_750_000)
  clock.set(GIG)
  const ends = await all(
    () => bo.settle('release_funds'),
    () => ada.settle('release_funds'),
    () => bo.settle('refund'),
  )
  expect(ends).toBe(1)
  expect([ada.balance(), bo.balance()]).toEqual([399_750_000, 600_250_000])
  const again = await bo.settle('refund')
  expect([again.status, await again.json()]).toEqual([409, { error: 'This escrow is released already' }])
})

test('POST /api/skills/booking-settlement: 200 refund by the payee, or by the payer until confirmation', async () => {
  const { ada, bo, book, platform } = await openTestPlatform()
  await book({ status: 'offered' })
  await ada.settle('create_escrow')
  expect((await bo.settle('release_funds')).status).toBe(409)
  await write(platform.db, (tx) => tx.update(bookings).set({ status: 'confirmed' }).run())
  expect((await ada.settle('refund')).status).toBe(403)
  expect(await read(Answer, bo.settle('refund'))).toMatchObject({ refunded: 600.25 })
  expect([ada.balance(), bo.balance()]).toEqual([1000 * DOLLAR, 0])
  const offered = await openTestPlatform()
  await offered.book({ status: 'offered' })
  await offered.ada.settle('create_escrow')
  expect((await offered.ada.settle('refund')).status).toBe(200)
  expect(offered.ada.balance()).toBe(1000 * DOLLAR)
})

test('POST /api/skills/booking-settlement: 200 when the payee divides the fee exactly', async () => {
  const { ada, bo, eve, book, clock, platform } = await openTestPlatform()
  await book({ guaranteeMicroUsd: 100, backendMicroUsd: 0, depositMicroUsd: 0 })
  const address = (digit: string) => `0x${digit.repeat(40)}`
  await write(platform.db, (tx) => {
    for (const [digit, { user }] of [
      ['b', bo],
      ['e', eve],
    ] as const) {
      tx.insert(wallets)
        .values({ chainId: 8453, address: address(digit), userId: user.id, createdAt: clock.now() })
        .run()
    }
  })
  const rule = (digit: string, percentage: number | string) => ({
    recipientAddress: address(digit),
    percentage,
    name: digit,
  })
  const splitRules = [rule('b', '66.666667'), rule('e', '33.333333')]
  expect((await ada.settle('set_split_rules', { splitRules })).status).toBe(404)
  for (const wrong of [
    [rule('b', 99)],
    [rule('a', 100)],
    [],
    [rule('b', '1e2')],
    [{ ...rule('b', 100), role: 'king' }],
  ]) {
    expect((await bo.settle('set_split_rules', { splitRules: wrong })).status).toBe(400)
  }
  expect((await bo.settle('set_split_rules', { splitRules })).status).toBe(200)
  await ada.settle('create_escrow')
  clock.set(GIG)
  expect((await ada.settle('release_funds')).status).toBe(200)
  expect([bo.balance(), eve.balance() - DOLLAR]).toEqual([67, 33])
  expect((await bo.settle('set_split_rules', { splitRules })).status).toBe(409)
})

test('POST /api/skills/booking-settlement: 200 and no money is lost when an account is deleted', async () => {
  const { ada, bo, eve, book, clock, platform } = await openTestPlatform()
  const leave = ({ user }: { user: { id: string } }) =>
    write(platform.db, (tx) => tx.delete(users).where(eq(users.id, user.id)).run())
  await book()
  await ada.settle('create_escrow')
  const address = `0x${'e'.repeat(40)}`
  await write(platform.db, (tx) =>
    tx.insert(wallets).values({ chainId: 8453, address, userId: eve.user.id, createdAt: clock.now() }).run(),
  )
  const splitRules = [{ recipientAddress: address, percentage: 100, name: 'Eve' }]
  expect((await bo.settle('set_split_rules', { splitRules })).status).toBe(200)
  await leave(eve)
  clock.set(GIG)
  expect((await ada.settle('release_funds')).status).toBe(200)
  expect([bo.balance(), eve.balance()]).toEqual([600_250_000, DOLLAR])

  const other = await openTestPlatform()
  await other.book()
  await other.ada.settle('create_escrow')
  await write(other.platform.db, (tx) => tx.delete(users).where(eq(users.id, other.bo.user.id)).run())
  other.clock.set(GIG)
  expect((await other.ada.settle('release_funds')).status).toBe(409)
  expect((await other.ada.settle('refund')).status).toBe(200)
  expect(other.ada.balance()).toBe(1000 * DOLLAR)
})

test('POST /api/skills/booking-settlement: 402 without balance, 404 for a stranger, 400 when the action is unknown', async () => {
  const { ada, bo, eve, book } = await openTestPlatform()
  await book({ guaranteeMicroUsd: 1000 * DOLLAR })
  const poor = await ada.settle('create_escrow')
  expect([poor.status, await poor.json()]).toMatchObject([402, { code: 'INSUFFICIENT_FUNDS' }])
  expect((await bo.settle('create_escrow')).status).toBe(404)
  for (const action of ['get', 'create_escrow', 'release_funds', 'refund']) {
    const response = await eve.settle(action)
    expect([response.status, await response.json()]).toEqual([404, { error: 'Booking not found' }])
  }
  expect(await read(Answer, eve.settle('list'))).toMatchObject({ bookings: [] })
  expect((await ada.settle('release_funds')).status).toBe(409)
  for (const body of [{ action: 'fly' }, { action: 'get', bookingId: '' }]) {
    expect((await ada.settle(body.action, body)).status).toBe(400)
  }
})

test('POST /api/skills/booking-settlement: 200 for simulate_settlement without a payment; GET describes the skill', async () => {
  const { ada, web } = await openTestPlatform()
  expect(await read(Answer, ada.settle('simulate_settlement'))).toEqual({
    success: true,
    input: { guarantee: 500, backend: 200, deposit: 100 },
    totalPayout: 700,
    currency: 'USD',
    splits: [
      { role: 'artist', percentage: 65, amount: 455 },
      { role: 'agent', percentage: 20, amount: 140 },
      { role: 'manager', percentage: 15, amount: 105 },
    ],
    timeline: { deposit: 100, remainder: 600 },
  })
  expect((await ada.settle('simulate_settlement', { booking: { guarantee: 0.1 + 0.2 } })).status).toBe(400)
  const described = await (await web.request('/api/skills/booking-settlement')).json()
  expect(described).toMatchObject({
    skill: 'booking-settlement',
    category: 'payments',
    triggers: expect.any(Array),
    pricing: { transactionFee: '0%', escrowFee: '0%' },
    security: { usesCDP: false },
  })
})

test('POST /api/skills/event-ticketing: 200 for a ticket that is paid from the balance, checked, and refunded once', async () => {
  const { ada, bo, eve, announce, clock } = await openTestPlatform()
  const eventId = await announce(10, 25)
  const sale = await read(
    z.looseObject({ ticket: z.looseObject({ id: z.string() }) }),
    ada.ticket('purchase', { eventId, email: 'friend@example.com', tier: 'vip' }),
  )
  expect(sale).toMatchObject({
    pending: false,
    ticket: { event: 'Night', tier: 'vip', price: 25, email: 'friend@example.com', status: 'valid' },
    payment: { amount: '25.00', currency: 'USD', status: 'paid' },
  })
  expect([ada.balance(), bo.balance()]).toEqual([975 * DOLLAR, 25 * DOLLAR])
  const ticketId = sale.ticket.id
  expect(await read(Answer, bo.ticket('check', { ticketId }))).toMatchObject({ valid: true })
  expect((await eve.ticket('check', { ticketId })).status).toBe(404)
  expect((await eve.ticket('purchase', { eventId })).status).toBe(402)
  const refunds = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, index) => (await (index % 2 ? ada : bo).ticket('refund', { ticketId })).status,
    ),
  )
  expect(refunds.filter((status) => status === 200)).toHaveLength(1)
  expect([ada.balance(), bo.balance()]).toEqual([1000 * DOLLAR, 0])
  expect(await read(Answer, ada.ticket('check', { ticketId }))).toMatchObject({ valid: false })
  const late = await read(
    z.looseObject({ ticket: z.looseObject({ id: z.string() }) }),
    ada.ticket('purchase', { eventId }),
  )
  clock.set(GIG)
  expect((await ada.ticket('refund', { ticketId: late.ticket.id })).status).toBe(409)
  expect((await bo.ticket('refund', { ticketId: late.ticket.id })).status).toBe(200)
  expect((await ada.ticket('purchase', { eventId })).status).toBe(404)
})

test('POST /api/skills/event-ticketing: one ticket for 100 requests with one Idempotency-Key', async () => {
  const { ada, bo, announce, web } = await openTestPlatform()
  const eventId = await announce(10, 25)
  const headers = { ...ada.cookie, 'idempotency-key': 'one' }
  const body = { action: 'purchase', eventId }
  const buy = () => web.request('/api/skills/event-ticketing', json('POST', body, headers))
  const answers = await Promise.all(Array.from({ length: 100 }, async () => (await buy()).text()))
  expect(new Set(answers).size).toBe(1)
  expect([ada.balance(), bo.balance()]).toEqual([975 * DOLLAR, 25 * DOLLAR])
})

test('POST /api/skills/event-ticketing: 200 for 7 of 200 concurrent buyers of 7 seats, 409 SOLD_OUT for the others', async () => {
  const { ada, bo, announce } = await openTestPlatform()
  const eventId = await announce(7, 1)
  const answers = await Promise.all(Array.from({ length: 200 }, () => ada.ticket('purchase', { eventId })))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
  const refused = answers.find(({ status }) => status !== 200)
  expect([refused?.status, await refused?.json()]).toMatchObject([409, { code: 'SOLD_OUT' }])
  expect([ada.balance(), bo.balance()]).toEqual([993 * DOLLAR, 7 * DOLLAR])
  expect(await read(Answer, ada.ticket('list'))).toMatchObject({ events: [{ id: eventId, ticketsLeft: 0 }] })
})

test('POST /api/skills/event-ticketing: 200 when an own agent announces, 404 for another’s; free tickets cost nothing', async () => {
  const { ada, bo, eve } = await openTestPlatform()
  const night = {
    name: 'Free',
    description: 'x',
    venue: 'Park',
    eventDate: '2026-12-30',
    ticketPriceUsdc: '0',
    totalTickets: 1,
  }
  expect((await ada.ticket('create', { ...night, agentId: bo.agent.id })).status).toBe(404)
  const { event } = await read(
    z.looseObject({ event: z.looseObject({ id: z.number() }) }),
    ada.ticket('create', { ...night, agentId: ada.agent.id }),
  )
  expect((await eve.ticket('purchase', { eventId: event.id })).status).toBe(200)
  expect(eve.balance()).toBe(DOLLAR)
  for (const body of [{}, { eventId: 'x' }, { eventId: event.id, email: 'no' }]) {
    expect((await eve.ticket('purchase', body)).status).toBe(400)
  }
})
