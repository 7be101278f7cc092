import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { CallList } from '../../../src/features/ai/usage/schemas.ts'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../../harness/browser.ts'
import { createAgent, type Person, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const MODEL = 'openai/gpt-4o-mini'

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the page of a key: shows usage and limits and how to call it; cost is divided by key; recovers from errors',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web, backend } = (await installation.start()).urls
    const ada = await signUp(web)
    const keyId = await useKeyAndAgent(ada, backend)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/settings/keys`)
    await page.getByRole('link', { name: 'Deploy script' }).click()
    await page.waitForURL(`${web}/keys/${keyId}`)
    await seeUse(page, backend)
    await changeLimits(page)
    await page.goto(`${web}/cost`)
    await divideByKey(page, keyId)
    expect(complaints).toEqual([])
    await failAndComeBack(page, `${web}/keys/${keyId}`)
    await endKey(page, web)
  },
  LIMIT_MS,
)

/**
 * Makes two calls with a key limited to two cents per month and 10,000 tokens, and one call of an agent. @returns the
 * key's id.
 */
async function useKeyAndAgent(ada: Person, backend: string): Promise<string> {
  const request = { name: 'Deploy script', monthlyBudgetUsd: 0.02, monthlyTokens: 10_000, models: [MODEL] }
  const { id, key } = await read(CreatedKey, ada.post('/api/keys', request))
  const asked = json('POST', { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  for (let call = 0; call < 2; call += 1) await fetch(`${backend}/v1/chat/completions`, asked)
  const agentId = await createAgent(ada, { name: 'Lovelace', model: MODEL })
  await ada.post('/api/chat', { agentId, message: 'Hello' })
  const calls = async () => (await read(CallList, ada.get('/api/usage/calls'))).calls
  await until('the usage of all calls', async () => (await calls()).length === 3)
  return id
}

async function seeUse(page: Page, backend: string): Promise<void> {
  await page.getByRole('heading', { name: 'Deploy script', level: 1 }).waitFor()
  await page.getByText('Cost: $0.0009 of $0.02').waitFor()
  await page.getByText('Tokens: 3K of 10K').waitFor()
  const meter = page.getByRole('meter', { name: 'Tokens used this month' })
  expect([await meter.getAttribute('value'), await meter.getAttribute('max')]).toEqual(['3000', '10000'])
  const used = page.getByRole('group', { name: 'Usage by model' })
  expect(await used.getByRole('row').last().textContent()).toBe(`${MODEL}$0.000923K`)
  await until('its two calls', async () => (await requestCount(page)) === 2)
  const example = page.locator('pre')
  for (const [language, words] of [
    ['curl', 'Bearer YOUR_KEY'],
    ['TypeScript', `baseURL: '${backend}/v1'`],
    ['Python', `base_url="${backend}/v1"`],
  ] as const) {
    await page.getByRole('button', { name: language, exact: true }).click()
    await example.filter({ hasText: words }).filter({ hasText: MODEL }).waitFor()
  }
}

/** Changes the limits on the usage page of a key; an invalid limit is reported at its field. */
async function changeLimits(page: Page): Promise<void> {
  const tokens = page.getByLabel('Tokens per month')
  const models = page.getByLabel('Allowed models, one per line')
  expect([await tokens.inputValue(), await models.inputValue()]).toEqual(['10000', MODEL])
  await tokens.fill('ten')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await page.getByText('monthlyTokens must be a whole number of at least 1').waitFor()
  await tokens.fill('20000')
  await models.fill('')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await page.getByText('Saved. Applies from the next call.').waitFor()
  await page.getByText('Tokens: 3K of 20K').waitFor()
  await page.getByText('all models of your plan', { exact: true }).waitFor()
  await tokens.fill('10000')
  await models.fill(`${MODEL}\n`)
  await page.getByRole('button', { name: 'Save limits' }).click()
  await page.getByText('Tokens: 3K of 10K').waitFor()
}

async function divideByKey(page: Page, keyId: string): Promise<void> {
  await page.getByRole('button', { name: 'By key', exact: true }).click()
  const colours = page.getByRole('list', { name: 'Legend' })
  await colours.getByText('No API key').waitFor()
  await page.getByRole('group', { name: 'Cost by key' }).getByRole('button', { name: 'Deploy script' }).click()
  await page.waitForURL((url) => url.searchParams.get('key') === keyId)
  await until('its calls alone', async () => (await requestCount(page)) === 2)
  await colours.getByText('Daily share of the key’s $0.02 monthly budget').waitFor()
  await page.reload()
  await until('the same after a reload', async () => (await requestCount(page)) === 2)
}

async function failAndComeBack(page: Page, address: string): Promise<void> {
  const broken = { status: 500, contentType: 'application/json', body: '{"error":"The disk is full"}' }
  await page.route('**/api/keys/**', (route) => route.fulfill(broken))
  await page.goto(address)
  await page.getByText('Could not load key').waitFor()
  await page.getByText('The disk is full').waitFor()
  await page.unroute('**/api/keys/**')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByText('Tokens: 3K of 10K').waitFor()
  await page.route('**/api/keys/**', (route) => route.abort())
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('The Stead server cannot be reached.').waitFor()
  await page.unroute('**/api/keys/**')
}

async function endKey(page: Page, web: string): Promise<void> {
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('Disabled', { exact: true }).waitFor()
  const address = page.url()
  await page.getByRole('button', { name: 'Delete key' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete key' }).click()
  await page.waitForURL(`${web}/settings/keys`)
  await page.getByText('No API keys yet').waitFor()
  await page.goto(address)
  await page.getByText('API key not found').waitFor()
}

async function requestCount(page: Page): Promise<number> {
  return page.getByRole('group', { name: 'Requests' }).getByRole('button').count()
}
