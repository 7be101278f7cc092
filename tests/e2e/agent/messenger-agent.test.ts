import { beforeAll, expect, onTestFinished, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../../harness/browser.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { startTelegramDouble } from '../../harness/doubles/telegram.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'
import { ADA, answerWithTools, servePage } from '../../integration/journeys/messenger-agent.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const RUN = join(import.meta.dir, '../../../scripts/run')
const TOKEN = '42:secret-of-the-bot'
type Bot = ReturnType<ReturnType<typeof startTelegramDouble>['addBot']>
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'scripts/run with a provider key and a Telegram token: the agent answers, reads a page, reminds, and asks before it deletes; the dashboard shows it',
  async () => {
    const telegram = startTelegramDouble()
    const bot = telegram.addBot(TOKEN)
    const site = servePage()
    onTestFinished(async () => void (await Promise.all([telegram.stop(), site.stop(true)])))
    await using provider = await startProvider(answerWithTools)
    const reaching = { TELEGRAM_API_URL: telegram.url, EGRESS_PRIVATE_HOSTS: '127.0.0.1:*' }
    const environment = { ...withProvider(provider), ...reaching }
    await using installation = await openInstallation({ environment, command: [RUN], serve: [], isEmpty: true })
    const took = startWatch()
    const { web } = (await installation.start()).urls
    took('started')
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    took('browser')
    const agentPath = await createAgent(page, web)
    took('agent')
    await connect(page, agentPath, bot)
    took('connected')

    const shown = (what: string, isShown: (text: string) => boolean) =>
      until(what, () => bot.textsIn(ADA.id).some(isShown)).then(() => took(what))
    bot.say(ADA, { text: 'Hello' })
    await shown('answered', (text) => text === 'You said: Hello')
    bot.say(ADA, { text: `Read ${site.url}tea` })
    await shown('page read', (text) => text.startsWith('read_page:') && text.includes('eighty degrees'))
    bot.say(ADA, { text: 'Remind me of tea' })
    await shown('reminded', (text) => text === 'Tea is ready')
    bot.say(ADA, { text: 'Keep a note' })
    await shown('note kept', (text) => text.startsWith('write_file:'))
    bot.say(ADA, { text: 'Delete the note' })
    const question = await until('the question', () => bot.shown.find(({ buttons }) => buttons.length === 2))
    took('asked')
    await page.goto(`${web}/approvals`)
    await page.getByRole('button', { name: 'Approve delete_file of Lovelace' }).waitFor()
    bot.press(ADA, question, 'Approve')
    await shown('deleted', (text) => text.startsWith('delete_file:') && text.includes('movedTo'))
    await page.getByText('Approved and completed').waitFor()

    await seeConversation(page, agentPath)
    await page.goto(`${agentPath}/schedule`)
    await page.getByText('It is time for tea').first().waitFor()
    took('seen')
    expect(complaints).toEqual([])
    console.info(JSON.stringify(took.seconds))
  },
  LIMIT_MS,
)

/** Records the time in seconds of each observation. */
function startWatch() {
  const startedAt = performance.now()
  const seconds: Record<string, number> = {}
  const note = (what: string) => {
    seconds[what] = Math.round((performance.now() - startedAt) / 10) / 100
  }
  return Object.assign(note, { seconds })
}

/** Creates an agent. @returns the URL of its pages. */
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
  return page.url().replace(/\/agents\/([^/]+).*$/, '/agents/$1')
}

/** Follows the steps of the Telegram section: token, bot name, pairing code, approval. Then selects the owner. */
async function connect(page: Page, agentPath: string, bot: Bot): Promise<void> {
  await page.goto(`${agentPath}/settings`)
  const section = page.locator('section').filter({ has: page.getByRole('heading', { name: /^Telegram/ }) })
  await section.getByLabel('Telegram bot token', { exact: true }).fill(TOKEN)
  await section.getByRole('button', { name: 'Save Telegram bot token' }).click()
  const link = section.getByRole('link', { name: '@ada_bot' }).first()
  await link.waitFor()
  expect(await link.getAttribute('href')).toBe('https://t.me/ada_bot')
  await section.getByText('The bot replies with a pairing code.').waitFor()
  bot.say(ADA, { text: 'Hi' })
  const reported = await until('the pairing code', () => bot.textsIn(ADA.id).find((text) => text.includes('code')))
  const code = reported.slice(reported.lastIndexOf(' ') + 1)
  await section.getByRole('list', { name: 'Pairing requests on Telegram' }).getByText(code, { exact: true }).waitFor()
  await section.getByRole('button', { name: `Approve ${ADA.first_name}` }).click()
  await section.getByRole('list', { name: 'Allowed senders on Telegram' }).getByText(ADA.first_name).waitFor()
  await page.getByLabel('Telegram user ID').fill(String(ADA.id))
  await page.getByRole('button', { name: 'Save senders' }).click()
  await page.getByText('Saved.').waitFor()
  await section.getByText('Connected', { exact: true }).waitFor()
}

async function seeConversation(page: Page, agentPath: string): Promise<void> {
  await resizePage(page, PHONE)
  await page.goto(`${agentPath}/settings`)
  await page.getByRole('button', { name: 'Read the conversation with 7' }).click()
  const said = page.getByRole('list', { name: 'Conversation with 7' })
  for (const text of ['You said: Hello', 'eighty degrees', 'Remind me of tea', 'Delete the note'])
    await said.getByText(text).first().waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
}
