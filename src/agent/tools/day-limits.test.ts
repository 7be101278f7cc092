import { expect, onTestFinished, test } from 'bun:test'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { startTelegramDouble } from '../../../tests/harness/doubles/telegram.ts'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { until } from '../../../tests/harness/until.ts'

async function openAgent(limits: object, settings: Parameters<typeof startOwnedAgent>[1] = {}) {
  const agent = await startOwnedAgent({}, settings)
  const path = `/api/agents/${agent.agent.id}/limits`
  expect((await agent.asOwner(path, 'PUT', limits)).status).toBe(200)
  const isWritten = (name: string) =>
    access(join(agent.running.folder, 'workspace', name)).then(
      () => true,
      () => false,
    )
  return {
    ...agent,
    isWritten,
    writeFile: (name: string) => agent.running.runTool('write_file', { path: name, content: 'x' }),
    used: async () => JSON.parse(await (await agent.asOwner(path)).text()).limits,
    [Symbol.asyncDispose]: agent[Symbol.asyncDispose],
  }
}

test('a tool call is not executed, and the model gets the reason, when the daily limit is reached', async () => {
  await using agent = await openAgent({ files: { limit: 1 } })
  expect(await agent.writeFile('a.md')).not.toContain('limit')
  expect(await agent.writeFile('b.md')).toContain('Daily limit of 1 written files reached')
  expect([await agent.isWritten('a.md'), await agent.isWritten('b.md')]).toEqual([true, false])
  expect(await agent.running.runTool('list_files', {})).toContain('a.md')
  expect(await agent.used()).toMatchObject({ files: { used: 1 }, toolCalls: { used: 2 } })
})

test('a tool call waits for the owner when a daily limit is set to ask', async () => {
  await using agent = await openAgent({ toolCalls: { limit: 1, action: 'ask' } })
  await agent.writeFile('a.md')
  const second = agent.writeFile('b.md')
  const question = await agent.question()
  expect(question).toMatchObject({ tool: 'raise_limit' })
  expect(await agent.isWritten('b.md')).toBe(false)
  await agent.decide(question.id, 'approve')
  await second
  expect(await agent.isWritten('b.md')).toBe(true)
  const third = agent.writeFile('c.md')
  await agent.decide((await agent.question()).id, 'deny')
  expect(await third).toContain('Daily limit of 1 tool calls reached')
  expect(await agent.isWritten('c.md')).toBe(false)
})

test('a message is not answered when the daily limit of messages is reached', async () => {
  const telegram = startTelegramDouble()
  onTestFinished(() => telegram.stop())
  const bot = telegram.addBot('42:secret')
  const ada = { id: 7, first_name: 'Ada' }
  const settings = {
    telegram: { token: '42:secret', apiUrl: telegram.url, people: ['7'] },
    retryMs: 20,
    editEveryMs: 20,
  }
  await using agent = await openAgent({ messages: { limit: 1 } }, { channels: settings })
  bot.say(ada, { text: 'Hello' })
  await until('the first answer', () => bot.textsIn(ada.id).length === 1)
  bot.say(ada, { text: 'Hello again' })
  await until('the refusal', async () => (await agent.used()).messages.reached && agent.model.asked.length >= 1)
  await until('the end of the second message', async () => {
    const { messages } = JSON.parse(await (await agent.asOwner(`/api/agents/${agent.agent.id}/messages`)).text())
    return messages.length >= 3
  })
  expect(bot.textsIn(ada.id)).toHaveLength(1)
  expect((await agent.used()).messages).toMatchObject({ used: 1 })
})
