import { expect, test } from 'bun:test'
import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fails, hangs, says } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

const LONG = 'x'.repeat(9000)
const History = z.object({ items: z.array(z.looseObject({ role: z.string(), content: z.string() })) })

/** Sends turns of 18,000 characters each, of which three fit into a model request. */
async function talk(agent: Agent, turns: number, from = 0) {
  for (let turn = from; turn < from + turns; turn++) {
    agent.platform.next(says(`${turn} ${LONG}`))
    const response = await agent.chat(`question ${turn} ${LONG}`, 's')
    expect(response.status).toBe(200)
  }
}
const history = async (agent: Agent) =>
  History.parse(await (await agent.call('/sessions/s/history?limit=500')).json()).items
const summaries = async (agent: Agent) => (await history(agent)).filter(({ role }) => role === 'summary')
const sentMessages = (agent: Agent) =>
  (agent.platform.asked.at(-1)?.messages ?? []).slice(1).map(({ content }) => String(content))

test('a session is summarised once when it exceeds the window; the summary precedes the kept turns, also after a restart', async () => {
  await using agent = await startTestAgent()
  await talk(agent, 4)
  const calls = agent.platform.asked.length
  agent.platform.next(says('Ada likes tea'), says('answer'))
  const response = await agent.chat('next', 's')
  // The usage of a turn includes its summary.
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }
  expect(await response.json()).toMatchObject({ usage })
  expect(agent.platform.asked).toHaveLength(calls + 2)
  const asked = agent.platform.asked.at(-2)
  expect(asked?.tools).toBeUndefined()
  expect(String(asked?.messages[1]?.content)).toContain('User: question 0')
  expect(agent.prompt()).toContain('The 6 messages of this conversation before those you see are summarised here')
  expect(agent.prompt()).toContain('\nAda likes tea\n')
  expect(sentMessages(agent).map((text) => text.slice(0, 10))).toEqual(['question 3', '3 xxxxxxxx', 'next'])

  await agent.restart()
  await agent.chat('again', 's')
  expect(agent.platform.asked).toHaveLength(calls + 3)
  expect(agent.prompt()).toContain('\nAda likes tea\n')
  expect(sentMessages(agent).slice(2)).toEqual(['next', 'answer', 'again'])
})

test('GET /sessions/:key/history: 200 with a summary, marked as such, and the messages it covers', async () => {
  await using agent = await startTestAgent()
  await talk(agent, 4)
  agent.platform.next(says('Ada likes tea'))
  await agent.chat('next', 's')
  const items = await history(agent)
  expect(items).toHaveLength(11)
  expect(items[8]).toEqual({
    role: 'summary',
    content: 'Ada likes tea',
    coveredCount: 6,
    timestamp: expect.stringMatching(/^\d{4}-/),
  })
  expect(items[0]?.content).toStartWith('question 0')
  expect(await (await agent.call('/sessions')).json()).toMatchObject({ sessions: [{ key: 's', messageCount: 10 }] })
})

test('the next summary covers the previous one and newer messages', async () => {
  await using agent = await startTestAgent()
  await talk(agent, 4)
  agent.platform.next(says('first summary'), says('short'))
  await agent.chat('next', 's')
  await talk(agent, 3, 4)
  agent.platform.next(says('second summary'))
  await agent.chat('and now', 's')
  const transcript = String(agent.platform.asked.at(-2)?.messages[1]?.content)
  const parts = ['first summary', 'User: next', 'question 0'].map((part) => transcript.includes(part))
  expect(parts).toEqual([true, true, false])
  expect(agent.prompt()).toContain('\nsecond summary\n')
  expect(agent.prompt()).not.toContain('first summary')
  expect((await summaries(agent)).map(({ content }) => content)).toEqual(['first summary', 'second summary'])
})

test('a turn continues when its summary fails: the model gets a note, and retries are limited', async () => {
  await using agent = await startTestAgent()
  await talk(agent, 4)
  agent.platform.next(fails(500, 'broken'), says('answer'))
  expect((await agent.chat('next', 's')).status).toBe(200)
  expect(agent.prompt()).toContain('2 older messages of this conversation are left out here')
  expect(await summaries(agent)).toEqual([])
  const calls = agent.platform.asked.length
  await agent.chat('again', 's')
  expect(agent.platform.asked).toHaveLength(calls + 1)
  expect(agent.prompt()).toContain('older messages of this conversation are left out here')
  for (let turn = 0; turn < 3; turn++) await agent.chat('on', 's')
  agent.platform.next(says('Ada likes tea'))
  await agent.chat('later', 's')
  expect(agent.prompt()).toContain('\nAda likes tea\n')
})

test('a turn has time for the answer when a summary does not end, and ends when its caller disconnects', async () => {
  await using agent = await startTestAgent({ maxTurnMs: 5000 })
  await talk(agent, 4)
  const slow = hangs('slow')
  agent.platform.next(slow.answerer, says('answer'))
  expect((await agent.chat('next', 's')).status).toBe(200)
  await slow.aborted
  expect(agent.prompt()).toContain('are left out here')
})

test('a long session of an earlier version is summarised up to a limit, and the prompt counts the rest', async () => {
  await using agent = await startTestAgent()
  await talk(agent, 1)
  const [name = ''] = await readdir(join(agent.folder, 'sessions'))
  const turns = Array.from({ length: 11 }, (_, index) => {
    const said = { content: `${index + 1} ${LONG}`, timestamp: '2026-01-01T00:00:00.000Z' }
    const messages = [
      { role: 'user', ...said },
      { role: 'assistant', ...said },
    ]
    return `${JSON.stringify({ messageCount: 2 * (index + 2), messages })}\n`
  })
  await appendFile(join(agent.folder, 'sessions', name), turns.join(''))
  agent.platform.next(says('Ada likes tea'))
  await agent.chat('now', 's')
  // One turn is kept, three are summarised, and eight are left out.
  expect(agent.prompt()).toContain('The 22 messages of this conversation')
  expect(agent.prompt()).toContain('The oldest 16 are not part of it.')
  expect(agent.prompt()).toContain('\nAda likes tea\n')
})
