import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { buildDashboard, hasBrowser, resizePage } from '../harness/browser.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { createAgent, PASSWORD } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { read } from '../harness/requests.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const MODEL = 'openai/gpt-4o-mini'
const Created = z.object({ agentId: z.string() })
const REQUEST_ID = '0b8c7a1e-0000-4000-8000-0000000000aa'

beforeAll(buildDashboard, LIMIT_MS)

const widthOf = (page: Page) => page.evaluate('document.documentElement.scrollWidth')

test.skipIf(!hasBrowser())(
  'the swarm page: creates a swarm, runs a task on each agent, reports errors, and changes and deletes the swarm',
  async () => {
    await using provider = await startProvider({ text: 'A **harbour** is a place for ships.' })
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    await createAgent(ada, { name: 'Lovelace', model: MODEL })
    await createAgent(ada, { name: 'Babbage', model: MODEL })
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Swarms' }).click()
    await page.getByText('No swarms yet').waitFor()
    await page.getByRole('link', { name: 'New swarm' }).click()
    await page.getByRole('button', { name: 'Create swarm' }).click()
    await page.getByText('This field is required.').waitFor()
    await page.getByLabel('Name', { exact: true }).fill('Editors')
    await page.getByRole('checkbox', { name: 'Lovelace' }).check()
    await page.getByRole('checkbox', { name: 'Babbage' }).check()
    await page.getByLabel('Role of Babbage').fill('critic')
    await page.getByLabel('Summarizer').selectOption({ label: 'Lovelace' })
    await page.getByRole('button', { name: 'Create swarm' }).click()
    await page.getByRole('heading', { name: 'Editors', level: 1 }).waitFor()

    await page.getByRole('button', { name: 'Run task' }).click()
    await page.getByText('Enter a task.').waitFor()
    await page.getByLabel('Task').fill('What is a harbour?')
    await page.getByRole('button', { name: 'Run task' }).click()
    const answers = page.getByRole('list', { name: 'Answers' }).getByRole('listitem')
    await answers.nth(1).waitFor()
    await page.getByText('2 of 2 answered').waitFor()
    await page.getByRole('heading', { name: 'Summary' }).waitFor()
    expect(await answers.first().textContent()).toContain('A harbour is a place for ships.')
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('link', { name: 'Back to swarm' }).click()
    await page.getByRole('list', { name: 'Runs' }).getByText('Done').waitFor()
    expect(await page.getByLabel('Role of Babbage').inputValue()).toBe('critic')
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('This swarm is disabled.').waitFor()
    expect(await page.getByRole('button', { name: 'Run task' }).isDisabled()).toBe(true)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)

    await page.goto(`${web}/team/map`)
    const drawn = page.getByRole('list', { name: 'Map of your agents' }).getByRole('link')
    await drawn.nth(1).waitFor()
    expect(await page.locator('svg line').count()).toBe(1)
    await page.getByRole('row', { name: /Lovelace.*Summarizer.*Babbage/ }).waitFor()
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    expect(complaints).toEqual([])

    await page.route('**/api/swarms?*', (route) =>
      route.fulfill({ status: 500, headers: { 'x-request-id': REQUEST_ID }, json: { error: 'Internal error' } }),
    )
    await page.getByRole('link', { name: 'Swarms' }).click()
    await page.getByText('Could not load swarms').waitFor()
    await page.getByText(REQUEST_ID).waitFor()
    await page.unroute('**/api/swarms?*')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('link', { name: 'Editors' }).click()
    await page.getByRole('button', { name: 'Delete swarm' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No swarms yet').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Swarm not found' }).waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the swarm page: stops a run, keeps it over a lost connection, and shows it after a new sign-in',
  async () => {
    await using provider = await startProvider({ fault: 'hang' })
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page } = dashboard
    const agents = [await createAgent(ada, { name: 'Lovelace', model: MODEL })]
    await ada.post('/api/swarms', { name: 'Editors', agents })
    await page.goto(`${web}/team/swarms`)
    await page.getByRole('link', { name: 'Editors' }).click()
    await page.getByLabel('Task').fill('Think for ever')
    await page.getByRole('button', { name: 'Run task' }).click()
    await page.getByText('Running…').waitFor()
    await page.context().setOffline(true)
    await page.getByText('Connection lost. Reconnecting…').waitFor()
    await page.context().setOffline(false)
    await page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await page.getByText('Stopped before answering').waitFor()
    const address = page.url()

    await page.context().clearCookies()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(address)
    await page.getByText('Stopped before answering').waitFor()
  },
  LIMIT_MS,
)

/** Adds a mail that was read and answered. */
function addMail(dataDir: string, agentId: string): void {
  const database = new Database(join(dataDir, 'stead.db'))
  database
    .prepare(`INSERT INTO inbox_messages (id, agent_id, sender, subject, text, status, reply, files, received_at, delivered_at)
      VALUES ('mail_1', ?, 'bo@example.com', 'The harbour', 'When does it open?', 'delivered', 'At six.', '[]', ?, ?)`)
    .run(agentId, Date.now(), Date.now())
  database.close()
}

test.skipIf(!hasBrowser())(
  'the inbox: explains mail addresses, shows messages and replies, and reports a slow server',
  async () => {
    await using dashboard = await openDashboard()
    const { installation, web, ada, page, complaints } = dashboard
    const { agentId } = await read(Created, ada.post('/api/agents', { name: 'Lovelace' }))
    await page.goto(`${web}/team/inbox`)
    await page.getByText('No email yet').waitFor()
    await page.getByRole('link', { name: 'its settings' }).waitFor()
    addMail(installation.dataDir, agentId)
    await page.reload()
    await page.getByText('The harbour').click()
    await page.getByText('When does it open?').waitFor()
    await page.getByText('At six.').waitFor()
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.getByLabel('Agent').selectOption({ label: 'Lovelace' })
    await page.waitForURL(/agent=/)
    await page.getByText('The harbour').waitFor()
    expect(complaints).toEqual([])

    let isHeld = true
    await page.route('**/api/inbox?*', (route) => (isHeld ? undefined : route.continue()))
    await page.reload()
    await page.getByText('The server is slow to respond.').waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    isHeld = false
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('The harbour').waitFor()
  },
  LIMIT_MS,
)
