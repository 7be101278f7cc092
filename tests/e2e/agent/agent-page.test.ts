import { beforeAll, expect, test } from 'bun:test'
import type { Dialog, Locator, Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../../harness/browser.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { answerLikeAModel, withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const BOT_TOKEN = '123456:the-token-of-a-bot'
/** The log line of the agent after a reply. */
const ANSWERED = 'turn answered'

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the agent page: shows the state, streams the log, stops, starts and resets the agent, and hides secrets',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    const agentId = await createAgent(page, web)

    await readLive(page, agentId)
    await searchLog(page)
    await seeOverview(page, agentId)
    await stopAndStart(page)
    await seeMemory(page, agentId)
    await resetMemory(page)
    await goBack(page)
    await refuseImage(page)
    await changeSettings(page)
    await fitOnPhone(page, agentId)
    // The browser logs the expected error response, to an update without an image.
    expect(complaints.filter((complaint) => !complaint.includes('status of 400'))).toEqual([])
  },
  LIMIT_MS,
)

async function createAgent(page: Page, web: string): Promise<string> {
  await page.goto(`${web}/signup`)
  await page.getByLabel('Name').fill('Ada')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill('correct horse battery staple')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('link', { name: 'Create agent' }).click()
  await page.getByLabel('Name').fill('Lovelace')
  await page.getByRole('button', { name: 'Create agent' }).click()
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  return new URL(page.url()).pathname.split('/')[2] ?? ''
}

function openTab(page: Page, tab: string): Promise<void> {
  return page.getByRole('navigation', { name: 'Lovelace pages' }).getByRole('link', { name: tab }).click()
}

function statusOf(page: Page, status: string): Promise<void> {
  return page.getByRole('heading', { level: 1 }).locator('..').getByText(status, { exact: true }).waitFor()
}

function urlOf(page: Page, path: string): string {
  return new URL(path, page.url()).href
}

async function talk(page: Page, agentId: string): Promise<void> {
  const response = await page.request.post(urlOf(page, '/api/chat'), { data: { agentId, message: 'Good morning' } })
  expect(response.status()).toBe(200)
}

async function readLive(page: Page, agentId: string): Promise<void> {
  await openTab(page, 'Logs')
  const log = page.getByRole('log', { name: 'Log' })
  await log.getByText('agent is listening').waitFor()
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
  await talk(page, agentId)
  await hasAnswers(log, 1)

  await page.getByRole('button', { name: 'Pause' }).click()
  await talk(page, agentId)
  await page.getByRole('button', { name: '1 new' }).waitFor()
  expect(await log.getByText(ANSWERED).count()).toBe(1)
  await page.getByRole('button', { name: 'Follow' }).click()
  await hasAnswers(log, 2)

  const resumed = page.waitForRequest((request) => request.url().includes(`/api/logs/${agentId}/stream`))
  await page.request.post(urlOf(page, `/api/logs/${agentId}/stop`))
  expect(await (await resumed).headerValue('last-event-id')).toMatch(/^\d+$/)
  await talk(page, agentId)
  await hasAnswers(log, 3)
}

function hasAnswers(log: Locator, count: number): Promise<boolean> {
  return until(`${count} answers in the log`, async () => (await log.getByText(ANSWERED).count()) === count)
}

async function searchLog(page: Page): Promise<void> {
  const log = page.getByRole('log', { name: 'Log' })
  const search = page.getByRole('searchbox', { name: 'Search lines' })
  await search.fill('TURN ANSWERED')
  await until('the filter', async () => (await log.getByText('agent is listening').count()) === 0)
  await hasAnswers(log, 3)
  expect(await log.getByRole('time').count()).toBe(3)
  await search.fill('never written')
  await log.getByText('No log lines match your filters.').waitFor()
}

/** Checks that the pages match the API. */
async function seeOverview(page: Page, agentId: string): Promise<void> {
  await openTab(page, 'Overview')
  await page.getByText('Healthy', { exact: true }).first().waitFor()
  const watchdog = await (await page.request.get(urlOf(page, `/api/agents/${agentId}/watchdog`))).json()
  expect(watchdog).toMatchObject({ state: 'running', attempts: 0, crashes: 0, lastProbe: { healthy: true } })
  const noted = page.getByRole('region', { name: 'Watchdog events' }).getByRole('listitem')
  expect(await noted.allTextContents()).toEqual([expect.stringMatching(/^Healthy/), expect.stringMatching(/^Started/)])
  const { agent } = await (await page.request.get(urlOf(page, `/api/agents/${agentId}`))).json()
  await page.getByText(agent.websocketUrl, { exact: true }).waitFor()
  await page.getByText('Last: Deployment succeeded').waitFor()
  const messages = page.getByRole('region', { name: 'Usage' }).locator('div', { hasText: /^Messages/ })
  await messages.getByText('3', { exact: true }).waitFor()
}

async function stopAndStart(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await statusOf(page, 'Stopped')
  await page.getByText('Not monitored').waitFor()
  await until('nothing to stop', () => page.getByRole('button', { name: 'Stop', exact: true }).isDisabled())
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await statusOf(page, 'Running')
  await page.getByText('Last: Start succeeded').waitFor()
}

