import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { TaskList } from '../../../src/features/conversations/scheduled-tasks/schemas.ts'
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
  'the schedule page: creates a task as a sentence or cron, runs it with streamed output, shows failures, and deletes it',
  async () => {
    const rest = Promise.withResolvers<void>()
    const beforeEvent = (index: number) => (index === 0 ? Promise.resolve() : rest.promise)
    await using provider = await startProvider(() => ({ text: ['It is ', 'quiet.'], beforeEvent }))
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    await page.goto(`${web}/agents/${agentId}/schedule`)
    await createTask(page, ada)
    await changeAsCron(page, ada)
    await runNow(page, () => rest.resolve())
    // The browser logs the expected error response, to an invalid schedule.
    expect(complaints.filter((complaint) => !complaint.includes('status of 400'))).toEqual([])
    await failAndComeBack(page)
    await removeTask(page, ada)
  },
  LIMIT_MS,
)

const tasksOf = async (ada: Person) => (await read(TaskList, ada.get('/api/scheduled-tasks'))).tasks

async function createTask(page: Page, ada: Person): Promise<void> {
  await page.getByText('No scheduled tasks yet.').waitFor()
  await page.getByRole('button', { name: 'New task' }).click()
  await page.getByRole('button', { name: 'Create task' }).click()
  await page.getByText('This field is required.').first().waitFor()
  await page.getByLabel('Name').fill('Morning news')
  await page.getByLabel('Message to the agent').fill('What is new?')
  await page.getByLabel('Schedule', { exact: true }).selectOption('week')
  await page.getByRole('button', { name: 'Fri', exact: true }).click()
  await page.getByLabel('At', { exact: true }).fill('07:30')
  expect(await page.getByLabel('Cron expression').inputValue()).toBe('30 7 * * 1,2,3,4')
  await page.getByLabel('Time zone').selectOption('Europe/Berlin')
  expect(await page.getByRole('list', { name: 'Next runs' }).getByRole('listitem').count()).toBe(5)
  await page.getByRole('button', { name: 'Create task' }).click()
  await page.getByText('Runs every Monday, Tuesday, Wednesday, Thursday at 07:30 (Europe/Berlin)').waitFor()
  expect(await tasksOf(ada)).toMatchObject([{ cronSchedule: '30 7 * * 1,2,3,4', timezone: 'Europe/Berlin' }])
}

async function changeAsCron(page: Page, ada: Person): Promise<void> {
  await page.getByRole('button', { name: 'Edit Morning news' }).click()
  const cron = page.getByLabel('Cron expression')
  await cron.fill('61 7 * * *')
  await page.getByText(/Invalid schedule/).waitFor()
  await page.getByRole('button', { name: 'Save task' }).click()
  await page.getByRole('alert').getByText('Invalid cron schedule').waitFor()
  await cron.fill('0 8 * * *')
  await until(
    'the words of the schedule',
    async () => (await page.getByLabel('Schedule', { exact: true }).inputValue()) === 'day',
  )
  await page.getByRole('button', { name: 'Save task' }).click()
  await page.getByText('Runs every day at 08:00').waitFor()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  expect(await tasksOf(ada)).toMatchObject([{ cronSchedule: '0 8 * * *', enabled: false, nextRun: null }])
}

/** Runs a task whose reply pauses until its first part is on the page. */
async function runNow(page: Page, goOn: () => void): Promise<void> {
  await page.getByRole('button', { name: 'Run now' }).click()
  await page.getByText('Running…').waitFor()
  goOn()
  await page.getByText('It is quiet.', { exact: true }).waitFor()
  await page.getByText(/^Done in/).waitFor()
  await page.reload()
  await page
    .getByRole('list', { name: 'Runs of Morning news' })
    .getByRole('button', { name: /succeeded$/ })
    .click()
  await page.getByText('It is quiet.', { exact: true }).waitFor()
}

async function failAndComeBack(page: Page): Promise<void> {
  await page.route('**/api/scheduled-tasks/*/run', (route) => route.abort())
  await page.getByRole('button', { name: 'Run now' }).click()
  await page.getByText('The Stead server cannot be reached.').waitFor()
  await page.unroute('**/api/scheduled-tasks/*/run')
  await page.route('**/api/scheduled-tasks?*', (route) => route.fulfill({ status: 500, json: { error: 'It broke' } }))
  await page.reload()
  await page.getByText('Could not load tasks').waitFor()
  await page.unroute('**/api/scheduled-tasks?*')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('heading', { name: 'Morning news' }).waitFor()
}

async function removeTask(page: Page, ada: Person): Promise<void> {
  await page.getByRole('button', { name: 'Delete Morning news' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete task' }).click()
  await page.getByText('No scheduled tasks yet.').waitFor()
  expect(await tasksOf(ada)).toEqual([])
}
