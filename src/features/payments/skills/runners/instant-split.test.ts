import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { hasAnvil } from '../../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../../tests/harness/chain/test-chain.ts'
import { fund, openPaying, readToken, startTokenChain, USDC } from '../../../../../tests/harness/paying-platform.ts'
import { json, read } from '../../../../../tests/harness/requests.ts'
import { until } from '../../../../../tests/harness/until.ts'
import { followSplits } from '../../splits/settle-split.ts'
import { settlePayments } from '../../wallets/decide.ts'

const DOLLAR = 1_000_000n
const Answer = z.looseObject({ success: z.literal(true) })
const Prepared = z.looseObject({ split: z.looseObject({ id: z.number() }) })

let payees = 0
const newPayee = () => `0x${(++payees).toString(16).padStart(40, 'd')}`

async function openTestPlatform(rpcUrl: string | null) {
  const paying = await openPaying(rpcUrl)
  const { web, cookie, agentId } = paying
  const use = (skill: string, body: object, headers: Record<string, string> = cookie) =>
    web.request(`/api/skills/${skill}`, json('POST', body, headers))
  const split = (action: string, body: object = {}) => use('instant-split', { action, agentId, ...body })
  const addRule = (recipientAddress: string, percentage: number | string, threshold: number | string = 0) =>
    split('create_split_rule', { splits: { recipientAddress, percentage, name: 'Bo' }, threshold })
  return { ...paying, use, split, addRule }
}

test('POST /api/skills/instant-split: 200 stores own rules, 400 when shares exceed 100 %', async () => {
  const { split, addRule, use, signIn } = await openTestPlatform(null)
  const { rule } = await read(z.looseObject({ rule: z.looseObject({ id: z.string() }) }), addRule(newPayee(), 60))
  expect(rule).toMatchObject({ percentage: 60, role: 'artist', name: 'Bo', minimumThreshold: 0 })
  expect((await addRule(newPayee(), 40.000001)).status).toBe(400)
  const incomplete = await split('create_split', { amount: '1', release: 'May' })
  expect([incomplete.status, await incomplete.json()]).toEqual([
    400,
    { error: 'Your rules add up to 60 percent, not to 100' },
  ])
  const eve = await signIn('eve@example.com', 'network')
  const remove = { action: 'delete_split_rule', ruleId: rule.id }
  expect((await use('instant-split', remove, eve.cookie)).status).toBe(404)
  expect(await read(Answer, use('instant-split', { action: 'list_rules' }, eve.cookie))).toMatchObject({ rules: [] })
  expect((await use('instant-split', remove)).status).toBe(200)
  expect(await read(Answer, split('list_rules'))).toMatchObject({ rules: [] })
  for (const body of [{}, { splits: {} }, { splits: { recipientAddress: newPayee(), percentage: '1e1', name: 'x' } }]) {
    expect((await split('create_split_rule', body)).status).toBe(400)
  }
})

test('POST /api/skills/instant-split: 200 for simulate without a payment; GET describes the skill', async () => {
  const { split, web } = await openTestPlatform(null)
  expect(await read(Answer, split('simulate'))).toMatchObject({
    input: { streams: 100_000, rate: '0.003' },
    estimatedEarnings: '300.00',
    splits: [
      { role: 'artist', percentage: 50, amount: '150.00' },
      { role: 'label', amount: '75.00' },
      { role: 'producer', amount: '75.00' },
    ],
  })
  for (const body of [{ streams: 1.5 }, { rate: 1e-7 }, { rate: 'x' }, { streams: 1e9, rate: '1000000000' }]) {
    expect((await split('simulate', body)).status).toBe(400)
  }
  expect(await (await web.request('/api/skills/instant-split')).json()).toMatchObject({
    skill: 'instant-split',
    category: 'payments',
    triggers: ['streaming', 'sync', 'booking', 'manual'],
  })
})

test('POST /api/skills/instant-split: 404 for a stranger’s split and agent, 503 for a balance without a chain', async () => {
  const { split, addRule, use, signIn, agentId } = await openTestPlatform(null)
  await addRule(newPayee(), 100)
  const { split: prepared } = await read(Prepared, split('create_split', { amount: '3', release: 'May' }))
  const eve = await signIn('eve@example.com', 'network')
  const asEve = (body: object) => use('instant-split', body, eve.cookie)
  expect((await asEve({ action: 'execute_split', splitId: prepared.id })).status).toBe(404)
  expect((await asEve({ action: 'get_balance', agentId })).status).toBe(404)
  expect((await asEve({ action: 'create_split', amount: '1', release: 'x', agentId })).status).toBe(404)
  expect((await split('execute_split', { splitId: 99 })).status).toBe(404)
  expect((await split('get_balance')).status).toBe(503)
  expect((await split('fly')).status).toBe(400)
})

describe.skipIf(!hasAnvil)('instant splits on a chain', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTokenChain(8453, USDC)
  })
  afterAll(() => chain.stop())

  test('pay once when executed 200 times at once, keep a share below its threshold, and royalty-tracker adds up', async () => {
    const { split, addRule, use, platform, clock, wallet } = await openTestPlatform(chain.rpcUrl)
    await fund(chain, USDC, wallet.address, 100n * DOLLAR)
    const [big, small] = [newPayee(), newPayee()]
    await addRule(big, '66.666666')
    await addRule(small, '33.333334', '20')
    const { split: prepared } = await read(Prepared, split('create_split', { amount: '30', release: 'May' }))
    expect(prepared).toMatchObject({ amount: '30000000', status: 'pending', release: 'May' })
    await followSplits(platform)
    expect(await read(Answer, split('list_pending'))).toMatchObject({
      splits: [{ id: prepared.id, status: 'pending' }],
    })
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => split('execute_split', { splitId: prepared.id })),
    )
    const [done, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    expect(await done?.json()).toMatchObject({
      splitId: prepared.id,
      results: [
        { address: big, amount: '20000000', status: 'pending' },
        { address: small, amount: '10000000', status: 'skipped' },
      ],
      summary: { total: '30 USDC', skipped: 1 },
    })
    const refused = await split('execute_split', { splitId: prepared.id })
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'Split already processed' }])
    await until('the end of the split', async () => {
      await followSplits(platform)
      await settlePayments(platform)
      clock.advance(2000)
      const { splits } = await read(z.looseObject({ splits: z.array(z.unknown()) }), split('list_pending'))
      return splits.length === 0
    })
    expect(await readToken(chain, USDC, big)).toBe(20n * DOLLAR)
    expect(await readToken(chain, USDC, small)).toBe(0n)
    expect(await read(Answer, split('get_balance'))).toMatchObject({
      balance: '80.00',
      pending: '0.00',
      currency: 'USDC',
    })
    expect(await read(Answer, use('royalty-tracker', { action: 'total' }))).toMatchObject({
      totalPaid: '20.00',
      totalOpen: '0.00',
      recipients: [{ address: big, paid: '20.00', open: '0.00' }],
    })
    expect(await read(Answer, use('royalty-tracker', { action: 'list' }))).toMatchObject({
      royalties: [{ status: 'settled', recipients: [{ status: 'succeeded' }, { status: 'skipped' }] }],
    })
  })
})
