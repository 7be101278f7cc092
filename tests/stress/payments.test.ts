import { expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { openDatabase } from '../../src/db/open.ts'
import { checkLedger } from '../../src/features/payments/ledger/check.ts'
import { hasAnvil } from '../harness/chain/anvil.ts'
import { type Person, signIn, signUp } from '../harness/client.ts'
import { FAULTS, type Fault, startColonyDouble } from '../harness/doubles/colony.ts'
import { fund, PAYEE, readToken, startTokenChain, USDC } from '../harness/paying-platform.ts'
import { json } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Number of kills of the service; `bun run stress payments` raises it. */
const KILLS = Number(process.env.PAYMENT_KILLS ?? 2)
const AT_ONCE = 10
const LIMIT_MS = 120_000 + KILLS * 60_000
const DOLLAR = 1_000_000n

const Row = z.object({ id: z.string(), kind: z.string(), status: z.string(), recipient: z.string() })
const MadeWallet = z.object({ address: z.string() })

test.skipIf(!hasAnvil)(
  `payments on a chain and by a hostile gateway are neither doubled, unaudited nor left open when the platform is killed ${KILLS} times`,
  async () => {
    await using chain = await startTokenChain(8453, USDC)
    await using gateway = await startColonyDouble()
    const environment = { BASE_RPC_URL: chain.rpcUrl, USDC_ADDRESS: USDC, X402_GATEWAY_URL: gateway.url }
    await using installation = await openInstallation({ environment })
    let program = await installation.start()
    let person = await signUp(program.urls.web)
    const made = await person.post('/api/wallet', { action: 'create' })
    const { address } = MadeWallet.parse(await made.json())
    await fund(chain, USDC, address, 100_000n * DOLLAR)

    for (let round = 0; round < KILLS; round++) {
      gateway.fault = pick(round)
      const asked = Array.from({ length: AT_ONCE }, (_, index) => order(person, round, index).catch(() => null))
      await Bun.sleep(Math.random() * 120)
      await program.kill()
      await Promise.all(asked)
      program = await installation.start()
      person = await signIn(program.urls.web)
      // Unanswered requests are retried with the same key.
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => order(person, round, index)))
    }

    const database = new Database(join(installation.dataDir, 'stead.db'), { readonly: true })
    const read = (sql: string) => z.array(Row).parse(database.prepare(sql).all())
    const open = "SELECT id, kind, status, recipient FROM wallet_payments WHERE status NOT IN ('succeeded', 'failed')"
    await until('the end of every payment', () => read(open).length === 0)
    const payments = read('SELECT id, kind, status, recipient FROM wallet_payments')
    await expectPaidOnce(payments, (recipient) => readToken(chain, USDC, recipient))
    for (const { id, kind, status } of payments) {
      if (kind !== 'upstream') continue
      expect(gateway.orders.get(id) ?? 0).toBeLessThanOrEqual(1)
      expect([id, status]).toEqual([id, gateway.settled.has(id) ? 'succeeded' : 'failed'])
    }
    const unaudited = `SELECT id, kind, status, recipient FROM wallet_payments AS payment WHERE NOT EXISTS (
      SELECT 1 FROM audit_log WHERE action = 'wallet.payment' AND json_extract(detail, '$.paymentId') = payment.id)`
    expect(read(unaudited)).toEqual([])
    database.close()
    await program.stop()
    const books = openDatabase(join(installation.dataDir, 'stead.db'))
    expect(checkLedger(books.db).faults).toEqual([])
    books.close()
    const count = (kind: string) => payments.filter((payment) => payment.kind === kind).length
    const figures = `${count('transfer')} transfers, ${count('upstream')} orders`
    console.log(`${KILLS} kills: ${figures}, 0 doubled, 0 without a line in the audit log, 0 open, the books are right`)
  },
  LIMIT_MS,
)

/** Orders a payment: half are transfers, half gateway orders; each has its own recipient. */
function order(person: Person, round: number, index: number): Promise<Response> {
  const headers = { ...person.cookie, 'idempotency-key': `${round}-${index}` }
  const recipient = `0x${(1_000_000 + round * 1000 + index).toString(16).padStart(40, 'b')}`
  const isOwn = index % 2 === 0
  const body = isOwn
    ? { recipient, amount: 1 }
    : { action: 'pay', agentId: 'elsewhere', amount: 1 + index / 100, recipient: PAYEE }
  return fetch(`${person.web}${isOwn ? '/api/wallet/send' : '/api/x402'}`, json('POST', body, headers))
}

/** Checks that each paid recipient has one dollar, and all others none. */
async function expectPaidOnce(payments: z.infer<typeof Row>[], readBalance: (owner: string) => Promise<bigint>) {
  const transfers = payments.filter(({ kind }) => kind === 'transfer')
  for (const recipient of new Set(transfers.map((payment) => payment.recipient))) {
    const succeeded = transfers.filter((payment) => payment.recipient === recipient && payment.status === 'succeeded')
    expect(succeeded.length).toBeLessThanOrEqual(1)
    expect([recipient, await readBalance(recipient)]).toEqual([recipient, BigInt(succeeded.length) * DOLLAR])
  }
}

function pick(round: number): Fault {
  return FAULTS[round % FAULTS.length] ?? 'settles'
}
