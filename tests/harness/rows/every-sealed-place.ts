import { expect } from 'bun:test'
import { createEchoProvider } from '../../../src/adapters/models/echo.ts'
import { write } from '../../../src/db/write.ts'
import { keepKeys } from '../../../src/features/accounts/encryption/master-key.ts'
import { setServiceCredential } from '../../../src/features/accounts/service-credentials/service-credentials.ts'
import { ProvisionResponse } from '../../../src/features/agents/registry/schemas.ts'
import { OneMcpServer, StartedAuthorization } from '../../../src/features/conversations/mcp-servers/schemas.ts'
import { startOidcProvider } from '../doubles/oidc-provider.ts'
import { startReceiver } from '../doubles/receivers.ts'
import { INTERNAL_KEY, testPlatform } from '../platform.ts'
import { bearer, json, read } from '../requests.ts'
import { startProtectedMcp } from '../services/mcp-oauth.ts'
import { openBrowser } from '../web-client.ts'

const CALLBACK = 'http://localhost:3000/api/auth/idp-b/callback'
export const GIT = { origin: 'https://git.example.com', username: 'ada', password: 'a password of git' }

/** Creates a platform with a value in every encrypted column, each written by a regular request. */
export async function openSealed() {
  const oidc = await startOidcProvider(CALLBACK)
  const receiver = await startReceiver()
  const mcp = await startProtectedMcp('http://localhost:3000/api/mcp/callback')
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
  const ofAgent = `/api/agents/${id}/mcp-servers`
  const notes = { name: 'notes', url: mcp.url }
  const { server: protectedServer } = await read(OneMcpServer, send('POST', ofAgent, notes))
  const authorization = `${ofAgent}/${protectedServer.id}/authorization`
  const { url } = await read(StartedAuthorization, send('POST', authorization, {}))
  const back = await mcp.visit(url)
  await it.web.request(`${back.pathname}${back.search}`, { headers: cookie })
  // The second authorization stays pending.
  await send('POST', authorization, {})
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
      await mcp[Symbol.asyncDispose]()
    },
  }
}

/** Signs in with a provider that issues a refresh token, then starts another sign-in. */
async function enterTwice(
  oidc: Awaited<ReturnType<typeof startOidcProvider>>,
  browser: ReturnType<typeof openBrowser>,
): Promise<void> {
  oidc.signInAs({ sub: 'grace-1906', email: 'grace@example.com', email_verified: true, name: 'Grace' })
  const back = await oidc.visit(await browser.follow('/api/auth/idp-b'))
  expect(await browser.follow(`${back.pathname}${back.search}`)).toBe('/dashboard')
  await browser.follow('/api/auth/idp-b')
}
