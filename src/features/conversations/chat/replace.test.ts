import { expect, test } from 'bun:test'
import { startStreamingAgent } from '../../../../tests/harness/doubles/streaming-agent.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { MessageList } from './schemas.ts'

/** Creates Ada, whose agent answers with the given texts. */
async function withConversation() {
  const installation = await startStreamingAgent()
  const { web, ada, agent } = installation
  const post = (body: object, who = ada) => web.request('/api/chat', json('POST', body, who.cookie))
  const list = async (query = '') =>
    (await read(MessageList, web.request(`/api/chat${query}`, { headers: ada.cookie }))).messages
  return {
    ...installation,
    post,
    list,
    contents: async (query = '') => (await list(query)).map(({ content }) => content),
    async say(message: string, reply: string, more: object = {}) {
      const count = agent.calls.length
      const asking = post({ message, ...more })
      await until('the question', () => agent.calls.length > count)
      agent.say(reply)
      agent.finish()
      expect((await asking).status).toBe(200)
    },
    async idOf(content: string) {
      return (await list()).find((message) => message.content === content)?.id
    },
  }
}

test('POST /api/chat: 200 with replaces continues from there, and replaced messages stay readable', async () => {
  const { say, idOf, contents, agent } = await withConversation()
  await say('One', 'First')
  await say('Two', 'Second')
  await say('Three', 'Third')
  await say('Two, better', 'Better', { replaces: await idOf('Two') })
  expect(await contents()).toEqual(['One', 'First', 'Two, better', 'Better'])
  expect(await contents(`?replacedBy=${await idOf('Two, better')}`)).toEqual(['Two', 'Second', 'Three', 'Third'])
  // The agent's session restarts with the earlier messages.
  const [before, branch] = agent.calls.slice(-2)
  expect(branch?.sessionKey).toStartWith(`${before?.sessionKey}:msg_`)
  expect(branch?.messages).toEqual(['One', 'First', 'Two, better'])
  await say('Four', 'Fourth')
  expect(agent.calls.at(-1)).toMatchObject({ sessionKey: branch?.sessionKey, messages: ['Four'] })
  await say('Two, best', 'Best', { replaces: await idOf('Two, better') })
  expect(await contents()).toEqual(['One', 'First', 'Two, best', 'Best'])
  expect(await contents(`?replacedBy=${await idOf('Two, best')}`)).toEqual(['Two, better', 'Better', 'Four', 'Fourth'])
})

test('POST /api/chat: 404 when replaces names an answer, another user’s message or a replaced one, 409 during its turn', async () => {
  const { say, idOf, post, signIn, agent, contents } = await withConversation()
  await say('One', 'First')
  const one = await idOf('One')
  const eve = await signIn('eve@example.com')
  const [answer, foreign] = [
    await post({ message: 'x', replaces: await idOf('First') }),
    await post({ message: 'x', replaces: one }, eve),
  ]
  expect([answer.status, await answer.json()]).toEqual([404, { error: 'Message not found' }])
  expect(foreign.status).toBe(404)
  await say('One again', 'Again', { replaces: one })
  expect((await post({ message: 'x', replaces: one })).status).toBe(404)

  const asking = post({ message: 'Two' })
  await until('the question', () => agent.calls.length === 3)
  const early = await post({ message: 'x', replaces: await idOf('Two') })
  expect([early.status, await early.json()]).toEqual([
    409,
    { error: 'The reply is still under way', code: 'TURN_RUNNING' },
  ])
  agent.say('Second')
  agent.finish()
  await asking
  expect(await contents()).toEqual(['One again', 'Again', 'Two', 'Second'])
})
