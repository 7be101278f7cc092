import { expect, onTestFinished, test } from 'bun:test'
import { hangs } from '../../../../../tests/harness/doubles/platform.ts'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { json, read } from '../../../../../tests/harness/requests.ts'
import { startTestAgent } from '../../../../../tests/harness/test-agent.ts'
import { until } from '../../../../../tests/harness/until.ts'
import { write } from '../../../../db/write.ts'
import { insertAgent, openTokens } from '../../../agents/registry/agents.ts'
import { agents } from '../../../agents/registry/tables.ts'
import { MessageList, TurnList } from '../schemas.ts'
import { chatTurns } from '../tables.ts'

/** Starts a platform and stops it while its agent answers; `next` is the platform started afterwards. */
async function withCutTurn() {
  const first = testPlatform()
  const ada = await first.signIn()
  const kind = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const { platform, clock } = first
  const row = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: ada.user.id }),
  )
  const { gatewayToken } = openTokens(platform.sealer, row)
  const agent = await startTestAgent({ gatewayToken })
  onTestFinished(() => agent[Symbol.asyncDispose]())
  const model = hangs('begun ')
  agent.platform.next(model.answerer)
  const port = Number(new URL(agent.url).port)
  await write(platform.db, (tx) => tx.update(agents).set({ port }).run())
  const headers = { ...ada.cookie, prefer: 'respond-async' }
  expect((await first.web.request('/api/chat', json('POST', { message: 'Hello' }, headers))).status).toBe(202)
  const running = async () =>
    (await read(TurnList, first.web.request('/api/chat/turns', { headers: ada.cookie }))).turns
  await until('the first word', async () => (await running())[0]?.text === 'begun ')
  await platform.conversations.turns.close()
  const next = testPlatform({ connection: platform.connection, closeLater: () => undefined })
  return {
    agent,
    model,
    next,
    state: () => platform.db.select().from(chatTurns).get()?.state,
    texts: async () =>
      (await read(MessageList, next.web.request('/api/chat', { headers: ada.cookie }))).messages.map(
        ({ content, status }) => [content, status],
      ),
    setStatus: (status: 'stopped') => write(platform.db, (tx) => tx.update(agents).set({ status }).run()),
  }
}

test('a turn continues in the next platform when the platform ends during it', async () => {
  const { agent, model, next, state, texts } = await withCutTurn()
  expect(state()).toBe('running')
  next.platform.conversations.turns.resume()
  model.release()
  await until('the end', () => state() === 'done')
  const [question, reply] = await texts()
  expect([question, reply?.[1]]).toEqual([['Hello', 'sent'], 'sent'])
  expect(reply?.[0]).toStartWith('begun ')
  expect(reply?.[0]).toContain('late')
  expect(agent.platform.asked).toHaveLength(1)
})

test('an answer that was completed while no platform ran is fetched, not requested again', async () => {
  const { agent, model, next, state, texts } = await withCutTurn()
  model.release()
  await until('the end of the model', async () => {
    const { sessions } = JSON.parse(await (await agent.call('/health')).text())
    return sessions === 1
  })
  next.platform.conversations.turns.resume()
  await until('the end', () => state() === 'done')
  expect((await texts())[1]?.[0]).toContain('late')
  expect(agent.platform.asked).toHaveLength(1)
})

test('a turn fails and keeps its text when its agent was stopped in the meantime', async () => {
  const { next, state, texts, setStatus } = await withCutTurn()
  await setStatus('stopped')
  next.platform.conversations.turns.resume()
  await until('the end', () => state() === 'failed')
  expect(await texts()).toEqual([
    ['Hello', 'failed'],
    ['begun ', 'failed'],
  ])
})
