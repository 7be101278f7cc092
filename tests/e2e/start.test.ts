import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../harness/browser.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the home page: describes Stead, says that no demo is configured, and links to the sign-in page',
  async () => {
    await using installation = await openInstallation({ environment: { OPENROUTER_API_KEY: '' } })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await resizePage(page, { width: 360, height: 740 })
    await page.goto(web)
    await page.getByRole('heading', { name: 'Your own AI agents, always on' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    // Payments are not configured, so no plan is sold.
    expect(await page.getByRole('heading', { name: 'Plans' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Sign up' }).click()
    await page.getByRole('heading', { name: 'Create your account' }).waitFor()
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the home page: a visitor talks to a real model when one is configured, and sees the plans when they are sold',
  async () => {
    await using provider = await startProvider({ text: 'The tide turns at noon.' })
    const cards = { STRIPE_SECRET_KEY: 'sk_test_0', STRIPE_WEBHOOK_SECRET: 'whsec_0' }
    await using installation = await openInstallation({ environment: { ...withProvider(provider), ...cards } })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await page.goto(web)
    await page.getByRole('textbox', { name: 'Message' }).fill('When does the tide turn?')
    await page.getByRole('button', { name: 'Send' }).click()
    const log = page.getByRole('log', { name: 'Conversation' })
    await log.getByText('The tide turns at noon.').waitFor()
    await log.getByText('1,500 tokens').waitFor()
    const plans = page.getByRole('region', { name: 'Plans' })
    await plans.getByText('£29').waitFor()
    await plans.getByRole('link', { name: 'Choose Network' }).waitFor()
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the first steps: are checked off with a tested key, an agent and a message, and can be dismissed',
  async () => {
    await using provider = await startProvider({ text: 'Good morning.' })
    await using installation = await openInstallation({
      environment: { OPENROUTER_BASE_URL: provider.baseUrl, OPENROUTER_API_KEY: '' },
    })
    const { web } = (await installation.start()).urls
    const ada = await signUp(web)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web)
    const steps = page.getByRole('region', { name: /^Get started/ })
    await steps.getByText('1 of 6').waitFor()
    await steps.getByLabel('API key').fill('sk-or-of-ada')
    await steps.getByRole('button', { name: 'Save key' }).click()
    await steps.getByText('2 of 6').waitFor()
    await steps.getByRole('link', { name: 'Create agent' }).waitFor()
    const agentId = await createAgent(ada, { name: 'Lovelace', model: 'openai/gpt-4o-mini' })
    await ada.post('/api/chat', { agentId, message: 'Hello' })
    await page.reload()
    await steps.getByText('4 of 6').waitFor()
    await page.getByText('All clear').waitFor()
    await page.getByRole('link', { name: /Lovelace.*Good morning/ }).waitFor()
    await steps.getByRole('button', { name: 'Dismiss' }).click()
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'Recent conversations' }).waitFor()
    expect(await steps.count()).toBe(0)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)
