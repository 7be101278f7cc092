import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'

const MINI = 'openai/gpt-4o-mini'
const PATH = '/v1/chat/completions'
const USED = { prompt_tokens: 1000, completion_tokens: 500 }

test.each([
  ['fewer tokens than none', { prompt_tokens: -1, completion_tokens: 5 }],
  ['more tokens than there are', { prompt_tokens: 9e15, completion_tokens: 9e15 }],
  ['a number that is none', { prompt_tokens: 1e308, completion_tokens: 1 }],
])(`POST ${PATH}: 200 with counted usage when a provider reports %s`, async (_what, usage) => {
  await using test = await aiPlatform()
  const { agentToken } = await test.join()
  const headers = { authorization: `Bearer ${agentToken}` }
  for (const stream of [false, true]) {
    test.provider.answerWith({ usage })
    const answer = await test.ask(PATH, { model: MINI, stream, messages: [{ role: 'user', content: 'Hi' }] }, headers)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toContain('Hello.')
  }
  const rows = await test.recordedUsage()
  expect(rows).toHaveLength(2)
  for (const row of rows) {
    expect(row).toMatchObject({ success: true, estimated: true, attempts: 1 })
    expect(row.inputTokens + row.outputTokens).toBeLessThan(100)
  }
})

test.each([[1e300], [1e13], [-3]])(
  `POST ${PATH}: 200 with limited cost when a provider reports a cost of %d US dollars; other costs are recorded as reported`,
  async (cost) => {
    await using test = await aiPlatform()
    const { agentToken } = await test.join()
    const headers = { authorization: `Bearer ${agentToken}` }
    const ask = (stream: boolean) =>
      test.ask(PATH, { model: MINI, stream, messages: [{ role: 'user', content: 'Hi' }] }, headers)
    for (const usage of [{ ...USED, cost }, USED, { ...USED, cost: 0.5 }]) {
      test.provider.answerWith({ usage })
      for (const stream of [false, true]) {
        const answer = await ask(stream)
        expect(answer.status).toBe(200)
        await answer.text()
      }
    }
    const rows = await test.recordedUsage()
    // Cost by the price list: 1000 at 0.15 and 500 at 0.60 for a million.
    expect(rows.map(({ costMicroUsd }) => costMicroUsd)).toEqual([450, 450, 450, 450, 500_000, 500_000])
  },
)
