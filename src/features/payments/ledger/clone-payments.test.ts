import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, type Hex, parseAbi } from 'viem'
import { devAccount, hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { startTokenChain } from '../../../../tests/harness/paying-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { MAIL_JOB, MailRequest } from '../../accounts/notifications/send-mail.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { followClonePayments } from '../../agents/cloning/follow-payments.ts'
import { clonePayments } from '../../agents/cloning/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { WebAgentDetail } from '../../agents/registry/schemas.ts'
import { platformAccount } from './accounts.ts'
import { readBalance } from './post.ts'
import { ledgerEntries } from './tables.ts'

const CHAIN_ID = 4217
const TOKEN: Address = '0x1111111111111111111111111111111111111111'
const TREASURY: Address = '0x3333333333333333333333333333333333333333'
const ABI = parseAbi(['function mint(address to, uint256 amount)', 'function transfer(address to, uint256 amount)'])

/** A platform on `rpcUrl` with Ada, who has an agent and a sign-in wallet. */
async function openTestPlatform(rpcUrl: string) {
  const environment = { CLONE_RPC_URL: rpcUrl, CLONE_TOKEN_ADDRESS: TOKEN, CLONE_PAY_TO: TREASURY }
  const test = testPlatform({ environment })
  const { platform, clock } = test
  const { user, cookie } = await test.signIn('ada@example.com', 'network')
  const usual = { name: 'Ada', model: 'a/b', plan: 'solo', aiProvider: 'groq', status: 'running' } as const
  const parent = await write(platform.db, (tx) => {
    const address = devAccount(0).address.toLowerCase()
    tx.insert(wallets).values({ chainId: 8453, address, userId: user.id, createdAt: clock.now() }).run()
    return insertAgent(platform, tx, { ...usual, ownerId: user.id })
  })
  const clone = (transactionHash: Hex) => {
    const payers = { from: devAccount(0).address, to: TREASURY, timestamp: Math.floor(Date.now() / 1000) }
    const paymentProof = { transactionHash, amount: '1', currency: 'pathUSD', chainId: CHAIN_ID, ...payers }
    return test.web.request(
      '/api/agents/clone',
      json('POST', { parentAgentId: parent.id, name: 'Bo', paymentProof }, cookie),
    )
  }
  return {
    ...test,
    clone,
    sales: () => readBalance(platform.db, platformAccount('sales', 'pathUSD')),
    payment: () => platform.db.select().from(clonePayments).get(),
    causes: () => platform.db.select({ cause: ledgerEntries.cause }).from(ledgerEntries).all().length,
    flags: () =>
      platform.db
        .select()
        .from(auditLog)
        .all()
        .map(({ action }) => action)
        .filter((action) => action.startsWith('clone.')),
    /** The clone as its owner sees it. */
    shownUndone: async () => {
      const { agentId } = platform.db.select().from(clonePayments).get() ?? {}
      const detail = test.web.request(`/api/agents/${agentId}`, { headers: cookie })
      return (await read(WebAgentDetail, detail)).paymentUndoneAt
    },
    mails: () =>
      platform.db
        .select()
        .from(jobs)
        .all()
        .flatMap(({ kind, payload }) => (kind === MAIL_JOB ? [MailRequest.parse(payload).mail] : [])),
    look: async () => {
      clock.advance(31_000)
      await Promise.all([followClonePayments(platform), followClonePayments(platform)])
    },
  }
}

describe.skipIf(!hasAnvil)('payments for clones in the ledger', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTokenChain(CHAIN_ID, TOKEN)
    await chain.call({ to: TOKEN, abi: ABI, functionName: 'mint', args: [devAccount(0).address, 1_000_000_000n] })
  })
  afterAll(() => chain.stop())
  let before: Hex
  beforeEach(async () => {
    before = await chain.client.snapshot()
  })
  const pay = (amount: bigint) =>
    chain.call({ to: TOKEN, abi: ABI, functionName: 'transfer', args: [TREASURY, amount] })

  test('are posted once as a sale, and are final after twelve blocks', async () => {
    const { clone, sales, payment, look, flags, causes } = await openTestPlatform(chain.rpcUrl)
    const hash = await pay(2_500_000n)
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await clone(hash)).status))
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect([sales(), causes()]).toEqual([2_500_000, 1])
    await look()
    expect(payment()).toMatchObject({ amountMicroUsd: 2_500_000, undoneAt: null, checkAt: expect.any(Date) })
    await chain.client.mine({ blocks: 12 })
    await look()
    expect(payment()).toMatchObject({ undoneAt: null, checkAt: null })
    expect([sales(), flags()]).toEqual([2_500_000, []])
  })

  test('are reversed once when a reorganization removes them, and posted again when they return', async () => {
    const { clone, sales, payment, look, flags, logLines, shownUndone, mails } = await openTestPlatform(chain.rpcUrl)
    const hash = await pay(1_000_000n)
    const raw = await chain.client.request({ method: 'eth_getRawTransactionByHash' as never, params: [hash] as never })
    expect((await clone(hash)).status).toBe(200)
    await chain.client.revert({ id: before })
    await look()
    await look()
    expect(payment()?.undoneAt).toBeInstanceOf(Date)
    expect([sales(), flags()]).toEqual([0, ['clone.payment.undone']])
    expect(await shownUndone()).toEqual(payment()?.undoneAt?.toISOString() ?? '')
    expect(mails()).toEqual(['clone-payment-undone'])
    expect(logLines.filter((line) => line.includes('took back the payment for a clone'))).toHaveLength(1)
    await chain.client.sendRawTransaction({ serializedTransaction: raw as Hex })
    await look()
    await look()
    expect(payment()?.undoneAt).toBeNull()
    expect([sales(), flags()]).toEqual([1_000_000, ['clone.payment.undone', 'clone.payment.restored']])
    expect([await shownUndone(), mails()]).toEqual([null, ['clone-payment-undone']])
  })

  test('stay unchanged when the chain does not respond', async () => {
    const { clone, sales, payment, look, platform } = await openTestPlatform(chain.rpcUrl)
    expect((await clone(await pay(1_000_000n))).status).toBe(200)
    const dead = testPlatform({
      environment: { CLONE_RPC_URL: 'http://127.0.0.1:1', CLONE_TOKEN_ADDRESS: TOKEN, CLONE_PAY_TO: TREASURY },
    })
    const { clonePayments: unreachable } = dead.platform
    await followClonePayments({
      ...platform,
      clock: { now: () => new Date(Date.now() + 60_000) },
      clonePayments: unreachable,
    })
    expect(payment()).toMatchObject({ undoneAt: null, checkAt: expect.any(Date) })
    await look()
    expect(sales()).toBe(1_000_000)
  })
})
