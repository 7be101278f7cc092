import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { type Dashboard, openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent } from '../../harness/client.ts'
import { type Answer, type ProviderDouble, startProvider } from '../../harness/doubles/provider.ts'
import { watchPageTasks } from '../../harness/speed/page-tasks.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
/** Longest allowed task while the page renders a streamed reply of 50 kB. */
const MAX_LONGEST_TASK_MS = 1000

const stack = new AsyncDisposableStack()
let provider: ProviderDouble
let dashboard: Dashboard

beforeAll(async () => {
  await buildDashboard()
  if (!hasBrowser()) return
  provider = stack.use(await startProvider())
  dashboard = stack.use(await openDashboard({ environment: withProvider(provider) }))
}, LIMIT_MS)
afterAll(() => stack.disposeAsync(), LIMIT_MS)

/** Creates an agent with the provider's reply, and opens its conversation. */
async function openChat(answer: Answer = {}) {
  const { page, web, ada, complaints } = dashboard
  provider.answerWith(answer)
  const url = `${web}/agents/${await createAgent(ada, { model: 'openai/gpt-4o-mini' })}`
  complaints.length = 0
  await page.goto(url)
  return { page, complaints, url }
}

const messagesOf = (page: Page) => page.getByRole('list', { name: 'Messages' })
const shows = (page: Page, text: string) => messagesOf(page).getByText(text).first().waitFor()

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

async function isReady(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
}

/** Streams `Once upon `, and the rest when the returned function is called. */
function answerInTwoParts(provider: ProviderDouble): () => void {
  const gate = Promise.withResolvers<void>()
  const beforeEvent = async (index: number) => {
    if (index === 1) await gate.promise
  }
  provider.answerWith({ text: ['Once upon ', 'a time.'], beforeEvent })
  return gate.resolve
}

