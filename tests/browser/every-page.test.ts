import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser, signInOnPage } from '../harness/browser.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { openHouse } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { listOwnPages } from './pages.ts'

/** A guard against waiting for ever, nothing else. */
const LIMIT_MS = 600_000
const REQUEST_ID = '0b8c7a1e-0000-4000-8000-00000000beef'
/** Everything that a page asks the server for, but who is signed in. */
const QUESTIONS = /\/api\/(?!auth\/(?:session|csrf))/
const SESSION = /\/api\/auth\/session/
/** Lost connections are waited for before they are told of: a few pages stand for all here, `EVERY_FAULT=1` takes each. */
const LOST_EVERY = process.env.EVERY_FAULT === '1' ? 1 : 16
const MAX_PROBLEMS = 8

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'each page fails once: it names the failed request and goes on when the server does, and after a lost connection too',
  async () => {
    await using tour = await startTour()
    const { page, web, paths } = tour
    let failed = 0
    for (const [index, path] of paths.entries()) {
      const names = index % LOST_EVERY === 0 ? [REQUEST_ID, null] : [REQUEST_ID]
      for (const requestId of names) if (await failsOnce(page, `${web}${path}`, requestId)) failed++
    }
    // All but the few that ask for nothing of their own.
    expect(failed).toBeGreaterThan(0.8 * paths.length)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'each page leads to the sign-in when the session has expired, and the sign-in leads back to it',
  async () => {
    await using tour = await startTour()
    const { page, web, paths } = tour
    await page.route(SESSION, (route) => route.fulfill({ json: { user: null } }))
    await page.route(QUESTIONS, (route) => route.fulfill({ status: 401, json: { error: 'Unauthorized' } }))
    // Strangers have a first page of their own.
    for (const path of paths.filter((one) => one !== '/')) {
      await page.goto(`${web}${path}`)
      await page.waitForURL(/\/login\?/)
      expect(new URL(page.url()).searchParams.get('redirect')).toStartWith(path)
    }
    await page.unrouteAll()
  },
  LIMIT_MS,
)

/** @returns whether the page asked for anything, which then failed: with a status under `requestId`, or without an answer. */
async function failsOnce(page: Page, address: string, requestId: string | null): Promise<boolean> {
  let asked = 0
  await page.route(QUESTIONS, (route) => {
    asked++
    if (requestId === null) return route.abort('connectionfailed')
    return route.fulfill({ status: 500, headers: { 'x-request-id': requestId }, json: { error: 'Internal error' } })
  })
  await page.goto(address)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  const again = page.getByRole('button', { name: 'Try again' })
  if (asked > 0) {
    await again.first().waitFor()
    if (requestId !== null) await page.getByText(requestId).first().waitFor()
  }
  await page.unroute(QUESTIONS)
  for (let problem = 0; problem < MAX_PROBLEMS && (await again.count()) > 0; problem++) {
    const left = await again.count()
    await again.first().click()
    await until('one problem less', async () => (await again.count()) < left)
  }
  expect(`${address}: ${await again.count()} problems left`).toBe(`${address}: 0 problems left`)
  return asked > 0
}

async function startTour() {
  const stack = new AsyncDisposableStack()
  const house = stack.use(await openHouse())
  const { web } = (await house.start()).urls
  const agentId = await createAgent(await signUp(web))
  const { page } = stack.use(await openBrowser(web))
  await signInOnPage(page, web)
  return { page, web, paths: listOwnPages(agentId), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
