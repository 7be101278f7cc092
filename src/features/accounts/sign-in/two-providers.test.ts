import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startGithubDouble } from '../../../../tests/harness/doubles/github.ts'
import { startOidcProvider } from '../../../../tests/harness/doubles/oidc-provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { openBrowser } from '../../../../tests/harness/web-client.ts'
import { write } from '../../../db/write.ts'
import { SessionResponse } from '../registration/schemas.ts'
import { users } from '../users/tables.ts'
import { identities } from './tables.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse battery' }

/** Starts a platform without mail and with two trusted identity providers. Ada has the same address at both. */
async function withTwoProviders() {
  const [github, oidc] = await Promise.all([
    startGithubDouble(),
    startOidcProvider('http://localhost:3000/api/auth/idp-b/callback'),
  ])
  github.signInAs({
    id: 1815,
    login: 'ada',
    name: 'Ada',
    emails: [{ email: ADA.email, primary: true, verified: true }],
  })
  oidc.signInAs({ sub: 'ada-1815', email: ADA.email, email_verified: true, name: 'Ada' })
  const test = testPlatform({
    environment: {
      ...github.environment,
      IDP_B_CLIENT_ID: oidc.clientId,
      IDP_B_CLIENT_SECRET: oidc.clientSecret,
      IDP_B_ISSUER: oidc.issuer,
    },
  })
  /** Comes from a provider in a browser of its own: where the callback leads, and who that is. */
  const comeFrom = async (name: 'idp-a' | 'idp-b') => {
    const browser = openBrowser(test.web)
    const back = await (name === 'idp-a' ? github : oidc).visit(await browser.follow(`/api/auth/${name}`))
    const to = await browser.follow(`${back.pathname}${back.search}`)
    const { user } = await read(SessionResponse, browser.request('/api/auth/session'))
    return { to, id: user?.id ?? null }
  }
  return {
    ...test,
    comeFrom,
    register: () => test.web.request('/api/register', json('POST', ADA)),
    async [Symbol.asyncDispose]() {
      await Promise.all([github[Symbol.asyncDispose](), oidc[Symbol.asyncDispose]()])
    },
  }
}

test('GET /api/auth/idp-b/callback: 302 and the same account when another provider verified the address', async () => {
  await using it = await withTwoProviders()
  await it.register()
  const first = await it.comeFrom('idp-a')
  expect(first).toEqual({ to: '/dashboard', id: expect.any(String) })
  expect(await it.comeFrom('idp-b')).toEqual(first)
  expect(it.platform.db.select().from(identities).all()).toHaveLength(2)
})

test('GET /api/auth/idp-b/callback: 302 to IdpAuthError when the other provider verified another address', async () => {
  await using it = await withTwoProviders()
  await it.register()
  await it.comeFrom('idp-a')
  // The account has since taken an unverified address.
  await write(it.platform.db, (tx) =>
    tx.update(identities).set({ email: 'elsewhere@example.com' }).where(eq(identities.provider, 'idp-a')).run(),
  )
  expect(await it.comeFrom('idp-b')).toEqual({ to: '/login?error=IdpAuthError', id: null })
  expect(it.platform.db.select().from(users).all()).toHaveLength(1)
})
