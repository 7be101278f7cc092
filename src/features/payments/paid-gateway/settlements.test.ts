import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { type Address, type Hex, keccak256, parseAbi, parseSignature, parseTransaction } from 'viem'
import { devAccount, hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { DOLLAR_CODE } from '../../../../tests/harness/chain/contract-code.ts'
import { startTestChain, type TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { fund, PAYEE, readToken, USDC } from '../../../../tests/harness/paying-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import type { ChainCharges } from '../../../adapters/payments/chain-charges.ts'
import type { Settler, TransferAuthorization } from '../../../adapters/payments/settler.ts'
import { type Account, platformAccount } from '../ledger/accounts.ts'
import { checkLedger } from '../ledger/check.ts'
import { readBalance } from '../ledger/post.ts'
import { receipts } from '../receipts/tables.ts'
import { refundAbandoned } from './payments.ts'
import { settleInterrupted } from './settle.ts'
import { gatewayPayments } from './tables.ts'

/** The settling account, the fourth of the test chain. */
const SETTLER_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'
const PATH = '/api/v1/gateway'
const CENT = 10_000
const PAYER = devAccount(5)

describe.skipIf(!hasAnvil)('a payment that a crash interrupted', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTestChain(8453)
    await chain.putCode(USDC, DOLLAR_CODE)
    await fund(chain, USDC, PAYER.address, 100_000_000n)
  })
  afterAll(() => chain.stop())

  /** Fails once the transaction is in a block. */
  function dieAfter({ broadcast }: Settler) {
    return async (raw: string): Promise<never> => {
      await broadcast(raw)
      await chain.client.waitForTransactionReceipt({ hash: keccak256(`0x${raw.slice(2)}`) })
      return die()
    }
  }

  /** A platform with a page that counts its readers, and an unused signature. */
  async function openTestPlatform() {
    let reads = 0
    const page = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => {
        reads++
        return new Response('<title>Hello</title><h1>World</h1>', { headers: { 'content-type': 'text/html' } })
      },
    })
    const it = testPlatform({
      environment: {
        SUMMARIZER_ALLOW_PRIVATE: 'true',
        USDC_ADDRESS: USDC,
        BASE_RPC_URL: chain.rpcUrl,
        GATEWAY_PAY_TO: PAYEE,
        GATEWAY_SETTLER_KEY: SETTLER_KEY,
      },
    })
    const { platform, web } = it
    const signed = await sign(it, { plugin: 'summarize', url: `${page.url}` })
    const { chainCharges } = platform.payments
    const before = await readToken(chain, USDC, PAYEE)
    const use = (charges: ChainCharges) => Object.assign(platform.payments, { chainCharges: charges })
    return {
      ...it,
      db: platform.db,
      show: (headers: Record<string, string> = {}) =>
        web.request(PATH, { ...signed, headers: { ...signed.headers, ...headers } }),
      /** Uses a signature read from the chain. */
      steal: () =>
        web.request(PATH, { ...signed, body: JSON.stringify({ plugin: 'summarize', url: `${page.url}mine` }) }),
      showAs: (plugin: string) =>
        web.request(PATH, { ...signed, headers: { ...signed.headers, 'x-plugin-id': plugin } }),
      /** Sends the signature to a platform that crashes at `dying`, then restarts it. */
      async crash(dying: (settler: Settler) => Partial<Settler>) {
        const settler = await chainCharges.openSettler()
        use({ ...chainCharges, openSettler: async () => ({ ...settler, ...dying(settler) }) })
        const response = await web.request(PATH, signed)
        use(chainCharges)
        return response
      },
      async crashBeforeWork(headers: Record<string, string> = {}) {
        use({
          ...chainCharges,
          charge: async (...order) => {
            await chainCharges.charge(...order)
            return die()
          },
        })
        const response = await web.request(PATH, { ...signed, headers: { ...signed.headers, ...headers } })
        use(chainCharges)
        return response
      },
      /** Retries like a client that kept only its idempotency key. */
      askAgain: (headers: Record<string, string>) =>
        web.request(PATH, { ...json('POST', {}, headers), body: signed.body }),
      rows: () => platform.db.select().from(gatewayPayments).all(),
      reads: () => reads,
      paid: async () => Number((await readToken(chain, USDC, PAYEE)) - before),
      interrupted: () => settleInterrupted(platform.payments),
      abandoned: () => refundAbandoned(platform.payments),
      [Symbol.asyncDispose]: () => page.stop(true),
    }
  }

  /** Expects one payment, either worked for or refunded once, and a consistent ledger. */
  async function expectOnce(it: Awaited<ReturnType<typeof openTestPlatform>>, state: 'served' | 'refunded') {
    expect(await it.paid()).toBe(CENT)
    expect(it.rows()).toMatchObject([{ state, rawTransaction: null }])
    expect(it.reads()).toBe(state === 'served' ? 1 : 0)
    expect(readBalance(it.db, platformAccount('sales', 'USDC'))).toBe(state === 'served' ? CENT : 0)
    expect(readBalance(it.db, heldFor())).toBe(state === 'served' ? 0 : CENT)
    expect(it.db.select().from(receipts).all()).toHaveLength(1)
    expect(checkLedger(it.db).faults).toEqual([])
  }

  const points: [string, (settler: Settler) => Partial<Settler>, number][] = [
    ['before anything is stored', () => ({ sign: die }), 0],
    ['before the send', () => ({ broadcast: die }), 0],
    ['after the send and before the record', (settler) => ({ broadcast: dieAfter(settler) }), CENT],
  ]
  for (const [point, dying, paid] of points) {
    test(`killed ${point}: is paid and executed once when the signature is sent again`, async () => {
      await using it = await openTestPlatform()
      const killed = await it.crash(dying)
      expect([killed.status, await it.paid()]).toEqual([503, paid])
      expect(it.rows()).toMatchObject([{ state: 'settling' }])
      const again = await it.show()
      expect([again.status, await again.json()]).toMatchObject([200, { result: { title: 'Hello' } }])
      expect((await it.show()).status).toBe(402)
      await expectOnce(it, 'served')
    })
  }

  test('is executed once when the process was killed between record and work and the signature is sent again', async () => {
    await using it = await openTestPlatform()
    expect((await it.crashBeforeWork()).status).toBe(500)
    expect(it.rows()).toMatchObject([{ state: 'settled' }])
    expect((await it.showAs('extract')).status).toBe(409)
    const stolen = await it.steal()
    expect([stolen.status, await stolen.json()]).toMatchObject([409, { code: 'PAYMENT_OF_OTHER_WORK' }])
    const { user: _user, cookie } = await it.signIn('eve@example.com')
    expect((await it.show(cookie)).status).toBe(409)
    expect(it.reads()).toBe(0)
    expect((await it.show()).status).toBe(200)
    await expectOnce(it, 'served')
  })

  test('returns the paid response without a second payment when only the Idempotency-Key is sent again', async () => {
    await using it = await openTestPlatform()
    const key = { 'idempotency-key': crypto.randomUUID() }
    expect((await it.crashBeforeWork(key)).status).toBe(500)
    const stolen = await it.steal()
    expect(stolen.status).toBe(409)
    const again = await it.askAgain(key)
    expect([again.status, await again.json()]).toMatchObject([200, { payment: { method: 'x402' } }])
    const replayed = await it.askAgain(key)
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    await expectOnce(it, 'served')
  })

  test('is found on the chain by the job and refunded once when it was abandoned', async () => {
    await using it = await openTestPlatform()
    await it.crash((settler) => ({ broadcast: dieAfter(settler) }))
    await it.interrupted()
    expect(it.rows()).toMatchObject([{ state: 'settling' }])
    it.clock.advance(121_000)
    await Promise.all([it.interrupted(), it.interrupted()])
    expect(it.rows()).toMatchObject([{ state: 'settled', rawTransaction: null }])
    it.clock.advance(901_000)
    await Promise.all([it.abandoned(), it.abandoned()])
    await expectOnce(it, 'refunded')
    const stolen = await it.steal()
    expect([stolen.status, await stolen.json()]).toMatchObject([
      409,
      { code: 'PAYMENT_REFUNDED', refund: { to: 'payer', amount: '0.01', receiptId: expect.any(String) } },
    ])
    await expectOnce(it, 'refunded')
    expect((await it.show()).status).toBe(200)
    await expectOnce(it, 'served')
  })

  test('is accepted after its signature expired only when it was settled before', async () => {
    await using it = await openTestPlatform()
    await using unpaid = await openTestPlatform()
    await it.crash((settler) => ({ broadcast: dieAfter(settler) }))
    setSystemTime(new Date(Date.now() + 3_600_000))
    try {
      const other = await it.showAs('extract')
      expect([other.status, await other.json()]).toMatchObject([409, { plugin: 'summarize' }])
      expect([(await unpaid.show()).status, unpaid.rows()]).toEqual([402, []])
      expect((await it.show()).status).toBe(200)
      const again = await it.show()
      expect([again.status, await again.json()]).toMatchObject([402, { code: 'PAYMENT_USED' }])
    } finally {
      setSystemTime()
    }
    await expectOnce(it, 'served')
  })

  test('402 when the nonce paid another payee, without work or row', async () => {
    await using it = await openTestPlatform()
    await it.crash(() => ({ broadcast: die }))
    const authorization = it.rows()[0]?.authorization
    if (!authorization) throw new Error('Nothing was stored')
    await payElsewhere(chain, authorization)
    const again = await it.show()
    expect([again.status, await again.json()]).toMatchObject([402, { code: 'PAYMENT_REFUSED' }])
    expect([it.rows(), await it.paid(), it.reads()]).toEqual([[], 0, 0])
  })

  test('causes no transaction by the job when it was abandoned before it was sent', async () => {
    await using it = await openTestPlatform()
    await it.crash(() => ({ sign: die }))
    it.clock.advance(121_000)
    await it.interrupted()
    expect([it.rows(), await it.paid()]).toEqual([[], 0])
    await using other = await openTestPlatform()
    await other.crash(() => ({ broadcast: die }))
    other.clock.advance(121_000)
    await other.interrupted()
    expect([other.rows(), await other.paid()]).toMatchObject([[{ state: 'settling', checks: 1 }], 0])
  })

  test('counts as paid when another caller submitted the signature', async () => {
    await using it = await openTestPlatform()
    await it.crash(() => ({ broadcast: die }))
    const [row] = it.rows()
    const { data, to } = parseStored(row?.rawTransaction)
    const hash = await chain.client.sendTransaction({ account: devAccount(7), chain: null, to, data, gas: 500_000n })
    await chain.client.waitForTransactionReceipt({ hash })
    expect((await it.show()).status).toBe(200)
    expect(it.rows()).toMatchObject([{ reference: hash }])
    await expectOnce(it, 'served')
  })

  test('is signed again and paid once when another transaction replaced the stored one', async () => {
    await using it = await openTestPlatform()
    await it.crash(() => ({ broadcast: die }))
    const stored = it.rows()[0]?.reference
    await using other = await openTestPlatform()
    expect((await other.show()).status).toBe(200)
    expect((await it.show()).status).toBe(200)
    expect(it.rows()[0]?.reference).not.toBe(stored ?? '')
    expect([it.reads(), other.reads(), await it.paid()]).toEqual([1, 1, 2 * CENT])
  })

  test('is served once when 200 concurrent requests send its signature', async () => {
    await using it = await openTestPlatform()
    await it.crash((settler) => ({ broadcast: dieAfter(settler) }))
    const answers = await Promise.all(Array.from({ length: 200 }, () => it.show()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const others = await Promise.all(answers.filter(({ status }) => status !== 200).map((answer) => answer.json()))
    const isReported = expect.stringMatching(/^PAYMENT_(IN_PROGRESS|USED)$/)
    expect(others).toEqual(others.map(() => expect.objectContaining({ code: isReported })))
    await expectOnce(it, 'served')
  }, 300_000)
})

