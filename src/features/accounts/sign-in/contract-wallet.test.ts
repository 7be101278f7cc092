import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, concatHex, encodeAbiParameters, type Hex, parseAbiParameters } from 'viem'
import { type Anvil, devAccount, hasAnvil, startAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { siweMessage } from '../../../../tests/harness/chain/siwe.ts'
import {
  CREATE2_FACTORY,
  counterfactual,
  ownedBy,
  REFUSING,
  WRITING,
  WRITING_FACTORY,
} from '../../../../tests/harness/chain/wallet-contracts.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { createChain } from '../../../adapters/chain/chain.ts'
import { NonceResponse } from './schemas.ts'

const BASE = 8453
const OWNER = devAccount(0)
const STRANGER = devAccount(1)
const INVALID_SIGNATURE = [401, { error: 'Invalid signature' }]
const AUTH_FAILED = [500, { error: 'Auth failed' }]

/** A sign-in as the wallet at `address` with whatever `sign` makes of the message; its status and body. */
async function signIn(rpcUrl: string | null, address: Address, sign: (message: string) => Promise<Hex>) {
  const { web, platform, clock } = testPlatform({ environment: rpcUrl ? { BASE_RPC_URL: rpcUrl } : {} })
  const { nonce } = await read(NonceResponse, web.request('/api/auth/nonce'))
  const message = siweMessage({ address, nonce, issuedAt: clock.now().toISOString() })
  const response = await web.request(
    '/api/wallet-auth',
    json('POST', { address, message, signature: await sign(message) }),
  )
  const rows = countRows(platform.db)
  expect(rows.wallet_nonces).toBe(0)
  expect(rows.sessions).toBe(response.status === 200 ? 1 : 0)
  return [response.status, await response.json()]
}

const byOwner = (message: string) => OWNER.signMessage({ message })
const byStranger = (message: string) => STRANGER.signMessage({ message })

/** A signature of a wallet that is not deployed yet (ERC-6492): its deployment and the inner signature. */
function wrap(factory: Address, factoryData: Hex, sign: (message: string) => Promise<Hex>) {
  return async (message: string) => {
    const inner = encodeAbiParameters(parseAbiParameters('address, bytes, bytes'), [
      factory,
      factoryData,
      await sign(message),
    ])
    return concatHex([inner, `0x${'6492'.repeat(16)}`])
  }
}

describe.skipIf(!hasAnvil)('POST /api/wallet-auth for contract wallets on a real chain', () => {
  let anvil: Anvil
  let wallet: Address
  beforeAll(async () => {
    anvil = await startAnvil(BASE)
    wallet = await anvil.deploy(ownedBy(OWNER.address))
  })
  afterAll(() => anvil?.stop())

  test('200 when the owner of a deployed wallet signed', async () => {
    const [status] = await signIn(anvil.rpcUrl, wallet, byOwner)
    expect(status).toBe(200)
  })

  test.each<[string, (message: string) => Promise<Hex>]>([
    ['somebody else signed', byStranger],
    ['the owner signed something else', () => byOwner('something else')],
    ['nobody signed', async () => '0x'],
    ['16 KB of nothing were sent', async () => `0x${'00'.repeat(16 * 1024)}`],
  ])('401 when a wallet is deployed and %s', async (_what, sign) => {
    expect(await signIn(anvil.rpcUrl, wallet, sign)).toEqual(INVALID_SIGNATURE)
  })

  test.each(Object.entries(REFUSING))('401 when the contract %s', async (_what, code) => {
    expect(await signIn(anvil.rpcUrl, await anvil.deploy(code), byOwner)).toEqual(INVALID_SIGNATURE)
  })

  test('401 when the contract writes, because it is called read-only', async () => {
    const writing = await anvil.deploy(WRITING)
    expect(await signIn(anvil.rpcUrl, writing, byOwner)).toEqual(INVALID_SIGNATURE)
    expect(BigInt((await anvil.storageAt(writing, '0x0')) ?? '0x0')).toBe(0n)
  })

  test('200 when the wallet is not deployed yet, which does not deploy it', async () => {
    const { address, factoryData } = counterfactual(OWNER.address, '0x01')
    const block = await anvil.blockNumber()
    expect((await signIn(anvil.rpcUrl, address, wrap(CREATE2_FACTORY, factoryData, byOwner)))[0]).toBe(200)
    expect(await anvil.codeAt(address)).toBeUndefined()
    expect(await anvil.blockNumber()).toBe(block)
  })

  test('200 for the same signature when the wallet is deployed later, wrapped or not', async () => {
    const { address, factoryData } = counterfactual(OWNER.address, '0x02')
    await anvil.send(CREATE2_FACTORY, factoryData)
    expect((await signIn(anvil.rpcUrl, address, wrap(CREATE2_FACTORY, factoryData, byOwner)))[0]).toBe(200)
    expect((await signIn(anvil.rpcUrl, address, byOwner))[0]).toBe(200)
  })

  test('401 when another account signed for a wallet that is not deployed', async () => {
    const { address, factoryData } = counterfactual(OWNER.address, '0x03')
    const sign = wrap(CREATE2_FACTORY, factoryData, byStranger)
    expect(await signIn(anvil.rpcUrl, address, sign)).toEqual(INVALID_SIGNATURE)
  })

  test('401 when the factory deploys another contract than the wallet', async () => {
    const { address } = counterfactual(OWNER.address, '0x04')
    const others = counterfactual(STRANGER.address, '0x04')
    const sign = wrap(CREATE2_FACTORY, others.factoryData, byStranger)
    expect(await signIn(anvil.rpcUrl, address, sign)).toEqual(INVALID_SIGNATURE)
  })

  test('401 when the factory deploys nothing; its state changes are discarded', async () => {
    const factory = await anvil.deploy(WRITING_FACTORY)
    expect(await signIn(anvil.rpcUrl, OWNER.address, wrap(factory, '0x', byStranger))).toEqual(INVALID_SIGNATURE)
    expect(BigInt((await anvil.storageAt(factory, '0x0')) ?? '0x0')).toBe(0n)
  })

  test('401 when the factory reverts, has no code, or the wrapping is malformed', async () => {
    const { address, factoryData } = counterfactual(OWNER.address, '0x05')
    const refusing = await anvil.deploy(REFUSING.reverts ?? '0x')
    expect(await signIn(anvil.rpcUrl, address, wrap(refusing, factoryData, byOwner))).toEqual(INVALID_SIGNATURE)
    expect(await signIn(anvil.rpcUrl, address, wrap(STRANGER.address, '0x', byOwner))).toEqual(INVALID_SIGNATURE)
    const broken = async () => concatHex(['0x1234', `0x${'6492'.repeat(16)}`])
    expect(await signIn(anvil.rpcUrl, address, broken)).toEqual(INVALID_SIGNATURE)
  })

  test('401 when the signature of a plain account is another account’s, or the address is a precompile', async () => {
    expect(await signIn(anvil.rpcUrl, OWNER.address, byStranger)).toEqual(INVALID_SIGNATURE)
    expect(await signIn(anvil.rpcUrl, '0x0000000000000000000000000000000000000004', byOwner)).toEqual(INVALID_SIGNATURE)
  })

  test('500 when the RPC serves another chain', async () => {
    await using mainnet = await startAnvil(1)
    const there = await mainnet.deploy(ownedBy(OWNER.address))
    expect(await signIn(mainnet.rpcUrl, there, byOwner)).toEqual(AUTH_FAILED)
    expect((await signIn(mainnet.rpcUrl, OWNER.address, byOwner))[0]).toBe(200)
  })

  test('500 when the chain is unreachable, 200 for a plain account', async () => {
    await using chain = await startAnvil(BASE)
    const there = await chain.deploy(ownedBy(OWNER.address))
    await chain.stop()
    expect(await signIn(chain.rpcUrl, there, byOwner)).toEqual(AUTH_FAILED)
    expect((await signIn(chain.rpcUrl, OWNER.address, byOwner))[0]).toBe(200)
  })
})

/** An RPC that answers the first questions as a chain would, and everything else with `answer`. */
function startRpc(answer: (id: unknown) => Response | Promise<Response>) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { id, method } = JSON.parse(await request.text())
      if (method === 'eth_chainId') return Response.json({ jsonrpc: '2.0', id, result: '0x2105' })
      if (method === 'eth_getCode') return Response.json({ jsonrpc: '2.0', id, result: '0x00' })
      return answer(id)
    },
  })
  return { rpcUrl: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}

