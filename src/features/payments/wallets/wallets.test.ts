import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import type { TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { addAgent, fund, openPaying, PAYEE, startTokenChain, USDC } from '../../../../tests/harness/paying-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { readTokenBalance } from './balance.ts'
import { createWallet, unsealWalletKey } from './create.ts'
import { AddressBalances, WalletList, WalletState } from './schemas.ts'
import { managedWallets } from './tables.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/
const NOT_CONFIGURED = { error: 'Payment in USDC is not configured: set BASE_RPC_URL', code: 'NOT_CONFIGURED' }

test('POST /api/wallet: 200 for create with one address and an encrypted key; GET /api/wallet returns it', async () => {
  const { web, signIn, platform } = testPlatform()
  const { cookie, user } = await signIn()
  const none = await read(WalletState, web.request('/api/wallet', { headers: cookie }))
  expect(none).toEqual({
    address: null,
    balance: '0',
    network: 'base',
    hasWallet: false,
    message: 'No wallet found. Create one to get started.',
  })

  const made = await web.request('/api/wallet', json('POST', { action: 'create' }, cookie))
  expect(made.status).toBe(200)
  const body = (await made.json()) as { address: string; network: string; message: string }
  expect(body).toEqual({
    address: expect.stringMatching(ADDRESS),
    network: 'base',
    message: 'Wallet created successfully',
  })

  const again = await web.request('/api/wallet', json('POST', { action: 'create' }, cookie))
  expect(again.status).toBe(400)
  expect(await again.json()).toEqual({ error: 'Wallet already exists', address: body.address })

  const state = await read(WalletState, web.request('/api/wallet', { headers: cookie }))
  expect(state).toMatchObject({ address: body.address, hasWallet: true, balance: null })
  expect(state.balances?.[0]).toMatchObject({ currency: 'USDC', balance: null, problem: NOT_CONFIGURED.error })
  const { wallet } = await createWallet(platform, { userId: user.id, agentId: null })
  expect(privateKeyToAccount(unsealWalletKey(platform.sealer, wallet)).address.toLowerCase()).toBe(body.address)
})

test('a private key is in no response, log line or row, except encrypted', async () => {
  const { web, cookie, wallet, platform, logLines, agentId } = await openPaying(null)
  const key = unsealWalletKey(platform.sealer, wallet).slice(2)
  const asked = await Promise.all([
    web.request('/api/wallet/list', { headers: cookie }),
    web.request(`/api/wallet?agentId=${agentId}`, { headers: cookie }),
    web.request('/api/wallet', json('POST', { action: 'get_seed', agentId }, cookie)),
    web.request('/api/wallet', json('POST', { action: 'export_seed', agentId }, cookie)),
    web.request('/api/wallet/create', json('POST', { email: 'ada@example.com', agentId }, cookie)),
    web.request('/api/wallet/cdp', json('POST', { agentId }, cookie)),
    web.request('/api/settings/export', { headers: cookie }),
  ])
  const texts = await Promise.all(asked.map((response) => response.text()))
  for (const text of [...texts, ...logLines, dumpTables(platform.db)]) {
    expect(text).not.toContain(key)
    expect(text).not.toMatch(/sealedKey/)
  }
  for (const text of texts) expect(text).not.toContain(wallet.sealedKey)
  expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 403, 200, 200, 200])
})

test('POST /api/wallet: 200 with a warning and no key for get_seed, 404 without a wallet, 403 for export_seed, 400 for other actions', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const postAction = (action: string) => web.request('/api/wallet', json('POST', { action }, cookie))
  expect((await postAction('get_seed')).status).toBe(404)
  const refused = await postAction('export_seed')
  expect(refused.status).toBe(403)
  expect(await refused.json()).toEqual({
    error: 'Seed export is disabled for security. Contact support if you need your private key.',
  })
  const unknown = await postAction('sell')
  expect([unknown.status, await unknown.json()]).toEqual([400, { error: 'Invalid action' }])
})

