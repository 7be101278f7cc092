import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { openDatabase } from '../../src/db/open.ts'
import { platformAccount } from '../../src/features/payments/ledger/accounts.ts'
import { checkLedger } from '../../src/features/payments/ledger/check.ts'
import { readBalance } from '../../src/features/payments/ledger/post.ts'
import { devAccount, hasAnvil } from '../harness/chain/anvil.ts'
import { DOLLAR_CODE } from '../harness/chain/contract-code.ts'
import { startTestChain } from '../harness/chain/test-chain.ts'
import { fund, PAYEE, readToken, USDC } from '../harness/paying-platform.ts'
import { json } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Number of kills of the service; `bun run stress payments` raises it. */
const KILLS = Number(process.env.PAYMENT_KILLS ?? 1)
const AT_ONCE = 10
const LIMIT_MS = 300_000 + KILLS * 60_000
const CENT = 10_000
const PATH = '/api/v1/gateway'
/** Private key of the settling account, the fourth of anvil's accounts. */
const SETTLER_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
const PAYER = devAccount(5)
const State = z.object({ state: z.string(), payments: z.number() })

test.skipIf(!hasAnvil)(
  `calls paid by signature are paid and executed once when the platform is killed ${KILLS} times`,
  async () => {
    await using chain = await startTestChain(8453)
    await chain.putCode(USDC, DOLLAR_CODE)
    await fund(chain, USDC, PAYER.address, 1_000_000_000n)
    const page = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response('<title>Hello</title>', { headers: { 'content-type': 'text/html' } }),
    })
    const environment = {
      BASE_RPC_URL: chain.rpcUrl,
      USDC_ADDRESS: USDC,
      GATEWAY_PAY_TO: PAYEE,
      GATEWAY_SETTLER_KEY: SETTLER_KEY,
      SUMMARIZER_ALLOW_PRIVATE: 'true',
      RATE_LIMIT_AGENTS: '1000000',
      RATE_LIMIT_GATEWAY: '1000000',
    }
    await using installation = await openInstallation({ environment })
    let program = await installation.start()
    let [lost, answered] = [0, 0]
    for (let round = 0; round < KILLS; round++) {
      const signed = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, at) => sign(program.urls.web, `${page.url}${round}-${at}`)),
      )
      const show = (request: RequestInit) => fetch(`${program.urls.web}${PATH}`, request).catch(() => null)
      const shown = signed.map(show)
      await Bun.sleep(Math.random() * 400)
      await program.kill()
      lost += (await Promise.all(shown)).filter((answer) => answer?.status !== 200).length
      program = await installation.start()
      await Promise.all(signed.map((request) => until('the work', async () => (await show(request))?.status === 200)))
      answered += signed.length
    }
    const database = new Database(join(installation.dataDir, 'stead.db'), { readonly: true })
    const states = database.prepare('SELECT state, count(*) AS payments FROM gateway_payments GROUP BY state').all()
    database.close()
    expect(z.array(State).parse(states)).toEqual([{ state: 'served', payments: KILLS * AT_ONCE }])
    expect(await readToken(chain, USDC, PAYEE)).toBe(BigInt(answered * CENT))
    await program.stop()
    const books = openDatabase(join(installation.dataDir, 'stead.db'))
    expect(checkLedger(books.db).faults).toEqual([])
    expect(readBalance(books.db, platformAccount('sales', 'USDC'))).toBe(answered * CENT)
    books.close()
    await page.stop(true)
    console.log(`${KILLS} kills: ${answered} paid calls, ${lost} cut off, 0 paid twice, 0 without their work`)
  },
  LIMIT_MS,
)

/** Returns a paid request as its client sends it, with an idempotency key for retries. */
async function sign(web: string, url: string): Promise<RequestInit> {
  const body = { plugin: 'summarize', url }
  let paying: Headers | undefined
  const listening = async (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    if (!request.headers.has('payment-signature')) return fetch(`${web}${PATH}`, json('POST', body))
    paying = request.headers
    return new Response()
  }
  const client = new x402Client().setSpendControls(false).register('eip155:8453', new ExactEvmScheme(PAYER))
  await wrapFetchWithPayment(Object.assign(listening, { preconnect: () => undefined }), client)(
    `${web}${PATH}`,
    json('POST', body),
  )
  const headers = { ...Object.fromEntries(paying ?? []), 'idempotency-key': crypto.randomUUID() }
  return { method: 'POST', headers, body: JSON.stringify(body) }
}