/** Signs a request that pays for `body`, as its client would. */
async function sign({ web }: Pick<ReturnType<typeof testPlatform>, 'web'>, body: unknown) {
  let shown: Headers | undefined
  const listening = async (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? new Request(input, init) : new Request(String(input), init)
    if (!request.headers.has('payment-signature')) return web.request(PATH, json('POST', body))
    shown = request.headers
    return new Response()
  }
  const client = new x402Client().setSpendControls(false).register('eip155:8453', new ExactEvmScheme(PAYER))
  const paying = wrapFetchWithPayment(Object.assign(listening, { preconnect: () => undefined }), client)
  await paying(`http://localhost:3000${PATH}`, json('POST', body))
  return { method: 'POST', headers: Object.fromEntries(shown ?? []), body: JSON.stringify(body) }
}

/** Uses the payer's nonce for another payee first. */
async function payElsewhere(chain: TestChain, { nonce, value, validBefore }: TransferAuthorization): Promise<void> {
  const times = { value: BigInt(value), validAfter: 0n, validBefore: BigInt(validBefore) }
  const to = devAccount(8).address
  const fields = ['address from', 'address to', 'uint256 value', 'uint256 validAfter', 'uint256 validBefore']
  const types = [...fields, 'bytes32 nonce'].map((field) => {
    const [type = '', name = ''] = field.split(' ')
    return { type, name }
  })
  const once: Hex = `0x${nonce.slice(2)}`
  const signature = await PAYER.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: USDC },
    types: { TransferWithAuthorization: types },
    primaryType: 'TransferWithAuthorization',
    message: { from: PAYER.address, to, ...times, nonce: once },
  })
  const { r, s, yParity } = parseSignature(signature)
  const abi = parseAbi([
    `function transferWithAuthorization(${fields.join(', ')}, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)`,
  ])
  const args = [PAYER.address, to, times.value, times.validAfter, times.validBefore, once, 27 + yParity, r, s]
  await chain.call({ to: USDC, abi, functionName: 'transferWithAuthorization', args })
}

function heldFor(): Account {
  return { kind: 'escrow', ownerId: `payer:${PAYER.address.toLowerCase()}`, currency: 'USDC' }
}

function parseStored(raw: string | null | undefined): { to: Address; data: Hex } {
  const { to, data } = parseTransaction(`0x${(raw ?? '').slice(2)}`)
  if (!to || !data) throw new Error('Nothing was stored')
  return { to, data }
}

async function die(): Promise<never> {
  throw new Error('killed')
}