test('GET, POST /api/wallet/cdp: 200 with the supported kinds; 400 for a private key, and no wallet is created', async () => {
  const { web, signIn, platform } = testPlatform()
  const { cookie } = await signIn()
  const body = { privateKey: `0x${'1'.repeat(64)}` }
  const response = await web.request('/api/wallet/cdp', json('POST', body, cookie))
  expect(response.status).toBe(400)
  expect(countRows(platform.db).managed_wallets).toBe(0)
  const kinds = await web.request('/api/wallet/cdp')
  expect(await kinds.json()).toEqual({ status: 'ok', type: 'evm_wallet', supportedChains: ['base', 'tempo'] })
})

test('GET, POST /api/wallet/create: 400 without the account’s address, and the same wallet the second time', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn('ada@example.com')
  const create = (body: object) => web.request('/api/wallet/create', json('POST', body, cookie))
  expect(await (await create({})).json()).toEqual({ error: 'Email required' })
  expect((await create({ email: 'bo@example.com' })).status).toBe(400)
  const [one, other] = await Promise.all([create({ email: 'Ada@example.com' }), create({ email: 'ada@example.com' })])
  const made = await one.json()
  expect(made).toEqual({
    success: true,
    walletAddress: expect.stringMatching(ADDRESS),
    walletId: expect.stringMatching(/^wal_/),
    networks: ['base', 'tempo'],
  })
  expect(await other.json()).toEqual(made)
  const { walletAddress, networks } = z.object({ walletAddress: z.string(), networks: z.array(z.string()) }).parse(made)
  const shown = await web.request('/api/wallet/create', { headers: cookie })
  expect(await shown.json()).toEqual({ hasWallet: true, walletAddress, networks, required: ['email'] })
  expect((await web.request('/api/wallet/create')).status).toBe(401)
})

test('GET, POST /api/wallet/address: 200 with null, then with the stored address; 401 with its own message', async () => {
  const { web, signIn } = testPlatform()
  const { cookie } = await signIn()
  const stranger = await web.request('/api/wallet/address')
  expect(stranger.status).toBe(401)
  expect(await stranger.json()).toEqual({ error: 'Unauthorized', authenticated: false, needsAuth: true })
  const ask = async () => (await web.request('/api/wallet/address', { headers: cookie })).json()
  expect(await ask()).toEqual({
    authenticated: true,
    address: null,
    message: 'No Base wallet linked. Sign in with Base to use send and receive.',
  })
  await web.request('/api/wallet', json('POST', { action: 'create' }, cookie))
  expect(await ask()).toEqual({
    authenticated: true,
    address: expect.stringMatching(ADDRESS),
    network: 'base',
    type: 'managed',
    source: 'managed',
  })
  const posted = await web.request('/api/wallet/address', json('POST', {}, cookie))
  expect(await posted.json()).toEqual(await ask())
  expect((await web.request('/api/wallet/address', json('POST', {}))).status).toBe(401)
})

test('/api/wallet: 404 for another user’s agent on every route, and wallets are listed only for their owner', async () => {
  const { web, agentId, signIn, wallet } = await openPaying(null)
  const { cookie } = await signIn('mallory@example.com')
  const asked = [
    web.request(`/api/wallet?agentId=${agentId}`, { headers: cookie }),
    web.request('/api/wallet', json('POST', { action: 'create', agentId }, cookie)),
    web.request('/api/wallet/cdp', json('POST', { agentId }, cookie)),
    web.request('/api/wallet/create', json('POST', { email: 'mallory@example.com', agentId }, cookie)),
    web.request('/api/wallet/policy', json('PATCH', { agentId, frozen: false }, cookie)),
    web.request('/api/wallet/send', json('POST', { agentId, recipient: PAYEE, amount: 1 }, cookie)),
    web.request(`/api/wallet/payments?agentId=${agentId}`, { headers: cookie }),
  ]
  for (const response of await Promise.all(asked)) expect(response.status).toBe(404)
  const listed = await read(WalletList, web.request('/api/wallet/list', { headers: cookie }))
  expect(listed.wallets).toEqual([])
  expect(JSON.stringify(listed)).not.toContain(wallet.address)
})

