import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, type Hex, namehash, parseAbi } from 'viem'
import { devAccount, hasAnvil } from '../../../../tests/harness/chain/anvil.ts'
import { ATTESTATIONS_CODE, NAMES_CODE } from '../../../../tests/harness/chain/contract-code.ts'
import { startTestChain, type TestChain } from '../../../../tests/harness/chain/test-chain.ts'
import { ownedBy } from '../../../../tests/harness/chain/wallet-contracts.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { COINBASE_ACCOUNT_SCHEMA, COINBASE_ATTESTER } from '../../../adapters/chain/attestations.ts'
import { write } from '../../../db/write.ts'
import { wallets } from '../../accounts/sign-in/tables.ts'
import { insertAgent } from '../registry/agents.ts'
import { Verification, VerificationChallenge } from './schemas.ts'

const BASE = 8453
const EAS: Address = '0x4200000000000000000000000000000000000021'
const INDEXER: Address = '0x2c7eE1E5f416dfF40054c27A62f7B357C4E8619C'
const RESOLVER: Address = '0xeeeeeeee14d718c2b47d9923deab1335e144eeee'
const WALLET = devAccount(0)
const STRANGER = devAccount(1)
const ATTESTER = devAccount(2).address
const NO_VERIFICATION: Address = `0x${'0'.repeat(40)}`
const SCHEMA: Hex = `0x${'5'.repeat(64)}`
const NONE = {
  verified: false,
  verificationType: null,
  attestationUid: null,
  verifierAddress: null,
  verifiedAt: null,
  metadata: null,
}
const EAS_ABI = parseAbi([
  'struct Attestation { bytes32 uid; bytes32 schema; uint64 time; uint64 expirationTime; uint64 revocationTime; bytes32 refUID; address recipient; address attester; bool revocable; bytes data; }',
  'function write(Attestation attestation)',
  'function index(address recipient, bytes32 schema, bytes32 uid)',
])
const NAMES_ABI = parseAbi(['function write(bytes account, string primary, bytes32 node, address forward)'])

async function openTest(rpc: { base?: string; ens?: string } = {}) {
  const environment = { ...(rpc.base && { BASE_RPC_URL: rpc.base }), ...(rpc.ens && { ENS_RPC_URL: rpc.ens }) }
  const test = testPlatform({ environment })
  const { user, cookie } = await test.signIn('ada@example.com', 'solo')
  const usual = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const agent = await write(test.platform.db, (tx) =>
    insertAgent({ clock: test.clock, sealer: test.platform.sealer }, tx, { ...usual, ownerId: user.id }),
  )
  const path = `/api/agents/${agent.id}/verify`
  const challenge = async () =>
    (await read(VerificationChallenge, test.web.request(`${path}/challenge`, { method: 'POST', headers: cookie })))
      .message
  return {
    ...test,
    user,
    cookie,
    agent,
    path,
    challenge,
    verify: (body: unknown) => test.web.request(path, json('POST', body, cookie)),
    /** Returns the wallet's fields of a request, with a newly signed challenge. */
    sign: async (account = WALLET) => {
      const message = await challenge()
      return { walletAddress: account.address, signature: await account.signMessage({ message }) }
    },
    signInWith: (address: Address) =>
      write(test.platform.db, (tx) =>
        tx
          .insert(wallets)
          .values({ chainId: BASE, address: address.toLowerCase(), userId: user.id, createdAt: test.clock.now() })
          .run(),
      ),
    show: async () => Verification.parse(await (await test.web.request(path, { headers: cookie })).json()),
  }
}

async function expectRefused(response: Response, status: number, error: string, code?: string) {
  expect([response.status, await response.json()]).toEqual([
    status,
    { error: expect.stringContaining(error), ...(code && { code }) },
  ])
}

test('GET /api/agents/:id/verify and GET /api/agents/:id/verification: 200 on both APIs when nothing is verified', async () => {
  const { web, backend, cookie, agent } = await openTest()
  for (const path of [`/api/agents/${agent.id}/verify`, `/api/agents/${agent.id}/verification`]) {
    for (const response of [
      await web.request(path, { headers: cookie }),
      await backend.request(path, { headers: bearer(INTERNAL_KEY) }),
    ]) {
      expect([response.status, await response.json()]).toEqual([200, NONE])
    }
  }
})

