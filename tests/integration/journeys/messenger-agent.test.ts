import { expect, onTestFinished, test } from 'bun:test'
import { ApprovalList } from '../../../src/features/conversations/approvals/schemas.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { startTelegramDouble } from '../../harness/doubles/telegram.ts'
import { json, read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from './main-job.ts'
import { ADA, answerWithTools, servePage } from './messenger-agent.ts'

const TOKEN = '42:secret-of-the-bot'

test('a provider key and a Telegram token are enough: the agent answers, reads a page, reminds, and asks before it deletes', async () => {
  const telegram = startTelegramDouble()
  const bot = telegram.addBot(TOKEN)
  const site = servePage()
  onTestFinished(async () => {
    await Promise.all([telegram.stop(), site.stop(true)])
  })
  await using provider = await startProvider(answerWithTools)
  const environment = {
    ...withProvider(provider),
    TELEGRAM_API_URL: telegram.url,
    EGRESS_PRIVATE_HOSTS: '127.0.0.1:*',
  }
  await using installation = await openInstallation({ environment })
  const startedAt = performance.now()
  const took: Record<string, number> = {}
  const shown = async (what: string, isShown: (text: string) => boolean) => {
    await until(what, () => bot.textsIn(ADA.id).some(isShown))
    took[what] = Math.round(performance.now() - startedAt)
  }
  const program = await installation.start()
  const ada = await signUp(program.urls.web)
  const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
  const config = { telegramToken: TOKEN, telegramUserId: String(ADA.id) }
  const saved = await fetch(`${ada.web}/api/agents/${agentId}/config`, json('PUT', config, ada.cookie))
  expect(saved.status).toBe(200)

  bot.say(ADA, { text: 'Hello' })
  await shown('the first answer', (text) => text === 'You said: Hello')
  bot.say(ADA, { text: `Read ${site.url}tea` })
  await shown('what the page says', (text) => text.startsWith('read_page:') && text.includes('eighty degrees'))
  bot.say(ADA, { text: 'Remind me of tea' })
  await shown('the reminder', (text) => text === 'Tea is ready')
  bot.say(ADA, { text: 'Keep a note' })
  await shown('the note', (text) => text.startsWith('write_file:'))
  bot.say(ADA, { text: 'Delete the note' })
  const question = await until('the question', () => bot.shown.find(({ buttons }) => buttons.length === 2))
  expect(question.text).toContain('May I delete this file?')
  expect((await read(ApprovalList, ada.get('/api/approvals?status=waiting'))).approvals).toMatchObject([
    { agentId, tool: 'delete_file' },
  ])
  bot.press(ADA, question, 'Approve')
  await shown('the deletion', (text) => text.startsWith('delete_file:') && text.includes('movedTo'))

  expect((await read(ApprovalList, ada.get('/api/approvals'))).approvals).toMatchObject([{ status: 'used' }])
  const seen = async (path: string) => JSON.stringify(await (await ada.get(path)).json())
  expect(await seen(`/api/agents/${agentId}/channels`)).toContain('"connected":true')
  expect(await seen('/api/scheduled-tasks')).toContain('It is time for tea')
  expect(await seen('/api/chat')).toContain('It is time for tea')
  console.info(JSON.stringify(took))
}, 600_000)