test('a wallet and its key are kept when its agent and account are deleted', async () => {
  const test = await openPaying(null)
  const { platform, wallet, user } = test
  const deleted = await test.web.request(`/api/agents/${test.agentId}`, { method: 'DELETE', headers: test.cookie })
  expect(deleted.status).toBe(200)
  const listed = await read(WalletList, test.web.request('/api/wallet/list', { headers: test.cookie }))
  expect(listed.wallets).toMatchObject([{ address: wallet.address, agentId: null, kind: 'agent' }])
  const second = await addAgent(test, user.id)
  const { wallet: other } = await createWallet(platform, { userId: user.id, agentId: second })
  expect(other.address).not.toBe(wallet.address)

  const confirmed = json('DELETE', { confirm: user.email }, test.cookie)
  expect((await test.web.request('/api/settings/account', confirmed)).status).toBe(200)
  const kept = platform.db.select().from(managedWallets).all()
  expect(kept.map(({ address, userId }) => [address, userId]).sort()).toEqual(
    [
      [wallet.address, null],
      [other.address, null],
    ].sort(),
  )
  expect(
    kept.map((row) => privateKeyToAccount(unsealWalletKey(platform.sealer, row)).address.toLowerCase()).sort(),
  ).toEqual(kept.map(({ address }) => address).sort())
})

describe.skipIf(!hasAnvil)('on a chain', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await startTokenChain(8453, USDC)
  })
  afterAll(() => chain.stop())

  test('GET /api/wallet?address=: 200 with exact holdings, without a session', async () => {
    const { web } = await openPaying(chain.rpcUrl)
    await fund(chain, USDC, PAYEE, 9_007_199_254_740_993n)
    const body = await read(AddressBalances, web.request(`/api/wallet?address=${PAYEE}`))
    expect(body).toMatchObject({ address: PAYEE, chain: 'Base', chainId: 8453, testnet: false })
    expect(body.primaryToken).toMatchObject({
      address: USDC,
      symbol: 'USDC',
      decimals: 6,
      balance: '9007199254.740993',
      balanceRaw: '9007199254740993',
    })
    expect(body.nativeBalance).toMatchObject({ address: 'native', symbol: 'ETH', decimals: 18, balance: '1' })
    expect(body.allTokens).toHaveLength(2)
    const bad = await web.request('/api/wallet?address=0x12')
    expect([bad.status, await bad.json()]).toEqual([400, { error: 'Valid address parameter required' }])
  })

  test('GET /api/wallet: 200 with the balance of an agent', async () => {
    const { web, cookie, agentId, wallet, platform } = await openPaying(chain.rpcUrl)
    await fund(chain, USDC, wallet.address, 1_500_001n)
    const state = await read(WalletState, web.request(`/api/wallet?agentId=${agentId}`, { headers: cookie }))
    expect(state).toMatchObject({ address: wallet.address, balance: '1.500001', network: 'base' })
    expect(await readTokenBalance(platform.tokenChains, 'USDC', wallet.address)).toBe(1_500_001n)
  })

  test('GET /api/wallet?address=: 503 with the setting when there is no chain, 500 when it is another chain', async () => {
    const without = await openPaying(null)
    const response = await without.web.request(`/api/wallet?address=${PAYEE}`)
    expect([response.status, await response.json()]).toEqual([503, NOT_CONFIGURED])
    const other = await openPaying(chain.rpcUrl, { environment: { SIWE_CHAIN_ID: '84532' } })
    const failed = await other.web.request(`/api/wallet?address=${PAYEE}`)
    expect([failed.status, await failed.json()]).toEqual([500, { error: 'Failed to fetch wallet data' }])
  })
})