const error = (code: number, message: string) => (id: unknown) =>
  Response.json({ jsonrpc: '2.0', id, error: { code, message } })
test.each<[string, (id: unknown) => Response | Promise<Response>, unknown[]]>([
  ['answers 500', () => new Response('no', { status: 500 }), AUTH_FAILED],
  ['answers 429', () => new Response('slow down', { status: 429 }), AUTH_FAILED],
  ['shows a page', () => new Response('<h1>RPC</h1>', { headers: { 'content-type': 'text/html' } }), AUTH_FAILED],
  ['has no such method', error(-32601, 'the method does not exist'), AUTH_FAILED],
  ['is over its limit', error(-32005, 'limit exceeded'), AUTH_FAILED],
  ['has lost its state', error(-32000, 'missing trie node'), AUTH_FAILED],
  ['answers nothing', (id) => Response.json({ jsonrpc: '2.0', id, result: '0x' }), AUTH_FAILED],
  [
    'answers something else',
    (id) => Response.json({ jsonrpc: '2.0', id, result: `0x${'01'.repeat(32)}` }),
    AUTH_FAILED,
  ],
  ['reports a revert', error(3, 'execution reverted'), INVALID_SIGNATURE],
  ['reports a revert in other words', error(-32000, 'execution reverted: no'), INVALID_SIGNATURE],
  ['reports that the gas is used up', error(-32000, 'out of gas'), INVALID_SIGNATURE],
])('POST /api/wallet-auth: an error for a contract wallet when the RPC %s', async (_what, answer, expected) => {
  await using rpc = startRpc(answer)
  expect(await signIn(rpc.rpcUrl, STRANGER.address, byOwner)).toEqual(expected)
})

