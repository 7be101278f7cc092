import { expect, test } from 'bun:test'
import { z } from 'zod'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { UndergroundEvent, UndergroundEventList } from './schemas.ts'

const PATH = '/api/underground/events'
const OPERATOR = bearer(INTERNAL_KEY)

/** A platform with Ada and her agent. */
async function openTestPlatform() {
  const test = testPlatform()
  const { user, cookie } = await test.signIn('ada@example.com', 'network')
  const deps = { clock: test.clock, sealer: test.platform.sealer }
  const usual = { name: 'Ada', model: 'a/b', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
  const agent = await write(test.platform.db, (tx) => insertAgent(deps, tx, { ...usual, ownerId: user.id }))
  const night = (change: Record<string, unknown> = {}) => ({
    agentId: agent.id,
    name: 'Night',
    description: 'A long one',
    venue: 'The Cellar',
    eventDate: '2027-01-01T20:00:00Z',
    ticketPriceUsdc: '12.50',
    totalTickets: 100,
    ...change,
  })
  const announce = (change: Record<string, unknown> = {}, headers: Record<string, string> = OPERATOR) =>
    test.backend.request(PATH, json('POST', night(change), headers))
  return { ...test, user, cookie, agent, night, announce }
}

test('POST /api/underground/events: 201 with the event and its price as it was written', async () => {
  const { announce, agent, clock } = await openTestPlatform()
  const response = await announce()
  expect(response.status).toBe(201)
  expect(await response.json()).toEqual({
    id: 1,
    agent_id: agent.id,
    name: 'Night',
    description: 'A long one',
    venue: 'The Cellar',
    event_date: '2027-01-01T20:00:00.000Z',
    ticket_price_usdc: '12.50',
    total_tickets: 100,
    tickets_sold: 0,
    created_at: clock.now().toISOString(),
  })
  for (const price of ['0', '12', '12.5', '0.000001', '1000000000']) {
    const event = await read(UndergroundEvent, announce({ ticketPriceUsdc: price }))
    expect(event.ticket_price_usdc).toBe(price)
  }
})

test('GET /api/underground/events: 200 with a plain list, latest date first', async () => {
  const { announce, backend } = await openTestPlatform()
  expect(await (await backend.request(PATH, { headers: OPERATOR })).json()).toEqual([])
  for (const eventDate of ['2027-01-02', '2026-12-31T23:00:00-05:00', '2027-03-01T00:00:00Z', '2027-01-02']) {
    expect((await announce({ eventDate })).status).toBe(201)
  }
  const list = await read(UndergroundEventList, backend.request(PATH, { headers: OPERATOR }))
  expect(list.map(({ id, event_date }) => [id, event_date])).toEqual([
    [3, '2027-03-01T00:00:00.000Z'],
    [4, '2027-01-02T00:00:00.000Z'],
    [1, '2027-01-02T00:00:00.000Z'],
    [2, '2027-01-01T04:00:00.000Z'],
  ])
  const page = await read(UndergroundEventList, backend.request(`${PATH}?limit=2&offset=1`, { headers: OPERATOR }))
  expect(page.map(({ id }) => id)).toEqual([4, 1])
})

test('/api/underground/events: 200 for own events in both APIs; 404 for another user’s agent', async () => {
  const { announce, night, signIn, web, backend, cookie, user } = await openTestPlatform()
  const eve = await signIn('eve@example.com', 'network')
  await announce()
  const asUser = (id: string) => ({ ...OPERATOR, 'x-user-id': id })
  const idsFor = async (response: Promise<Response>) => (await read(UndergroundEventList, response)).map(({ id }) => id)
  expect(await idsFor(web.request(PATH, { headers: cookie }))).toEqual([1])
  expect(await idsFor(web.request(PATH, { headers: eve.cookie }))).toEqual([])
  expect(await idsFor(backend.request(PATH, { headers: asUser(user.id) }))).toEqual([1])
  expect(await idsFor(backend.request(PATH, { headers: asUser(eve.user.id) }))).toEqual([])
  for (const response of [
    await web.request(PATH, json('POST', night(), eve.cookie)),
    await announce({}, asUser(eve.user.id)),
    await announce({ agentId: 'missing' }, asUser(user.id)),
  ]) {
    expect([response.status, await response.json()]).toEqual([404, { error: 'Agent not found' }])
  }
  expect((await web.request(PATH, json('POST', night(), cookie))).status).toBe(201)
})

test('POST /api/underground/events: 404 with the internal key when the agent does not exist', async () => {
  const { announce, backend } = await openTestPlatform()
  const response = await announce({ agentId: 'elsewhere' })
  expect([response.status, await response.json()]).toEqual([404, { error: 'Agent not found' }])
  expect(await read(UndergroundEventList, backend.request(PATH, { headers: OPERATOR }))).toEqual([])
})

test('DELETE /api/agents/:id: 200 deletes the agent’s events', async () => {
  const { announce, backend, agent } = await openTestPlatform()
  expect((await announce()).status).toBe(201)
  await backend.request(`/api/agents/${agent.id}`, { method: 'DELETE', headers: OPERATOR })
  expect(await read(UndergroundEventList, backend.request(PATH, { headers: OPERATOR }))).toEqual([])
})

test('/api/underground/events: 401 without a valid bearer token, and without a session in the web API', async () => {
  const { backend, web, night } = await openTestPlatform()
  for (const headers of [{}, bearer('wrong'), { authorization: INTERNAL_KEY }]) {
    for (const init of [{ headers }, json('POST', night(), headers)]) {
      const response = await backend.request(PATH, init)
      expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }])
    }
  }
  expect((await web.request(PATH)).status).toBe(401)
})

const bad: [Record<string, unknown>, string][] = [
  ...(['agentId', 'name', 'description', 'venue'] as const).flatMap((field): [Record<string, unknown>, string][] => [
    [{ [field]: undefined }, `${field} is required`],
    [{ [field]: ' ' }, `${field} is required`],
    [{ [field]: 1 }, `${field} is required`],
  ]),
  ...[undefined, 'tomorrow', '2027-02-30', 1_800_000_000].map((eventDate): [Record<string, unknown>, string] => [
    { eventDate },
    'eventDate must be an ISO 8601 time',
  ]),
  ...[undefined, 12.5, '-1', '1e2', '1.0000001', '', 'free'].map((price): [Record<string, unknown>, string] => [
    { ticketPriceUsdc: price },
    'ticketPriceUsdc must be a decimal text',
  ]),
  ...[undefined, 0, -1, 1.5, '100', 1e9].map((totalTickets): [Record<string, unknown>, string] => [
    { totalTickets },
    'totalTickets must be a whole number',
  ]),
]
test.each(bad)('POST /api/underground/events: 400 when the body is %j', async (change, error) => {
  const { announce } = await openTestPlatform()
  const response = await announce(change)
  expect(response.status).toBe(400)
  expect(await read(z.object({ error: z.string() }), response)).toEqual({ error: expect.stringContaining(error) })
})

test('GET /api/underground/events: 400 when limit or offset is invalid', async () => {
  const { backend } = await openTestPlatform()
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'offset=-1']) {
    expect((await backend.request(`${PATH}?${query}`, { headers: OPERATOR })).status).toBe(400)
  }
})