test('POST /api/agents/:id/verify/challenge: 201 with a message about this agent, valid for ten minutes', async () => {
  const { web, path, cookie, agent, user, clock, platform } = await openTest()
  const ask = async () => {
    const response = await web.request(`${path}/challenge`, { method: 'POST', headers: cookie })
    expect(response.status).toBe(201)
    return read(VerificationChallenge, response)
  }
  const [first, second] = [await ask(), await ask()]
  for (const part of [agent.id, user.id, platform.appUrl, first.expiresAt]) expect(first.message).toContain(part)
  expect(first.expiresAt).toBe(new Date(clock.now().getTime() + 600_000).toISOString())
  expect(second.message).not.toBe(first.message)
  expect(countRows(platform.db).verification_challenges).toBe(1)
})

test.each([
  [{}, 400, 'Invalid verification type', undefined],
  [{ verificationType: 'passport' }, 400, 'Invalid verification type', undefined],
  [{ verificationType: 'eas' }, 400, 'Attestation UID required for EAS verification', undefined],
  [{ verificationType: 'eas', attestationUid: '0x12' }, 400, 'attestationUid must be 0x and 64 hex digits', undefined],
  [{ verificationType: 'coinbase' }, 400, 'Signature required for Coinbase verification', undefined],
  [{ verificationType: 'ens' }, 400, 'Signature and wallet address required for ENS verification', undefined],
  [{ verificationType: 'ens', walletAddress: 'ada.eth' }, 400, 'walletAddress must be 0x and 40 hex digits', undefined],
  [{ verificationType: 'ens', signature: 'xx' }, 400, 'signature must be 0x and hex digits', undefined],
  [{ verificationType: 'webauthn' }, 400, 'Attestation required for WebAuthn verification', undefined],
  [{ verificationType: 'webauthn', attestationUid: 'made up' }, 503, 'no passkey can be registered', 'NOT_CONFIGURED'],
  [{ verificationType: 'eas', attestationUid: SCHEMA }, 503, 'set BASE_RPC_URL', 'NOT_CONFIGURED'],
  [
    { verificationType: 'coinbase', walletAddress: WALLET.address, signature: '0x12' },
    503,
    'set BASE_RPC_URL',
    'NOT_CONFIGURED',
  ],
  [
    { verificationType: 'ens', walletAddress: WALLET.address, signature: '0x12' },
    503,
    'set ENS_RPC_URL',
    'NOT_CONFIGURED',
  ],
])('POST /api/agents/:id/verify: when the body is %j, %d and nothing is stored', async (body, status, error, code) => {
  const { verify, platform } = await openTest()
  await expectRefused(await verify({ verified: true, ...body }), status, error, code)
  expect(countRows(platform.db).agent_verifications).toBe(0)
})

test('/api/agents/:id/verify: 401 without a session, 404 for a stranger and a missing id', async () => {
  const { web, backend, signIn, agent, platform } = await openTest()
  const eve = await signIn('eve@example.com', 'network')
  const before = dumpTables(platform.db)
  for (const id of [agent.id, 'missing-00000000']) {
    for (const [method, path] of [
      ['GET', 'verify'],
      ['GET', 'verification'],
      ['POST', 'verify'],
      ['POST', 'verify/challenge'],
      ['DELETE', 'verify'],
    ] as const) {
      const body = path === 'verify' ? { verificationType: 'webauthn' } : {}
      const ask = (api: typeof web, headers: Record<string, string>) =>
        api.request(`/api/agents/${id}/${path}`, method === 'POST' ? json('POST', body, headers) : { method, headers })
      expect((await ask(web, {})).status).toBe(401)
      expect((await ask(backend, {})).status).toBe(401)
      expect((await ask(web, eve.cookie)).status).toBe(404)
      expect((await ask(backend, { ...bearer(INTERNAL_KEY), 'x-user-id': eve.user.id })).status).toBe(404)
    }
  }
  expect(dumpTables(platform.db)).toBe(before)
})