test('verifySignature rejects after its timeout when the RPC does not answer', async () => {
  await using rpc = startRpc(() => new Promise(() => undefined))
  const chain = createChain({ rpcUrl: rpc.rpcUrl, chainId: BASE, timeoutMs: 100 })
  const message = 'hello'
  const asked = chain.verifySignature({ address: STRANGER.address, message, signature: await byOwner(message) })
  await expect(asked).rejects.toMatchObject({ kind: 'unavailable' })
})

test('POST /api/wallet-auth: 200 for plain accounts and an error for contract wallets when no RPC is set', async () => {
  expect((await signIn(null, OWNER.address, byOwner))[0]).toBe(200)
  expect(await signIn(null, OWNER.address, byStranger)).toEqual(INVALID_SIGNATURE)
  const { address, factoryData } = counterfactual(OWNER.address, '0x06')
  expect(await signIn(null, address, wrap(CREATE2_FACTORY, factoryData, byOwner))).toEqual(AUTH_FAILED)
})

test('the URL of the RPC, which may contain a key, is in no error and no log', async () => {
  const { web, logLines, clock } = testPlatform({ environment: { BASE_RPC_URL: 'http://127.0.0.1:1/key-0123456789' } })
  const { nonce } = await read(NonceResponse, web.request('/api/auth/nonce'))
  const message = siweMessage({ address: OWNER.address, nonce, issuedAt: clock.now().toISOString() })
  const body = { address: OWNER.address, message, signature: await byStranger(message) }
  const response = await web.request('/api/wallet-auth', json('POST', body))
  expect(response.status).toBe(500)
  expect(logLines.join('\n')).toContain('The chain cannot be asked')
  expect(`${await response.text()}${logLines.join('\n')}`).not.toContain('key-0123456789')
})
