import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'

const OPERATOR = bearer(INTERNAL_KEY)
const ADDRESS = '0x1111111111111111111111111111111111111111'

type Ids = { agentId: string; userId: string }
/** A request, and the table whose absence makes it fail. */
const CASES: readonly [endpoint: string, table: string, ask: (ids: Ids) => [path: string, init: RequestInit]][] = [
  ['GET /api/underground/events', 'underground_events', () => ['events', { headers: OPERATOR }]],
  [
    'POST /api/underground/events',
    'underground_events',
    ({ agentId }) => {
      const night = { name: 'Night', description: 'Long', venue: 'The Cellar', eventDate: '2027-01-01T20:00:00Z' }
      return ['events', json('POST', { agentId, ...night, ticketPriceUsdc: '12.50', totalTickets: 100 }, OPERATOR)]
    },
  ],
  ['POST /api/underground/wallets', 'managed_wallets', (ids) => ['wallets', json('POST', ids, OPERATOR)]],
  [
    'GET /api/underground/wallets/:address/balance',
    'managed_wallets',
    ({ userId }) => [`wallets/${ADDRESS}/balance?userId=${userId}`, { headers: OPERATOR }],
  ],
  [
    'POST /api/underground/splits',
    'royalty_splits',
    (ids) => {
      const recipients = [{ address: ADDRESS, share: 100 }]
      const split = { ...ids, fromAddress: ADDRESS, name: 'Album', totalAmount: '1', recipients }
      return ['splits', json('POST', split, OPERATOR)]
    },
  ],
]

test.each(CASES)('%s: 500 when %s cannot be read, and 200 for the next call', async (_, table, ask) => {
  const { platform, backend, signIn, clock } = testPlatform()
  const { user } = await signIn('ada@example.com', 'network')
  const deps = { clock, sealer: platform.sealer }
  const usual = { name: 'Ada', model: 'a/b', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
  const agent = await write(platform.db, (tx) => insertAgent(deps, tx, { ...usual, ownerId: user.id }))
  const [path, init] = ask({ agentId: agent.id, userId: user.id })
  const send = () => backend.request(`/api/underground/${path}`, init)
  const rename = (from: string, to: string) =>
    write(platform.db, (tx) => tx.run(sql.raw(`ALTER TABLE ${from} RENAME TO ${to}`)))

  await rename(table, 'elsewhere')
  const failed = await send()
  expect([failed.status, await failed.json()]).toEqual([500, { error: expect.any(String) }])
  await rename('elsewhere', table)
  expect((await send()).status).toBeLessThan(500)
})
