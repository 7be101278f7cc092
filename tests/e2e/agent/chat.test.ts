import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser } from '../../harness/browser.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { type ProviderDouble, startProvider } from '../../harness/doubles/provider.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { openCuttableProxy } from '../../harness/wires/cuttable.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PASSWORD = 'correct horse battery staple'

beforeAll(buildDashboard, LIMIT_MS)

/** Starts a model that streams `Once upon ` and continues on request. */
async function startPausingModel() {
  const provider = await startProvider()
  return {
    provider,
    hold() {
      provider.answerWith({ text: ['Once upon ', 'a time.'], fault: { hangAfterEvents: 1 } })
    },
    /** Delays replies before their first word. */
    wait() {
      const gate = Promise.withResolvers<void>()
      provider.answerWith(async () => {
        await gate.promise
        return { text: 'Here I am.' }
      })
      return gate.resolve
    },
    [Symbol.asyncDispose]: () => provider.stop(),
  }
}

test.skipIf(!hasBrowser())(
  'chat: a conversation is kept when the page is left, in two tabs, stopped and offline, with its draft',
  async () => {
    await using teller = await startPausingModel()
    await using installation = await openInstallation({ environment: withProvider(teller.provider) })
    const program = await installation.start()
    const agentId = await createAgent(await signUp(program.urls.web), { model: 'openai/gpt-4o-mini' })
    await using way = await openCuttableProxy(Number(new URL(program.urls.web).port))
    const web = `http://localhost:${way.port}`
    await using browser = await openBrowser(web)
    const { page } = browser
    await signIn(page, web)

    await leaveAndComeBack(page, `${web}/agents/${agentId}`, teller)
    await talkInTwoTabs(page, `${web}/agents/${agentId}`, teller)
    await stopInTheMiddle(page, teller)
    await loseConnection(page, teller, way)
    await keepDraft(page, web, agentId)
    await keepConversations(page, teller)
    await showTools(page, teller)
    await tryAgain(page, teller)
    await attachFile(page, teller)
  },
  LIMIT_MS,
)

async function signIn(page: Page, web: string): Promise<void> {
  await page.goto(`${web}/login`)
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

const messagesOf = (page: Page) => page.getByRole('list', { name: 'Messages' })
const shows = (page: Page, text: string) => messagesOf(page).getByText(text).first().waitFor()

function asked(provider: ProviderDouble, count: number): Promise<boolean> {
  return until(`${count} questions to the model`, () => provider.chats.length === count)
}

async function leaveAndComeBack(
  page: Page,
  url: string,
  { wait, provider }: Awaited<ReturnType<typeof startPausingModel>>,
) {
  const letGo = wait()
  await page.goto(url)
  await say(page, 'Where are you?')
  await asked(provider, 1)
  await page.goto('about:blank')
  await page.goto(url)
  await shows(page, 'Where are you?')
  await page.getByText('is replying').waitFor({ state: 'attached' })
  letGo()
  await shows(page, 'Here I am.')
  await page.getByRole('button', { name: 'Send' }).waitFor()
  expect(await messagesOf(page).getByRole('listitem').count()).toBe(2)
  expect(provider.chats).toHaveLength(1)
}

async function talkInTwoTabs(
  page: Page,
  url: string,
  { wait, provider }: Awaited<ReturnType<typeof startPausingModel>>,
) {
  const letGo = wait()
  const other = await page.context().newPage()
  await other.goto(url)
  await shows(other, 'Here I am.')
  await say(page, 'And in the other tab?')
  await asked(provider, 2)
  await shows(other, 'And in the other tab?')
  await other.getByText('is replying').waitFor({ state: 'attached' })
  letGo()
  for (const tab of [page, other]) {
    await until('both answers', async () => (await messagesOf(tab).getByText('Here I am.').count()) === 2)
    await tab.getByRole('button', { name: 'Send' }).waitFor()
    expect(await messagesOf(tab).getByRole('listitem').count()).toBe(4)
  }
  await other.close()
}

async function stopInTheMiddle(page: Page, { hold, provider }: Awaited<ReturnType<typeof startPausingModel>>) {
  hold()
  await say(page, 'Tell me a story')
  await shows(page, 'Once upon')
  await page.getByRole('button', { name: 'Stop reply' }).click()
  await page.getByText('This reply was stopped.').waitFor()
  await shows(page, '· Stopped')
  expect(await provider.chats.at(-1)?.closed).toBe('aborted')
  await page.reload()
  await shows(page, 'Once upon')
  await shows(page, '· Stopped')
}

async function loseConnection(
  page: Page,
  { wait, provider }: Awaited<ReturnType<typeof startPausingModel>>,
  way: { cut(): void; mend(): void },
) {
  const before = await messagesOf(page).getByText('Here I am.').count()
  const letGo = wait()
  await say(page, 'Are you still there?')
  await asked(provider, 4)
  way.cut()
  await page.getByText('Connection lost.').waitFor()
  letGo()
  way.mend()
  await until('the answer', async () => (await messagesOf(page).getByText('Here I am.').count()) === before + 1)
  await page.getByRole('button', { name: 'Send' }).waitFor()
  expect(provider.chats).toHaveLength(4)
}

async function keepDraft(page: Page, web: string, agentId: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message' })
  await box.fill('A thought that is not fin')
  await page.goto(`${web}/agents`)
  await page.goto(`${web}/agents/${agentId}`)
  await until('the draft', async () => (await box.inputValue()) === 'A thought that is not fin')
}

async function keepConversations(
  page: Page,
  { provider }: Awaited<ReturnType<typeof startPausingModel>>,
): Promise<void> {
  provider.answerWith({ text: 'A lighthouse is a tower.' })
  await page.getByRole('button', { name: 'New conversation' }).click()
  await page.getByText('No messages yet.').waitFor()
  await say(page, 'What is a lighthouse?')
  await shows(page, 'A lighthouse is a tower.')
  await page.reload()
  await shows(page, 'A lighthouse is a tower.')

  await page.getByRole('button', { name: 'What is a lighthouse?' }).click()
  const panel = page.getByRole('region', { name: 'Conversations' })
  await panel.getByRole('button', { name: 'Rename What is a lighthouse?' }).click()
  await panel.getByLabel('Conversation title').fill('Towers')
  await panel.getByRole('button', { name: 'Save title' }).click()
  await panel.getByRole('button', { name: 'Instructions for Towers' }).click()
  await panel.getByLabel('Instructions for this conversation').fill('Name the height of every tower.')
  await panel.getByRole('button', { name: 'Save instructions' }).click()
  await panel.getByRole('button', { name: 'Instructions for Towers' }).click()
  const kept = panel.getByLabel('Instructions for this conversation')
  expect(await kept.inputValue()).toBe('Name the height of every tower.')
  await panel.getByRole('button', { name: 'Cancel' }).click()
  await panel.getByRole('button', { name: 'Main conversation' }).click()
  await shows(page, 'Once upon')
  expect(await messagesOf(page).getByText('A lighthouse is a tower.').count()).toBe(0)

  await page.getByRole('button', { name: 'Main conversation' }).click()
  await panel.getByLabel('Search all conversations').fill('lightho')
  await panel.getByRole('list', { name: 'Search results' }).getByText('is a tower').click()
  await shows(page, 'A lighthouse is a tower.')

  await page.getByRole('button', { name: 'Towers', exact: true }).click()
  await panel.getByRole('button', { name: 'Delete Towers' }).click()
  await page.getByRole('button', { name: 'Delete conversation' }).click()
  await shows(page, 'Once upon')
  await until('the end of the conversation', async () => (await panel.getByText('Towers').count()) === 0)
}

async function showTools(page: Page, { provider }: Awaited<ReturnType<typeof startPausingModel>>): Promise<void> {
  provider.answerWith(({ body }) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: 'It is written.' }
      : { toolCalls: [{ name: 'write_file', arguments: { path: 'tea.md', content: 'Tea at four.' } }] },
  )
  await say(page, 'Write it down')
  await shows(page, 'It is written.')
  await page.getByRole('button', { name: 'Send' }).waitFor()
  const reply = messagesOf(page).locator('> li').last()
  await reply.getByText('write_file').click()
  await reply.getByText('Tea at four.').waitFor()
  expect(await reply.textContent()).toContain('openai/gpt-4o-mini · 3,000 tokens')
}

