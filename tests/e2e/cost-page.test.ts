import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { CallList } from '../../src/features/ai/usage/schemas.ts'
import { buildDashboard, hasBrowser } from '../harness/browser.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { createAgent, type Person } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { json, read } from '../harness/requests.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the cost page: selecting an agent filters every figure and request, a request shows its details, and a failed load is retried',
  async () => {
    await using provider = await startProvider()
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    const lovelace = await createAgent(ada, { name: 'Lovelace', model: 'openai/gpt-4o-mini' })
    const babbage = await createAgent(ada, { name: 'Babbage', model: 'openai/gpt-4o' })
    for (const agentId of [lovelace, lovelace, babbage]) await ada.post('/api/chat', { agentId, message: 'Hello' })
    const calls = async () => (await read(CallList, ada.get('/api/usage/calls'))).calls
    await until('the usage of all calls', async () => (await calls()).length === 3)
    await page.goto(`${web}/cost`)
    await chooseAgent(page, lovelace)
    await seeCap(page, ada, lovelace)
    await seeRequest(page)
    expect(complaints).toEqual([])
    await failAndComeBack(page)
  },
  LIMIT_MS,
)

async function chooseAgent(page: Page, agentId: string): Promise<void> {
  const colours = page.getByRole('list', { name: 'Legend' })
  await colours.getByText('Babbage').waitFor()
  await until('the requests of all', async () => (await requestCount(page)) === 3)
  await page.getByRole('button', { name: 'By model', exact: true }).click()
  await colours.getByText('openai/gpt-4o-mini').waitFor()
  await page.getByRole('group', { name: 'Cost by agent' }).getByRole('button', { name: 'Lovelace' }).click()
  await page.waitForURL((url) => url.searchParams.get('agent') === agentId)
  // Two calls of 1,000 input and 500 output tokens at $0.15 and $0.60 per million.
  await page.getByTitle('$0.0009', { exact: true }).waitFor()
  await until('its requests alone', async () => (await requestCount(page)) === 2)
  expect(await colours.getByRole('listitem').allTextContents()).toEqual(['openai/gpt-4o-mini'])
  await page.reload()
  await until('the same after a reload', async () => (await requestCount(page)) === 2)
  await page.getByRole('button', { name: /^Lovelace.*show all$/ }).click()
  await until('all requests', async () => (await requestCount(page)) === 3)
}

/** Checks that an agent's daily limit appears only in that agent's figures. */
async function seeCap(page: Page, ada: Person, agentId: string): Promise<void> {
  const capped = json('PUT', { costUsdPerDay: 0.25 }, ada.cookie)
  expect((await fetch(`${ada.web}/api/agents/${agentId}/breaker`, capped)).status).toBe(200)
  const line = page.getByRole('list', { name: 'Legend' }).getByText('Daily limit of the agent: $0.25')
  const address = new URL(page.url())
  expect(await line.count()).toBe(0)
  address.searchParams.set('agent', agentId)
  await page.goto(address.href)
  await line.waitFor()
  address.searchParams.delete('agent')
  await page.goto(address.href)
  await page.getByRole('list', { name: 'Legend' }).getByText('Babbage').waitFor()
  expect(await line.count()).toBe(0)
}

async function seeRequest(page: Page): Promise<void> {
  await page.getByRole('group', { name: 'Requests' }).getByRole('button').first().click()
  const sheet = page.getByRole('dialog', { name: 'Request' })
  await sheet.getByText('openai/gpt-4o at openrouter').waitFor()
  await sheet.getByText('1,000 input, 500 output').waitFor()
  await sheet.getByText('Tokens were reported by the provider.').waitFor()
  await sheet.getByText('1', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await page.getByRole('combobox', { name: 'Result' }).selectOption('failed')
  await page.getByText('No matching requests').waitFor()
}

async function failAndComeBack(page: Page): Promise<void> {
  await page.route('**/api/usage/**', (route) => route.abort())
  await page.reload()
  await page.getByText('Could not load daily usage').waitFor()
  await page.unroute('**/api/usage/**')
  await page.getByRole('button', { name: 'Retry' }).first().click()
  await until('the requests', async () => (await requestCount(page)) === 3)
}

async function requestCount(page: Page): Promise<number> {
  return page.getByRole('group', { name: 'Requests' }).getByRole('button').count()
}