describe.skipIf(!hasAnvil)('POST /api/agents/:id/verify on real chains', () => {
  let base: TestChain
  let main: TestChain
  const snapshots = new Map<TestChain, Hex>()
  beforeAll(async () => {
    ;[base, main] = await Promise.all([startTestChain(BASE), startTestChain(1)])
    await base.putCode(EAS, ATTESTATIONS_CODE)
    await base.putCode(INDEXER, ATTESTATIONS_CODE)
    await main.putCode(RESOLVER, NAMES_CODE)
  })
  afterAll(() => Promise.all([base?.stop(), main?.stop()]))
  beforeEach(async () => {
    for (const chain of [base, main]) {
      const id = snapshots.get(chain)
      if (id) await chain.client.revert({ id })
      snapshots.set(chain, await chain.client.snapshot())
    }
  })

  const onBoth = () => openTest({ base: base.rpcUrl, ens: main.rpcUrl })

  /** Writes an attestation for Ada's wallet. @returns its id. */
  const attest = async (fields: Record<string, unknown> = {}) => {
    const attestation = {
      uid: `0x${'e'.repeat(64)}`,
      schema: SCHEMA,
      time: 1_790_000_000n,
      expirationTime: 0n,
      revocationTime: 0n,
      refUID: `0x${'0'.repeat(64)}`,
      recipient: WALLET.address,
      attester: ATTESTER,
      revocable: true,
      data: '0x',
      ...fields,
    }
    await base.call({ to: EAS, abi: EAS_ABI, functionName: 'write', args: [attestation] })
    return attestation.uid
  }
  const name = (account: Address, primary: string, forward: Address = account) =>
    main.call({
      to: RESOLVER,
      abi: NAMES_ABI,
      functionName: 'write',
      args: [account, primary, namehash(primary.toLowerCase()), forward],
    })

  test("eas: 200 when the attestation is of the owner's wallet, shown on both APIs until removed", async () => {
    const { verify, show, signInWith, backend, web, agent, cookie, path, clock } = await onBoth()
    const attestationUid = await attest()
    await signInWith(WALLET.address)
    const response = await verify({ verificationType: 'eas', attestationUid })
    const verifiedAt = clock.now().toISOString()
    const short = { verified: true, verificationType: 'eas', attestationUid, verifiedAt }
    expect([response.status, await response.json()]).toEqual([200, { success: true, ...short }])
    expect(await show()).toEqual({
      ...short,
      verifierAddress: WALLET.address.toLowerCase(),
      metadata: { schema: SCHEMA, attester: ATTESTER, recipient: WALLET.address },
    })
    const detail = await backend.request(`/api/agents/${agent.id}`, { headers: bearer(INTERNAL_KEY) })
    expect(await detail.json()).toMatchObject(short)
    for (let count = 0; count < 2; count++) {
      const removed = await web.request(path, { method: 'DELETE', headers: cookie })
      expect([removed.status, await removed.json()]).toEqual([200, { success: true }])
    }
    expect(await show()).toEqual(NONE)
  })

  test('eas: 200 when attester or recipient signs the challenge, also a contract wallet', async () => {
    const contract: Address = '0x7777777777777777777777777777777777777777'
    await base.putCode(contract, ownedBy(WALLET.address))
    for (const [parties, account] of [
      [{ recipient: WALLET.address }, WALLET.address],
      [{ recipient: NO_VERIFICATION, attester: WALLET.address }, WALLET.address],
      [{ recipient: contract }, contract],
    ] as const) {
      const { verify, sign } = await onBoth()
      const attestationUid = await attest(parties)
      const signed = { ...(await sign()), walletAddress: account }
      expect((await verify({ verificationType: 'eas', attestationUid, ...signed })).status).toBe(200)
    }
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['is not there', { uid: `0x${'d'.repeat(64)}` }, 'There is no such attestation'],
    ['was revoked', { revocationTime: 1n }, 'The attestation was revoked'],
    ['has expired', { expirationTime: 1n }, 'The attestation has expired'],
    ['is for somebody else', { recipient: STRANGER.address }, 'neither for nor by a wallet of yours'],
  ])('eas: 400 when the attestation %s', async (_what, fields, error) => {
    const { verify, sign, signInWith, platform } = await onBoth()
    await attest(fields)
    await signInWith(WALLET.address)
    const request = { verificationType: 'eas', attestationUid: `0x${'e'.repeat(64)}` }
    await expectRefused(await verify(request), 400, error, 'VERIFICATION_FAILED')
    await expectRefused(await verify({ ...request, ...(await sign()) }), 400, error, 'VERIFICATION_FAILED')
    expect(countRows(platform.db).agent_verifications).toBe(0)
  })

  test("eas: 400 when the signature is used, expired or another user's", async () => {
    const { verify, sign, challenge, clock, platform } = await onBoth()
    const attestationUid = await attest()
    const request = { verificationType: 'eas', attestationUid, walletAddress: WALLET.address }
    const required = [400, 'Sign a new challenge', 'CHALLENGE_REQUIRED'] as const
    const signature = await WALLET.signMessage({ message: 'something else' })
    await expectRefused(await verify({ ...request, signature }), ...required)
    await challenge()
    const notTheirs = [400, 'The signature is not of this wallet', 'VERIFICATION_FAILED'] as const
    await expectRefused(await verify({ ...request, signature }), ...notTheirs)
    const byStranger = await sign(STRANGER)
    await expectRefused(await verify({ ...request, signature: byStranger.signature }), ...notTheirs)
    const other = await onBoth()
    await expectRefused(await verify({ ...request, signature: (await other.sign()).signature }), ...notTheirs)
    const late = await sign()
    clock.advance(600_000)
    await expectRefused(await verify({ ...request, ...late }), ...required)
    expect(countRows(platform.db).agent_verifications).toBe(0)
    const signed = await sign()
    const responses = await Promise.all(Array.from({ length: 20 }, () => verify({ ...request, ...signed })))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 400)).toHaveLength(19)
  })

  test('coinbase: 200 when Coinbase attests the signing wallet, found or named', async () => {
    const uid = await attest({ attester: COINBASE_ATTESTER, schema: COINBASE_ACCOUNT_SCHEMA })
    const { verify, sign, show } = await onBoth()
    const ask = async (more = {}) => verify({ verificationType: 'coinbase', ...(await sign()), ...more })
    await expectRefused(await ask(), 400, 'Coinbase has not attested this wallet', 'VERIFICATION_FAILED')
    expect((await ask({ attestationUid: uid })).status).toBe(200)
    const args = [WALLET.address, COINBASE_ACCOUNT_SCHEMA, uid]
    await base.call({ to: INDEXER, abi: EAS_ABI, functionName: 'index', args })
    expect((await ask()).status).toBe(200)
    expect(await show()).toMatchObject({ verificationType: 'coinbase', attestationUid: uid, verified: true })
  })

  test('coinbase: 400 when another party attests, or another wallet is attested', async () => {
    const { verify, sign, platform } = await onBoth()
    for (const parties of [{ attester: ATTESTER }, { attester: COINBASE_ATTESTER, recipient: STRANGER.address }]) {
      const attestationUid = await attest(parties)
      const response = await verify({ verificationType: 'coinbase', attestationUid, ...(await sign()) })
      await expectRefused(response, 400, 'not one of Coinbase for this wallet', 'VERIFICATION_FAILED')
    }
    expect(countRows(platform.db).agent_verifications).toBe(0)
  })

  test('ens: 200 when the primary name of the wallet resolves to it, on both APIs', async () => {
    await name(WALLET.address, 'ada.eth')
    const { verify, sign, show, backend, path } = await onBoth()
    expect((await verify({ verificationType: 'ens', ...(await sign()) })).status).toBe(200)
    const verifierAddress = WALLET.address.toLowerCase()
    expect(await show()).toMatchObject({ verifierAddress, metadata: { name: 'ada.eth' }, attestationUid: null })
    const { walletAddress, signature } = await sign()
    const request = { verificationType: 'ens', verified: true, verifierAddress: walletAddress }
    const ask = (body: unknown) => backend.request(path, json('POST', body, bearer(INTERNAL_KEY)))
    expect((await ask(request)).status).toBe(400)
    expect((await ask({ ...request, signature })).status).toBe(200)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['no name', async () => undefined],
    ['a name of somebody else', () => name(WALLET.address, 'vitalik.eth', STRANGER.address)],
    ['a name that leads nowhere', () => name(WALLET.address, 'ada.eth', NO_VERIFICATION)],
    ['a name that only a web page knows', () => name(WALLET.address, 'ada.web')],
    ['a name that is not in normal form', () => name(WALLET.address, 'ADA.eth')],
  ])('ens: 400 when the wallet has %s', async (_what, prepare) => {
    await prepare()
    const { verify, sign, platform } = await onBoth()
    const response = await verify({ verificationType: 'ens', ...(await sign()) })
    await expectRefused(response, 400, 'no primary ENS name that leads back', 'VERIFICATION_FAILED')
    expect(countRows(platform.db).agent_verifications).toBe(0)
  })

  test('eas: 503 when a chain does not respond, and the challenge stays valid', async () => {
    await name(WALLET.address, 'ada.eth')
    const down = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('', { status: 502 }) })
    const { verify, sign, platform } = await openTest({ base: `http://127.0.0.1:${down.port}`, ens: base.rpcUrl })
    for (const request of [{ verificationType: 'eas', attestationUid: SCHEMA }, { verificationType: 'ens' }]) {
      await expectRefused(await verify({ ...request, ...(await sign()) }), 503, 'The chain cannot be asked')
    }
    await down.stop(true)
    expect(countRows(platform.db)).toMatchObject({ agent_verifications: 0, verification_challenges: 1 })
  })
})