test.skipIf(!hasBrowser())(
  'chat: a streaming answer continues in every tab and after a reload; a stopped one can be retried after a reload',
  async () => {
    const chat = await openChat()
    const { page, url } = chat
    const goOn = answerInTwoParts(provider)
    await say(page, 'Tell me a story')
    await shows(page, 'Once upon')
    const other = await page.context().newPage()
    await other.goto(url)
    await shows(other, 'Once upon')
    await page.reload()
    await shows(page, 'Once upon')
    goOn()
    for (const tab of [page, other]) {
      await shows(tab, 'Once upon a time.')
      expect(await messagesOf(tab).locator(':scope > li').count()).toBe(2)
    }
    await other.close()

    answerInTwoParts(provider)
    await isReady(page)
    await say(page, 'And another one')
    await until('the second answer', async () => (await messagesOf(page).getByText('Once upon').count()) === 2)
    await page.getByRole('button', { name: 'Stop reply' }).click()
    await shows(page, 'This reply was stopped.')
    await page.reload()
    await shows(page, '· Stopped')
    provider.answerWith({ text: 'There was a queen.' })
    await page.getByRole('button', { name: 'Retry' }).click()
    await shows(page, 'There was a queen.')
    await isReady(page)
    await until(
      'the message exactly once',
      async () => (await messagesOf(page).getByText('And another one').count()) === 1,
    )
    expect(await messagesOf(page).locator(':scope > li').count()).toBe(4)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'chat: a message is edited, copied and retried by keyboard; an agent that does not respond is reported and retried',
  async () => {
    const chat = await openChat({ text: 'A tower with a light.' })
    const { page } = chat
    await say(page, 'What is a lighthous?')
    await shows(page, 'A tower with a light.')
    await isReady(page)
    provider.answerWith({ text: 'A house of light.' })
    await page.getByRole('button', { name: 'Edit message' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Edit your message' }).fill('What is a lighthouse?')
    await page.keyboard.press('Enter')
    await shows(page, 'A house of light.')
    await isReady(page)
    expect(await messagesOf(page).getByText('A tower with a light.').count()).toBe(0)
    expect(await messagesOf(page).locator(':scope > li').count()).toBe(2)

    provider.answerWith({ text: 'A lamp on a rock.' })
    await page.getByRole('button', { name: 'Regenerate' }).focus()
    await page.keyboard.press('Enter')
    await shows(page, 'A lamp on a rock.')
    await isReady(page)
    const answer = messagesOf(page).locator(':scope > li').last()
    await until('its figures', async () => (await answer.textContent())?.includes('1,500 tokens · $0.00045') === true)

    provider.answerWith({ fault: 'hang' })
    await say(page, 'And now?')
    await page.getByText('is taking longer than usual.').waitFor()
    const asked = provider.chats.length
    provider.answerWith({ text: 'Here I am.' })
    await page.getByRole('button', { name: 'Retry', exact: true }).click()
    await shows(page, 'Here I am.')
    await isReady(page)
    await until('the message exactly once', async () => (await messagesOf(page).getByText('And now?').count()) === 1)
    expect(provider.chats.length).toBe(asked + 1)
  },
  LIMIT_MS,
)

const ANSWER = `# A heading

Some **bold** words, \`code\`, a [page](https://example.com/a), a [trap](javascript:alert(1)) and <img src=x onerror=alert(1)>.

- one
- two

- [x] done
- [ ] open

> A quote

| City | People |
| ---- | -----: |
| Ulm  | 126000 |

\`\`\`ts
const answer: number = 42
\`\`\``

test.skipIf(!hasBrowser())(
  'chat: an answer is rendered as Markdown, and none of its code runs',
  async () => {
    const chat = await openChat({ text: ANSWER })
    const { page, complaints } = chat
    await say(page, 'Show me everything')
    const list = messagesOf(page)
    await list.getByRole('heading', { name: 'A heading' }).waitFor()
    const link = list.getByRole('link', { name: 'page' })
    expect(await link.getAttribute('rel')).toContain('noopener')
    expect(await list.getByRole('link').count()).toBe(1)
    expect(await list.locator('img').count()).toBe(0)
    expect(await list.getByRole('checkbox', { name: 'Done' }).isChecked()).toBe(true)
    expect(await list.getByRole('cell', { name: '126000' }).count()).toBe(1)
    await list.locator('blockquote').waitFor()
    await list.locator('.hljs-keyword').getByText('const').waitFor()
    await list.getByRole('button', { name: 'Copy code' }).waitFor()
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

/** Returns 50 kB of every kind of Markdown in chunks of a few words, as a model streams them. */
function longAnswer(): string[] {
  const parts = Array.from({ length: 110 }, (_none, index) => ANSWER.replace('A heading', `Part ${index}`))
  return (
    parts
      .join('\n\n')
      .slice(0, 50_000)
      .match(/[\s\S]{1,24}/g) ?? []
  )
}

test.skipIf(!hasBrowser())(
  'chat: a streaming answer of 50 kB never blocks the page',
  async () => {
    const pieces = longAnswer()
    // As fast as the page can render it, in several hundred bursts.
    const beforeEvent = (index: number) => (index % 8 === 0 ? Bun.sleep(4) : Promise.resolve())
    const chat = await openChat({ text: pieces, beforeEvent })
    const { page } = chat
    const tasks = await watchPageTasks(page)
    const begun = performance.now()
    await say(page, 'Tell me all')
    await messagesOf(page)
      .getByRole('heading', { name: 'Part 109' })
      .or(messagesOf(page).getByText('Part 100'))
      .first()
      .waitFor()
    await isReady(page)
    const { count, sumMs, longestMs } = await tasks.stop()
    console.log(
      `50 kB in ${pieces.length} pieces: ${Math.round(performance.now() - begun)} ms, ${count} tasks, ${Math.round(sumMs)} ms in them, longest ${Math.round(longestMs)} ms`,
    )
    expect(longestMs).toBeLessThan(MAX_LONGEST_TASK_MS)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'chat: a search result opens its message, however old it is',
  async () => {
    const chat = await openChat({ text: 'The treasure lies under the oak.' })
    const { page, url } = chat
    await say(page, 'Where is it?')
    await shows(page, 'under the oak')
    await isReady(page)
    provider.answerWith({ text: 'Nothing new.' })
    await page.evaluate(
      `(async (agentId) => { for (let n = 0; n < 30; n++) await fetch('/api/chat', { method: 'POST',
        headers: { 'content-type': 'application/json' }, body: JSON.stringify({ agentId, message: 'Any news? ' + n }) }) })('${url.split('/').at(-1)}')`,
    )
    await page.goto(url)
    await shows(page, 'Any news? 29')
    expect(await messagesOf(page).getByText('under the oak').count()).toBe(0)
    // Sixty messages scroll inside of their list, so the page itself does not scroll.
    expect(await page.evaluate('document.documentElement.scrollHeight - innerHeight')).toBe(0)
    // Following the link again leads to the same message.
    for (let times = 0; times < 2; times++) {
      await page.getByRole('button', { name: 'Main conversation' }).click()
      await page.getByLabel('Search all conversations').fill('treasure')
      await page.getByRole('list', { name: 'Search results' }).getByText('oak').click()
      const found = messagesOf(page).getByText('under the oak')
      await found.waitFor()
      await until('it to be in sight', async () => {
        const box = await found.boundingBox()
        return box !== null && box.y > 0 && box.y < 600
      })
      await page.getByRole('button', { name: 'Latest' }).click()
    }
  },
  LIMIT_MS,
)
