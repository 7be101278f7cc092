import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { AgentHistory } from '../../../src/features/monitoring/metrics/schemas.ts'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent, type Person } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the metrics page: figures agree for every period, a restart is marked and listed, and the agent is deleted when its name is typed',
  async () => {
    await using provider = await startProvider()
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace', model: 'openai/gpt-4o-mini' })
    await ada.post('/api/chat', { agentId, message: 'Good morning' })
    const history = () => read(AgentHistory, ada.get(`/api/agents/${agentId}/metrics?range=24h`))
    await until('the usage of the call', async () => (await history()).totals.calls === 1)
    await ada.post(`/api/agents/${agentId}/restart`, {})
    await page.goto(`${web}/agents/${agentId}/metrics`)
    await seeFigures(page)
    await seeActivity(page)
    expect(complaints).toEqual([])
    await meetProblems(page, `${web}/agents/${agentId}/metrics`)
    await deleteByName(page, ada, agentId)
  },
  LIMIT_MS,
)

/** Checks the cost of 1,000 input and 500 output tokens at $0.15 and $0.60 per million. */
async function seeFigures(page: Page): Promise<void> {
  const together = page.getByRole('region', { name: 'Total' })
  const figureOf = (name: string) => together.locator('div', { hasText: new RegExp(`^${name}`) })
  for (const range of ['1 hour', '24 hours', '7 days', '30 days']) {
    await page.getByRole('navigation', { name: 'Range' }).getByRole('link', { name: range }).click()
    await until('the charts', async () => (await page.locator('[aria-busy="true"]').count()) === 0)
    await figureOf('Messages').getByText('1', { exact: true }).waitFor()
    await figureOf('Model calls').getByText('1', { exact: true }).waitFor()
    await figureOf('Tokens').getByText('1.5K', { exact: true }).waitFor()
    await figureOf('Cost').getByText('$0.00045', { exact: true }).waitFor()
  }
  await page.getByRole('region', { name: 'Deployments and crashes' }).getByText('Restart succeeded').waitFor()
  const row = page.getByRole('group', { name: 'Messages, calls, tokens and cost' }).getByRole('row').nth(1)
  expect(await row.getByRole('cell').allTextContents()).toEqual(['1', '0', '1', '1,500', '$0.00045'])
}

async function seeActivity(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Activity' }).click()
  await page.getByText('Watchdog: Healthy').first().waitFor()
  await page.getByText('Restart', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deployments' }).click()
  await page.getByText('Watchdog: Healthy').first().waitFor({ state: 'detached' })
  await page.getByText('Deployment', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Watchdog' }).click()
  await page.getByText('Restart', { exact: true }).waitFor({ state: 'detached' })
}

async function meetProblems(page: Page, address: string): Promise<void> {
  await page.route('**/api/agents/*/metrics*', (route) => route.fulfill({ status: 500, json: { error: 'It broke' } }))
  await page.goto(address)
  await page.getByText('Could not load usage').waitFor()
  await page.unroute('**/api/agents/*/metrics*')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('region', { name: 'Total' }).waitFor()
}

async function deleteByName(page: Page, ada: Person, agentId: string): Promise<void> {
  await page.getByRole('link', { name: 'Settings' }).last().click()
  await page.getByRole('button', { name: 'Delete Lovelace…' }).click()
  const dialog = page.getByRole('alertdialog')
  const confirm = dialog.getByRole('button', { name: 'Delete agent' })
  await dialog.getByLabel('Type Lovelace to confirm').fill('lovelace')
  await confirm.click()
  await dialog.getByText('Enter the exact name: Lovelace').waitFor()
  await page.route(`**/api/agents/${agentId}`, (route) =>
    route.request().method() === 'DELETE' ? route.abort() : route.continue(),
  )
  await dialog.getByLabel('Type Lovelace to confirm').fill('Lovelace')
  await confirm.click()
  await dialog.getByText('The Stead server cannot be reached.').waitFor()
  await page.unroute(`**/api/agents/${agentId}`)
  const deletions: string[] = []
  page.on('request', (request) => request.method() === 'DELETE' && deletions.push(request.url()))
  // Submits twice in quick succession.
  await page.evaluate(`(() => { const form = document.querySelector('[role="alertdialog"] form')
    form.requestSubmit(); setTimeout(() => form.requestSubmit()) })()`)
  await page.waitForURL(/\/agents$/)
  expect((await ada.get(`/api/agents/${agentId}`)).status).toBe(404)
  expect(deletions).toHaveLength(1)
}
