import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const STORED = 51_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the log page: finds one of 51,000 lines, links to it, selects a period and saves the log; recovers from errors',
  async () => {
    await using provider = await startProvider()
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { installation, web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    addLines(installation.dataDir, agentId)
    const address = `${web}/agents/${agentId}/logs`
    await page.goto(address)
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    await page.getByText(/^\d[\d,]*\+ lines$/).waitFor()
    await followFromAbove(page)
    await findLine(page, address)
    await drawTime(page)
    await saveErrors(page)
    expect(complaints).toEqual([])
    await loseConnection(page, address)
  },
  LIMIT_MS,
)

/** Adds a line per second, every tenth an error. The searched line is among the older ones. */
function addLines(dataDir: string, agentId: string): void {
  using db = new Database(join(dataDir, 'stead.db'))
  db.run('PRAGMA busy_timeout = 60000')
  db.run(
    `INSERT INTO log_lines (agent_id, at, stream, text, size_bytes)
     WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${STORED - 1})
     SELECT ?, ? + n * 1000, 'stdout', CASE WHEN n = 30000 THEN '{"level":40,"msg":"the needle","port":4711}'
       WHEN n % 10 = 0 THEN '{"level":50,"msg":"failed ' || n || '"}' ELSE '{"level":30,"msg":"fine ' || n || '"}' END, 100
     FROM numbers`,
    [agentId, Date.now() - STORED * 1000],
  )
}

/** Checks that new lines stay out of view above the end, and that following the log shows them. */
async function followFromAbove(page: Page): Promise<void> {
  const away = page.getByRole('button', { name: /^Latest$|new$/ })
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('log', { name: 'Log' }).hover()
  await page.mouse.wheel(0, -2000)
  await away.waitFor()
  await page.getByRole('button', { name: 'Follow' }).click()
  await away.waitFor({ state: 'detached' })
}

async function findLine(page: Page, address: string): Promise<void> {
  const log = page.getByRole('log', { name: 'Log' })
  await page.getByRole('searchbox', { name: 'Search lines' }).fill('NEEDLE')
  const line = log.getByRole('button', { name: 'the needle' })
  await line.waitFor()
  expect(await log.locator('mark').allTextContents()).toEqual(['needle'])
  await page.getByText('1 of 50,000+ lines').waitFor()
  await line.click()
  await log.getByRole('definition').getByText('4711').waitFor()
  await log.getByRole('button', { name: 'Link to this line' }).click()
  await page.waitForURL(/line=\d+/)
  const link = page.url()
  expect(link).toStartWith(address)
  await page.reload()
  await log.getByRole('definition').getByText('4711').waitFor()
  // Only visible lines are rendered.
  expect(await log.locator('button[aria-expanded]').count()).toBeLessThan(200)
  await page.goto(`${address}?line=999999999`)
  await page.getByText('The linked line is no longer stored.').waitFor()
}

async function drawTime(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: 'Level' }).selectOption('error')
  const all = await shownCount(page)
  const chart = await page.locator('[data-part="histogram"]').boundingBox()
  if (!chart) throw new Error('There is no histogram')
  const y = chart.y + chart.height / 2
  await page.mouse.move(chart.x + chart.width / 4, y)
  await page.mouse.down()
  await page.mouse.move(chart.x + chart.width / 2, y)
  await page.mouse.up()
  await until('fewer lines', async () => (await shownCount(page)) < all / 2)
  await page.getByRole('combobox', { name: 'Time' }).selectOption('')
  await until('all lines again', async () => (await shownCount(page)) === all)
}

/** Downloads all errors, including those too old for the page. */
async function saveErrors(page: Page): Promise<void> {
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const saved = await saving
  expect(saved.suggestedFilename()).toMatch(/^Ada-\d{4}-\d\d-\d\d\.log$/)
  const lines = (await Bun.file(await saved.path()).text()).trim().split('\n')
  expect(lines.filter((line) => line.includes('"failed '))).toHaveLength(STORED / 10 - 1)
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\S+Z \{"level":50,"msg":"failed 0"\}$/)
}

async function loseConnection(page: Page, address: string): Promise<void> {
  const history = '**/api/logs/*/history*'
  await page.route(history, (route) => route.abort())
  await page.goto(address)
  const problem = page.getByRole('alert').filter({ hasText: 'Could not load older lines' })
  await problem.getByText('The Stead server cannot be reached.').waitFor()
  await page.unroute(history)
  await problem.getByRole('button', { name: 'Retry' }).click()
  await problem.waitFor({ state: 'detached' })
  const stream = '**/api/logs/*/stream*'
  await page.route(stream, (route) => route.fulfill({ status: 500, json: { error: 'Something broke' } }))
  await page.reload()
  await page.getByText('Could not load log').waitFor()
  await page.unroute(stream)
  await page.getByRole('button', { name: 'Retry' }).first().click()
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
}

async function shownCount(page: Page): Promise<number> {
  const text = await page.getByText(/^[\d,]+ of [\d,]+\+ lines$/).textContent()
  return Number(text?.split(' ')[0]?.replaceAll(',', ''))
}
