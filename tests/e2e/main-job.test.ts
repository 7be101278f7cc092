import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { answerLikeAModel, withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const ADA = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery staple' }
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the main job: a browser signs up, creates an agent, chats with it, sees the cost, signs out and signs in again',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser

    await page.goto(`${web}/agents`)
    await page.waitForURL(/\/login/)
    await page.getByRole('link', { name: 'Sign up' }).click()
    await signUp(page, 'No agents yet')
    await createAgent(page)
    await talk(page)
    await readCost(page)
    await comeBack(page)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'documents, sign-up and a conversation with long words and lines: do not scroll sideways at 360 pixels',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await resizePage(page, PHONE)
    for (const path of ['/docs', '/docs/http-api', '/docs/configuration', '/login', '/signup']) {
      await page.goto(`${web}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    }
    await signUp(page, 'Overview')
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await createAgent(page)
    await say(page, `A ${'very'.repeat(60)} long word, and a long line of code:\n\n    ${'x = '.repeat(80)}1`)
    await replyOf(page, 'You said: A very')
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.goto(`${web}/no/such/page`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    // The browser logs the expected 404 of the missing page.
    expect(complaints).toEqual([expect.stringContaining('status of 404')])
  },
  LIMIT_MS,
)

/** Signs up and waits for the requested page, which has this title. */
async function signUp(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { name: 'Create your account' }).waitFor()
  await page.getByLabel('Name').fill(ADA.name)
  await page.getByLabel('Email').fill(ADA.email)
  await page.getByLabel('Password').fill(ADA.password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: title }).waitFor()
}

async function createAgent(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Create agent' }).click()
  await refuseAtLowerEdge(page)
  await page.getByLabel('Name').fill('Lovelace')
  await page.getByLabel('Model').selectOption('openai/gpt-4o-mini')
  await page.getByRole('button', { name: 'Create agent' }).click()
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await page.getByRole('heading', { name: 'Lovelace', level: 1 }).waitFor()
}

/** Checks that a field's error is visible even if the field is at the lower edge of the window. */
async function refuseAtLowerEdge(page: Page): Promise<void> {
  const size = page.viewportSize() ?? PHONE
  const name = page.getByLabel('Name')
  const box = await name.boundingBox()
  await resizePage(page, { width: size.width, height: Math.ceil((box?.y ?? 0) + (box?.height ?? 0)) })
  await name.press('Enter')
  const reason = await page.getByText('This field is required.').boundingBox()
  expect((reason?.y ?? 0) + (reason?.height ?? 0)).toBeLessThanOrEqual(await page.evaluate('innerHeight'))
  await resizePage(page, size)
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

/** Waits for a reply in the message list; the live region for screen readers repeats its text. */
function replyOf(page: Page, text: string): Promise<void> {
  return page.getByRole('list', { name: 'Messages' }).getByText(text).waitFor()
}

async function talk(page: Page): Promise<void> {
  await say(page, 'Good morning')
  await replyOf(page, 'You said: Good morning')
  await say(page, 'Please keep a note')
  await replyOf(page, 'The note says: Tea at four.')
  await page.reload()
  await replyOf(page, 'The note says: Tea at four.')
  // The tools used in a reply are a nested list.
  expect(await page.getByRole('list', { name: 'Messages' }).locator(':scope > li').count()).toBe(4)
}

/** Checks the cost of four calls of 1,000 input and 500 output tokens at $0.15 and $0.60 per million. */
async function readCost(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Cost' }).click()
  await page.getByTitle('$0.0018', { exact: true }).waitFor()
  for (const [table, name] of [
    ['agent', 'Lovelace'],
    ['model', 'openai/gpt-4o-mini'],
  ] as const) {
    const row = page.getByRole('group', { name: `Cost by ${table}` }).getByRole('row', { name })
    expect(await row.getByRole('cell').allTextContents()).toEqual(['$0.0018', '4', '6K'])
  }
  expect(await page.getByText('Sample data').count()).toBe(0)
}

async function comeBack(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Agents' }).click()
  const list = page.getByRole('list', { name: 'Your agents' })
  await list.getByText('Running').waitFor()
  await page.getByRole('button', { name: `Account ${ADA.email}` }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('Email').fill(ADA.email)
  await page.getByLabel('Password').fill(ADA.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await list.getByRole('link', { name: 'Lovelace' }).waitFor()
}

function widthOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth')
}