/** Checks that the memory is shared in both directions, and that a reset deletes it on both sides. */
async function seeMemory(page: Page, agentId: string): Promise<void> {
  const memory = async () => {
    const response = await page.request.get(urlOf(page, `/api/memory?agentId=${agentId}`))
    return (await response.json()).memory
  }
  await page.request.post(urlOf(page, '/api/memory'), { data: { agentId, key: 'pets', memory: { cat: 'Bo' } } })
  await page.reload()
  const facts = page.getByRole('list', { name: 'Facts' })
  await facts.getByText('{"cat":"Bo"}').waitFor()
  await page.getByRole('button', { name: 'Add fact', exact: true }).click()
  await page.getByText('This field is required.').first().waitFor()
  await page.getByLabel('Name').fill('favourite-tea')
  await page.getByRole('textbox', { name: 'Fact' }).fill('Green, no sugar')
  await page.getByRole('button', { name: 'Add fact', exact: true }).click()
  await facts.getByText('Green, no sugar').waitFor()
  expect(await memory()).toEqual({ pets: { cat: 'Bo' }, 'favourite-tea': 'Green, no sugar' })
  await page.getByRole('button', { name: 'Delete pets' }).click()
  await facts.getByText('pets').waitFor({ state: 'detached' })
  expect(await memory()).toEqual({ 'favourite-tea': 'Green, no sugar' })
}

async function resetMemory(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Reset memory…' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Reset the memory of Lovelace?' })
  expect(await dialog.textContent()).toContain('snapshot')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  const focused = () => page.evaluate('document.activeElement.textContent')
  await until('the focus to come back', async () => (await focused()) === 'Reset memory…')
  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Reset memory' }).click()
  await page.getByText('Last: Memory reset succeeded').waitFor()
  await page.getByText('Nothing yet').waitFor()
  const history = page.getByRole('region', { name: 'Deployments' }).getByRole('listitem')
  expect(await history.first().textContent()).toContain('Snapshot: backups/')
  expect(await history.count()).toBe(3)
}

/** Restores the data from before the reset; the data after it is kept. */
async function goBack(page: Page): Promise<void> {
  const snapshots = page.getByRole('list', { name: 'Snapshots' }).getByRole('listitem')
  await snapshots.getByText('before: Memory reset').waitFor()
  await snapshots.getByRole('button', { name: /^Restore…/ }).click()
  const dialog = page.getByRole('alertdialog', { name: /^Restore the snapshot from / })
  expect(await dialog.textContent()).toContain('Its current state is saved as a snapshot first')
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByText('Last: Snapshot restore succeeded').waitFor()
  await snapshots.getByText('before: Snapshot restore').waitFor()
  await statusOf(page, 'Running')
}

async function refuseImage(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Update…' }).click()
  await page.getByLabel('Image').fill('not an image')
  await page.getByRole('button', { name: 'Update', exact: true }).click()
  await page.getByRole('alert').getByText('Invalid docker image value').waitFor()
  await statusOf(page, 'Running')
}

async function changeSettings(page: Page): Promise<void> {
  await openTab(page, 'Settings')
  const field = page.getByLabel('Telegram bot token', { exact: true })
  const form = page.locator('form', { has: field })
  await form.getByText('Not set').waitFor()
  await field.fill(BOT_TOKEN)
  await form.getByRole('button', { name: 'Save Telegram bot token' }).click()
  await form.getByText('Set', { exact: true }).waitFor()
  await until('an empty field', async () => (await field.inputValue()) === '')
  await page.reload()
  await form.getByText('Set', { exact: true }).waitFor()
  expect(await page.content()).not.toContain(BOT_TOKEN)
  await form.getByRole('button', { name: 'Remove Telegram bot token' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await form.getByText('Not set').waitFor()

  await page.getByRole('button', { name: 'Show token' }).click()
  await page.locator('code', { hasText: /^gw_/ }).waitFor()
  await page.getByRole('button', { name: 'Hide token' }).click()
  await page.locator('code', { hasText: /^gw_/ }).waitFor({ state: 'detached' })
  await page.getByText('Not verified').waitFor()
  await leaveWithEdits(page)
}

/** Checks that unsaved input survives navigation. */
async function leaveWithEdits(page: Page): Promise<void> {
  const name = page.getByLabel('Name', { exact: true })
  await name.fill('Countess')
  const answers: boolean[] = []
  const answer = async (dialog: Dialog) => {
    answers.push(answers.length > 0)
    expect(dialog.message()).toBe('Discard unsaved changes?')
    await (answers.at(-1) ? dialog.accept() : dialog.dismiss())
  }
  page.on('dialog', answer)
  await openTab(page, 'Overview')
  await until('the question', () => answers.length === 1)
  expect(await name.inputValue()).toBe('Countess')
  await openTab(page, 'Overview')
  await page.getByRole('region', { name: 'Deployments' }).waitFor()
  await openTab(page, 'Settings')
  expect(await name.inputValue()).toBe('Lovelace')
  await name.fill('Lovelace')
  await page.getByRole('button', { name: 'Save name' }).click()
  await page.getByText('Name saved.').waitFor()
  await openTab(page, 'Overview')
  await page.getByRole('region', { name: 'Deployments' }).waitFor()
  expect(answers).toEqual([false, true])
  page.off('dialog', answer)
}

async function fitOnPhone(page: Page, agentId: string): Promise<void> {
  await resizePage(page, PHONE)
  const pages = [
    ['', page.getByRole('list', { name: 'Messages' }).getByText('Good morning').first()],
    ['/overview', page.getByRole('region', { name: 'Deployments' })],
    ['/logs', page.getByText('agent is listening').first()],
    ['/settings', page.getByLabel('Telegram bot token', { exact: true })],
  ] as const
  for (const [path, content] of pages) {
    await page.goto(urlOf(page, `/agents/${agentId}${path}`))
    await content.waitFor()
    const width = Number(await page.evaluate('document.documentElement.scrollWidth'))
    expect([path, width]).toEqual([path, PHONE.width])
  }
}
