import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { type ProviderDouble, startProvider } from '../../harness/doubles/provider.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const MINI = 'openai/gpt-4o-mini'

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the models page: keeps search and sorting in the URL, compares two models with time and cost, and shows errors',
  async () => {
    await using provider = await startProvider(({ body }) => ({ text: `I am ${body.model}.` }))
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { page, complaints } = dashboard
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await findModels(page)
    await tryTwo(page)
    expect(complaints).toEqual([])
    await failAndComeBack(page, provider)
  },
  LIMIT_MS,
)

async function findModels(page: Page): Promise<void> {
  const rows = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: /^Try / }) })
  await rows.filter({ hasText: MINI }).waitFor()
  await page.getByRole('button', { name: /^openrouter \d+ responding$/ }).waitFor()
  const priced = rows.filter({ hasText: MINI })
  expect(await priced.getByRole('definition').allTextContents()).toEqual(['$0.15', '$0.60', '128K'])
  await page.getByRole('searchbox', { name: 'Search models' }).fill('gpt-4o')
  await page.waitForURL((url) => url.searchParams.get('search') === 'gpt-4o')
  await until('two models', async () => (await rows.count()) === 2)
  await page.getByRole('combobox', { name: 'Sort by' }).selectOption('context')
  await page.waitForURL((url) => url.searchParams.get('sort') === 'context')
  await until(
    'the larger model first',
    async () => (await rows.first().textContent())?.includes('Sees and speaks.') === true,
  )
  await page.getByRole('combobox', { name: 'Capabilities' }).selectOption('vision')
  await until('the vision model', async () => (await rows.count()) === 1)
  await page.reload()
  await until('the same after a reload', async () => (await rows.count()) === 1)
}

async function tryTwo(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Try OpenAI: GPT-4o' }).click()
  const dialog = page.getByRole('dialog', { name: 'Try models' })
  await dialog.getByRole('combobox', { name: 'Compare with' }).selectOption(MINI)
  await page.waitForURL((url) => url.searchParams.get('against') === MINI)
  await dialog.getByRole('textbox', { name: 'Question' }).fill('Who are you?')
  await dialog.getByRole('button', { name: 'Send to both' }).click()
  const large = dialog.getByRole('region', { name: 'Answer from openai/gpt-4o', exact: true })
  const small = dialog.getByRole('region', { name: `Answer from ${MINI}`, exact: true })
  await large.getByText('I am openai/gpt-4o.').waitFor()
  await small.getByText(`I am ${MINI}.`).waitFor()
  // 1,000 input and 500 output tokens at $2.50 and $10 per million, and at $0.15 and $0.60.
  for (const [answer, cost] of [[large, '$0.0075'] as const, [small, '$0.00045'] as const]) {
    await answer.getByText('1,000 input, 500 output').waitFor()
    await answer.getByText(cost, { exact: true }).waitFor()
    expect(await answer.getByText(/^\d+\.\d+ s$/).count()).toBe(2)
  }
}

async function failAndComeBack(page: Page, provider: ProviderDouble): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Try models' })
  const small = dialog.getByRole('region', { name: `Answer from ${MINI}`, exact: true })
  provider.answerWith(({ body }) => (body.model === MINI ? { fault: { status: 400 } } : { text: 'Here.' }))
  await dialog.getByRole('button', { name: 'Send to both' }).click()
  await small.getByText(/the provider says 400/).waitFor()
  await dialog.getByText('Here.').waitFor()
  provider.answerWith({ text: 'One two three four.', fault: { hangAfterEvents: 1 } })
  await dialog.getByRole('button', { name: 'Send to both' }).click()
  await small.getByText('One two three four.').waitFor()
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await small.getByText('Stopped.').waitFor()
  await small.getByText('One two three four.').waitFor()
  // The page waits for a server that does not respond until the user cancels.
  await page.route('**/api/ai/chat', () => undefined)
  await dialog.getByRole('button', { name: 'Send to both' }).click()
  await small.getByText('Waiting for the first token…').waitFor()
  await small.getByText('This is taking longer than usual. You can stop it.').waitFor()
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await small.getByText('Stopped.').waitFor()
  await page.unroute('**/api/ai/chat')
  await page.route('**/api/ai/**', (route) => route.abort())
  await dialog.getByRole('button', { name: 'Send to both' }).click()
  await small.getByText('The Stead server cannot be reached.').waitFor()
  await page.reload()
  await page.getByText('Could not load models').waitFor()
  await page.unroute('**/api/ai/**')
  await page.getByRole('button', { name: 'Retry' }).first().click()
  await dialog.waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Try OpenAI: GPT-4o' }).click()
  const ask = dialog.getByRole('button', { name: 'Send', exact: true })
  await ask.waitFor()
  await page.context().clearCookies()
  await ask.click()
  await page.waitForURL((url) => url.pathname === '/login' && url.search.includes('models'))
}