async function tryAgain(page: Page, { provider }: Awaited<ReturnType<typeof startPausingModel>>): Promise<void> {
  provider.answerWith({ text: ['Half of ', 'it.'], fault: { hangAfterEvents: 1 } })
  await say(page, 'All of it, please')
  await shows(page, 'Half of')
  await page.getByRole('button', { name: 'Stop reply' }).click()
  provider.answerWith({ text: 'The whole.' })
  await page.getByRole('button', { name: 'Retry' }).click()
  await shows(page, 'The whole.')
  await until(
    'the message exactly once',
    async () => (await messagesOf(page).getByText('All of it, please').count()) === 1,
  )
  expect(await messagesOf(page).getByText('Half of').count()).toBe(0)
}

async function attachFile(page: Page, { provider }: Awaited<ReturnType<typeof startPausingModel>>): Promise<void> {
  const before = provider.chats.length
  provider.answerWith({ text: 'Read.' })
  const file = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('The kettle is blue.') }
  await page.getByLabel('Files to attach').setInputFiles(file)
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
  // A file dropped on the message list is attached too; by default, the browser would open it and leave the page.
  await dropFile(page, 'dropped.txt')
  await page.getByRole('button', { name: 'Remove dropped.txt' }).click()
  // The draft keeps its uploads.
  await page.reload()
  await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
  await say(page, 'What colour is it?')
  await shows(page, 'Read.')
  expect(JSON.stringify(provider.chats[before]?.body)).toContain('The kettle is blue.')
  await page.reload()
  await messagesOf(page).getByRole('list', { name: 'Attached files' }).getByText('notes.txt').waitFor()
}

async function dropFile(page: Page, name: string): Promise<void> {
  const isTaken = await page.evaluate(`(() => {
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File(['The kettle is red.'], '${name}', { type: 'text/plain' }))
    const order = { dataTransfer, bubbles: true, cancelable: true }
    const target = document.querySelector('section[aria-label^="Conversation with"]')
    return !target.dispatchEvent(new DragEvent('dragover', order)) && !target.dispatchEvent(new DragEvent('drop', order))
  })()`)
  expect(isTaken).toBe(true)
}
