import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type Browser, buildDashboard, hasBrowser, openBrowser } from '../harness/browser.ts'
import { createAgent, PASSWORD, signIn, signUp } from '../harness/client.ts'
import { startTlsFront } from '../harness/doubles/tls-front.ts'
import { startServer } from '../harness/server.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { until } from '../harness/until.ts'

const root = join(import.meta.dir, '..', '..')
const AGENT = [process.execPath, join(root, 'tests/harness/programs/page-agent.ts')] as const
const DASHBOARD = 'https://app.stead.test'
const ADA = 'ada@example.com'
/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
/** The maximum number and size of cookies that Chromium stores for a domain. */
const BOMB = `for (let i = 0; i < 170; i++)
  document.cookie = 'bomb' + i + '=' + 'x'.repeat(4000) + '; domain=stead.test; path=/; secure'`

beforeAll(buildDashboard, LIMIT_MS)

/** Opens a service over HTTPS in a browser, with Ada's account, an agent's page, and a session of Eve. */
async function openScene(environment: Record<string, string> = {}) {
  const stack = new AsyncDisposableStack()
  const password = stack.use(tempFolder()).file('password')
  await Bun.write(password, PASSWORD)
  const owner = { ADMIN_EMAIL: ADA, ADMIN_PASSWORD_FILE: password }
  const settings = { APP_URL: DASHBOARD, DOMAIN: 'stead.test', ...owner, ...environment }
  const server = stack.use(await startServer(settings, AGENT))
  const front = stack.use(await startTlsFront(server.urls.web))
  const ada = await signIn(server.urls.web, ADA)
  const agentId = await createAgent(ada)
  const eve = await signUp(server.urls.web, 'eve@example.com')
  const browser: Browser = stack.use(await openBrowser(DASHBOARD, { tlsPort: front.port }))
  const agentsDomain = environment.AGENTS_DOMAIN ?? 'agents.stead.test'
  return {
    page: browser.page,
    eveToken: /service-session=(\w+)/.exec(eve.cookie.cookie ?? '')?.[1] ?? '',
    agentPage: `https://${agentId}.${agentsDomain}/page`,
    agentCookies: `https://${agentId}.${agentsDomain}/cookie`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function signInBrowser(page: Page): Promise<void> {
  await page.goto(`${DASHBOARD}/login`)
  await page.getByLabel('Email').fill(ADA)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

/** Returns the user that the dashboard's script sees. */
function whoAmI(page: Page): Promise<string | null> {
  return page.evaluate(`fetch('/api/auth/session').then((r) => r.json()).then(({ user }) => user?.email ?? null)`)
}

async function runAtAgent(page: Page, url: string, script: string): Promise<void> {
  await page.goto(url)
  await page.evaluate(script)
}

/** Returns a script that tries every way to make the browser send `service-session` to parent hosts. */
function plant(token: string): string {
  const places = ['', '; path=/', '; path=/api', '; path=/api/auth/session', '; path=/agents']
  const pairs = [`service-session=${token}`, `=service-session=${token}`, `__Host-service-session=${token}`]
  const cookies = pairs.flatMap((pair) => places.map((place) => `${pair}; domain=stead.test; secure${place}`))
  return cookies.map((cookie) => `document.cookie = ${JSON.stringify(cookie)}`).join(';')
}

test.skipIf(!hasBrowser())(
  'cookies: an agent’s page cannot replace a visitor’s session or block the sign-in',
  async () => {
    await using scene = await openScene()
    const { page, agentPage, eveToken } = scene
    await signInBrowser(page)
    expect(await whoAmI(page)).toBe(ADA)

    await runAtAgent(page, agentPage, plant(eveToken))
    await page.goto(DASHBOARD)
    const seen = [await whoAmI(page)]
    await until('Ada to be herself again', async () => {
      seen.push(await whoAmI(page))
      return seen.at(-1) === ADA
    })
    expect(new Set(seen).difference(new Set([ADA, null])).size).toBe(0)
    await page.goto(`${DASHBOARD}/agents`)
    await page.getByRole('link', { name: 'Create agent' }).waitFor()

    // When signed out, Ada has no session of her own next to the planted one.
    await page.context().clearCookies()
    await runAtAgent(page, agentPage, plant(eveToken))
    await page.goto(DASHBOARD)
    expect(await whoAmI(page)).toBeNull()
    await signInBrowser(page)
    expect(await whoAmI(page)).toBe(ADA)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'cookies: an agent’s page that fills the cookie jar does not lock users out of the dashboard or the agent',
  async () => {
    await using scene = await openScene()
    const { page, agentPage, agentCookies } = scene
    await signInBrowser(page)
    const bombsFor = async (url: string) =>
      (await page.context().cookies(url)).filter(({ name }) => name.startsWith('bomb')).length
    const explode = async () => {
      await runAtAgent(page, agentPage, BOMB)
      await until('all cookies to be kept', async () => (await bombsFor(DASHBOARD)) >= 170)
    }
    await explode()

    expect((await page.goto(`${DASHBOARD}/login`))?.status()).toBe(200)
    expect(await bombsFor(DASHBOARD)).toBe(0)
    await signInBrowser(page)
    expect(await whoAmI(page)).toBe(ADA)

    await explode()
    expect((await page.goto(agentCookies))?.status()).toBe(200)
    expect(await page.textContent('body')).toBe('')
    expect(await bombsFor(agentCookies)).toBe(0)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'cookies: with AGENTS_DOMAIN an agent’s page sets no cookie that is sent to the dashboard',
  async () => {
    await using scene = await openScene({ AGENTS_DOMAIN: 'stead-pages.test' })
    const { page, agentPage, eveToken } = scene
    await signInBrowser(page)
    await runAtAgent(page, agentPage, plant(eveToken))
    await page.goto(DASHBOARD)
    expect(await whoAmI(page)).toBe(ADA)
    const sent = (await page.context().cookies(`${DASHBOARD}/api/auth/session`)).map(({ name }) => name)
    expect(sent.filter((name) => name.includes('service-session')).sort()).toEqual([
      '__Host-service-session',
      'service-session',
    ])
  },
  LIMIT_MS,
)
