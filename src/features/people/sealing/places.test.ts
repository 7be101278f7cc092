import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startOidcProvider } from '../../../../tests/harness/doubles/oidc-provider.ts'
import { startReceiver } from '../../../../tests/harness/doubles/receivers.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { listSealedColumns } from '../../../../tests/harness/rows/sealed-values.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { createEchoProvider } from '../../../adapters/models/echo.ts'
import { createSealer, KEPT_KEYS } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import { ProvisionResponse } from '../../agents/registry/schemas.ts'
import { gitCredentials } from '../../web-tools/browse/tables.ts'
import { setServiceCredential } from '../service-credentials/service-credentials.ts'
import { keepKeys, readKeptKey } from './kept-keys.ts'
import { findClosed, listSealed, PLACES, sealAgain } from './places.ts'

const CALLBACK = 'http://localhost:3000/api/auth/idp-b/callback'
const GIT = { origin: 'https://git.example.com', username: 'ada', password: 'a password of git' }

/** Somebody who has had something sealed in every place, each by the request that does so in service. */
async function openSealed() {
  const oidc = await startOidcProvider(CALLBACK)
  const receiver = await startReceiver()
  const it = testPlatform({
    environment: {
      SUMMARIZER_ALLOW_PRIVATE: 'true',
      IDP_B_CLIENT_ID: oidc.clientId,
      IDP_B_CLIENT_SECRET: oidc.clientSecret,
      IDP_B_ISSUER: oidc.issuer,
    },
    openProvider: () => createEchoProvider({ newId: () => 'echo_1', nowSeconds: () => 1 }),
  })
  const { user, cookie } = await it.signIn('ada@example.com', 'network')
  const send = async (method: 'POST' | 'PUT', path: string, body: unknown, headers: object = {}) => {
    const response = await it.web.request(path, json(method, body, { ...cookie, ...headers }))
    expect([path, response.ok || (await response.clone().text())]).toEqual([path, true])
    return response
  }
  const once = { prefer: 'respond-async', 'idempotency-key': 'once' }
  const provisioned = send('POST', '/api/agents/provision', { name: 'Ada' }, once)
  const { id } = (await read(ProvisionResponse, provisioned)).agent
  await send('PUT', `/api/agents/${id}/config`, { telegramToken: '1:telegram' })
  await send('PUT', `/api/browse/git-credentials?agentId=${id}`, GIT)
  const server = { name: 'weather', url: 'https://mcp.example/', bearer: 'bearer-of-weather' }
  await send('POST', `/api/agents/${id}/mcp-servers`, server)
  await send('PUT', `/api/agents/${id}/webhook-channel`, { url: receiver.url })
  await send('POST', '/api/agent', { action: 'set-credential', key: 'openai', value: 'sk-for-skills' })
  await send('POST', '/api/billing', { action: 'enable-byok', apiKey: 'sk-vendor-own-0123456789', provider: 'openai' })
  await send('POST', '/api/wallet', { action: 'create' })
  await send('POST', '/api/notices/channels', { kind: 'discord', url: receiver.url })
  await send('POST', '/api/settings/two-factor/setup', {})
  const machine = json('POST', { userId: user.id, gatewayToken: 'gw_of-elsewhere' }, bearer(INTERNAL_KEY))
  expect((await it.backend.request('/api/register-home', machine)).status).toBe(200)
  await enterTwice(oidc, openBrowser(it.web))
  await write(it.platform.db, (tx) => {
    keepKeys(tx, it.platform.sealer)
    setServiceCredential({ clock: it.clock, sealer: it.platform.sealer }, tx, 'provider-openai', 'sk-of-the-house')
  })
  return {
    ...it,
    [Symbol.asyncDispose]: async () => {
      await oidc[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

/** Signs in with a provider that gives a refresh token, and begins once more. */
async function enterTwice(
  oidc: Awaited<ReturnType<typeof startOidcProvider>>,
  browser: ReturnType<typeof openBrowser>,
): Promise<void> {
  oidc.signInAs({ sub: 'grace-1906', email: 'grace@example.com', email_verified: true, name: 'Grace' })
  const back = await oidc.visit(await browser.follow('/api/auth/idp-b'))
  expect(await browser.follow(`${back.pathname}${back.search}`)).toBe('/dashboard')
  await browser.follow('/api/auth/idp-b')
}

test('every column of the schema in which something is sealed is known, and every one that is known is there', async () => {
  await using it = await openSealed()
  const known = Object.values(PLACES).map(({ table, column }) => `${table}.${column}`)
  expect(listSealedColumns(it.platform.db)).toEqual(known.sort())
})

test('what is sealed can be opened where it is found, by the key of the installation alone', async () => {
  await using it = await openSealed()
  expect(findClosed(it.platform.db, it.platform.sealer)).toBeNull()
  expect(findClosed(it.platform.db, createSealer('another key than that'))).not.toBeNull()
})

test('sealed again with another key, every value says what it said, and the key before opens none', async () => {
  await using it = await openSealed()
  const { db, sealer } = it.platform
  const other = createSealer('the key that takes its place')
  const readAll = (by: typeof sealer) =>
    [...listSealed(db)].map(({ purpose, sealed }): [string, string] => [purpose, by.unseal(sealed, purpose)])
  const [before, sealedBefore] = [readAll(sealer), [...listSealed(db)]]
  const keptBefore = KEPT_KEYS.map((name) => sealer.deriveKey(name))

  expect(await write(db, (tx) => sealAgain(tx, sealer, other))).toBe(before.length)

  expect(readAll(other)).toEqual(before)
  for (const { sealed, purpose } of listSealed(db)) expect(() => sealer.unseal(sealed, purpose)).toThrow()
  const values = new Set(sealedBefore.map(({ sealed }) => sealed))
  expect([...listSealed(db)].filter(({ sealed }) => values.has(sealed))).toEqual([])
  expect(KEPT_KEYS.map((name) => readKeptKey(db, other, name))).toEqual(keptBefore)
})

test('a value that cannot be opened is named, and then nothing is sealed again', async () => {
  await using it = await openSealed()
  const { db, sealer } = it.platform
  await write(db, (tx) => tx.update(gitCredentials).set({ sealedPassword: 'v1.damaged' }).run())
  const rows = () => [...listSealed(db)]
  const before = rows()
  const workspace = db.select().from(gitCredentials).where(eq(gitCredentials.origin, GIT.origin)).get()?.workspace
  const again = write(db, (tx) => sealAgain(tx, sealer, createSealer('the key that takes its place')))
  await expect(again).rejects.toMatchObject({
    kind: 'invalid',
    message: `git_credentials:${workspace}:${GIT.origin} cannot be opened with the present key`,
  })
  expect(rows()).toEqual(before)
})
