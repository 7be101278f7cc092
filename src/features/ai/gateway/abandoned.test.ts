import { expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import type { Answer } from '../../../../tests/harness/doubles/provider.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readAllEvents, readEvents } from '../../../../tests/harness/wires/events.ts'

const OPENAI = '/v1/chat/completions'
const MINI = 'openai/gpt-4o-mini'
const QUESTION = '今天天气很好，我们去公园散步，然后回家吃晚饭。'.repeat(20)
const ASKED = { model: MINI, messages: [{ role: 'user', content: QUESTION }], max_tokens: 700 }
/** The frame around a message, its role and its words: a character of this alphabet is far more than a quarter token. */
const INPUT_TOKENS = 4 + countTokens('user') + countTokens(QUESTION)
const TEXT = ['Once upon a time ', 'there was a house ', 'whose roof was whole.']
/** Long enough for whatever does answer. */
const SLOW_MS = 1500

/** A call whose caller leaves when the provider has begun as `answer` says. */
async function leave(answer: Answer, body: object = ASKED, path = OPENAI) {
  const test = await aiPlatform()
  const { key, user } = await test.join('solo')
  test.provider.answerWith(answer)
  const caller = new AbortController()
  const asking = test.backend.request(path, { ...json('POST', body, bearer(key)), signal: caller.signal })
  return { ...test, key, user, caller, asking }
}

function expectInput(tokens: number | undefined) {
  expect(Math.abs((tokens ?? 0) - INPUT_TOKENS)).toBeLessThan(INPUT_TOKENS / 50)
}

test.each([[ASKED], [{ ...ASKED, stream: true }]])(
  'a caller who disconnects before the first word is recorded with input and reserved output: %#',
  async (body) => {
    await using test = await leave({ fault: 'hang' }, body)
    await until('the call at the provider', () => test.provider.chats.length > 0)
    test.caller.abort()
    await test.asking.catch(() => undefined)
    expect(await test.provider.chats[0]?.closed).toBe('aborted')
    const [row, ...others] = await test.recordedUsage()
    expect(others).toEqual([])
    expect(row).toMatchObject({ success: false, estimated: true, outputTokens: 700, model: MINI, endpoint: OPENAI })
    expectInput(row?.inputTokens)
    expect(row?.costMicroUsd).toBe(Math.round((row?.inputTokens ?? 0) * 0.15 + 700 * 0.6))
  },
)

test('a caller who disconnects during a stream is recorded with the received reasoning and words', async () => {
  const thoughts = 'They want a story, so I shall tell them one about a house.'
  await using test = await leave({ text: TEXT, thoughts, fault: { hangAfterEvents: 3 } }, { ...ASKED, stream: true })
  const response = await test.asking
  let events = 0
  for await (const _event of readEvents(response)) if (++events === 3) break
  test.caller.abort()
  await until('the usage record', async () => (await test.recordedUsage()).length > 0)
  const [row] = await test.recordedUsage()
  expect(row).toMatchObject({
    success: false,
    estimated: true,
    outputTokens: countTokens(`${thoughts}${TEXT.slice(0, 2).join('')}`),
  })
  expectInput(row?.inputTokens)
})

test('a received tool call is recorded with its arguments when the caller disconnects', async () => {
  const call = { name: 'write_file', arguments: { path: 'story.md', text: TEXT.join('') } }
  await using test = await leave({ toolCalls: [call], fault: { hangAfterEvents: 1 } }, { ...ASKED, stream: true })
  const response = await test.asking
  for await (const _event of readEvents(response)) break
  test.caller.abort()
  await until('the usage record', async () => (await test.recordedUsage()).length > 0)
  expect(await test.recordedUsage()).toMatchObject([
    { outputTokens: countTokens(`write_file${JSON.stringify(call.arguments)}`), estimated: true },
  ])
})

test('reported usage is recorded when the provider reported it before the caller disconnected', async () => {
  const usage = { prompt_tokens: 77, completion_tokens: 33 }
  // Words, the reason to end and the report, but no end.
  await using test = await leave({ text: TEXT, usage, fault: { hangAfterEvents: 5 } }, { ...ASKED, stream: true })
  const response = await test.asking
  let events = 0
  for await (const _event of readEvents(response)) if (++events === 5) break
  test.caller.abort()
  await until('the usage record', async () => (await test.recordedUsage()).length > 0)
  expect(await test.recordedUsage()).toMatchObject([
    { inputTokens: 77, outputTokens: 33, estimated: false, success: false },
  ])
})

test('a caller who disconnects before anything was sent is not recorded', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  const request = { ...json('POST', ASKED, bearer(key)), signal: AbortSignal.abort() }
  await test.backend.request(OPENAI, request).catch(() => undefined)
  expect(test.provider.chats).toEqual([])
  expect(await test.recordedUsage()).toEqual([])
})

test('POST /v1/embeddings: records the input tokens when the caller disconnects', async () => {
  await using test = await leave({ fault: 'hang' }, { model: MINI, input: [QUESTION, QUESTION] }, '/v1/embeddings')
  await until('the call at the provider', () => test.provider.chats.length > 0)
  test.caller.abort()
  await test.asking.catch(() => undefined)
  const [row] = await test.recordedUsage()
  expect(row).toMatchObject({ outputTokens: 0, estimated: true, endpoint: '/v1/embeddings', success: false })
  expect(row?.inputTokens).toBeGreaterThan(1.9 * countTokens(QUESTION))
  expect(row?.inputTokens).toBeLessThan(2.1 * countTokens(QUESTION))
})

test('embeddings without reported counts are recorded with counted input tokens, at most those reserved', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  test.provider.answerWith({ usage: null })
  const order = json('POST', { model: MINI, input: QUESTION }, bearer(key))
  expect((await test.backend.request('/v1/embeddings', order)).status).toBe(200)
  expect(await test.recordedUsage()).toMatchObject([{ outputTokens: 0, estimated: true, success: true }])
})

test('an abandoned call is recorded for the agent when the agent made it', async () => {
  await using test = await aiPlatform()
  const { agentToken, agentId, user } = await test.join('solo')
  test.provider.answerWith({ fault: 'hang' })
  const caller = new AbortController()
  const request = { ...json('POST', { ...ASKED, stream: true }, bearer(agentToken)), signal: caller.signal }
  const asking = test.backend.request(OPENAI, request).catch(() => undefined)
  await until('the call at the provider', () => test.provider.chats.length > 0)
  caller.abort()
  await asking
  expect(await test.recordedUsage()).toMatchObject([{ userId: user.id, agentId, estimated: true, outputTokens: 700 }])
})

test('an abandoned call counts towards the plan', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  test.provider.answerWith({ fault: 'hang' })
  const abandon = async () => {
    const caller = new AbortController()
    const body = { ...ASKED, max_tokens: 450_000 }
    const asking = test.backend.request(OPENAI, { ...json('POST', body, bearer(key)), signal: caller.signal })
    const asked = test.provider.chats.length
    await Promise.race([asking, until('the call at the provider', () => test.provider.chats.length > asked)])
    caller.abort()
    const response = await asking.catch(() => null)
    await test.recordedUsage()
    return response?.status ?? null
  }
  const statuses = []
  for (let call = 0; call < 6; call++) statuses.push(await abandon())
  expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  expect(test.provider.chats).toHaveLength(4)
})

test.each([['hang'], ['hang-mid-body'], ['reset'], ['malformed-json'], [{ cutAtByte: 40 }]] as const)(
  'each request of a call that failed with %j is recorded, and the last error is returned',
  async (fault) => {
    await using test = await aiPlatform({ timeoutMs: SLOW_MS })
    const { key } = await test.join('network')
    test.provider.answerWith(({ body }) => (body.model === MINI ? {} : { fault }))
    const requested = { ...ASKED, model: 'openai/gpt-4o', fallbacks: ['anthropic/claude-3.5-sonnet', MINI] }
    const response = await test.ask(OPENAI, requested, bearer(key))
    expect(response.status).toBe(200)
    const rows = (await test.recordedUsage()).toSorted((one, other) => one.attempts - other.attempts)
    expect(rows).toMatchObject([
      { model: 'openai/gpt-4o', attempts: 1, success: false, estimated: true, outputTokens: 700 },
      { model: 'anthropic/claude-3.5-sonnet', attempts: 2, success: false, estimated: true, outputTokens: 700 },
      { model: MINI, attempts: 3, success: true, estimated: false, inputTokens: 1000, outputTokens: 500 },
    ])
    expect(response.headers.get('x-generation-id')).toBe(rows[2]?.generationId ?? '')
    expect(new Set(rows.map(({ generationId }) => generationId)).size).toBe(3)
  },
)

test('a call uses no fallback when its first request may have used the whole budget', async () => {
  await using test = await aiPlatform({ timeoutMs: SLOW_MS })
  const { key } = await test.join('solo')
  test.provider.answerWith({ fault: 'hang' })
  const requested = { ...ASKED, max_tokens: 1_500_000, fallbacks: ['openai/gpt-4o'] }
  const response = await test.ask(OPENAI, requested, bearer(key))
  expect([response.status, await response.json()]).toMatchObject([429, { error: { code: 'QUOTA_EXCEEDED' } }])
  expect(test.provider.chats.map(({ body }) => body.model)).toEqual([MINI])
  expect(await test.recordedUsage()).toMatchObject([{ model: MINI, estimated: true, outputTokens: 1_500_000 }])
})

test('a broken stream is recorded with what was received', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  test.provider.answerWith({ text: TEXT, usage: null, fault: 'no-done' })
  await readAllEvents(await test.ask(OPENAI, { ...ASKED, stream: true }, bearer(key)))
  expect(await test.recordedUsage()).toMatchObject([
    { success: false, estimated: true, outputTokens: countTokens(TEXT.join('')) },
  ])
})

test('a running call is recorded once when the program stops', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('solo')
  test.provider.answerWith(({ body }) =>
    body.stream ? { text: TEXT, fault: { hangAfterEvents: 2 } } : { fault: 'hang' },
  )
  const callers = [new AbortController(), new AbortController()]
  const ask = (index: number, body: object) =>
    test.backend.request(OPENAI, {
      ...json('POST', body, bearer(key)),
      ...(callers[index] && { signal: callers[index].signal }),
    })
  const waiting = ask(0, ASKED).catch(() => undefined)
  const events = readEvents(await ask(1, { ...ASKED, stream: true }))
  for (let event = 0; event < 2; event++) await events.next()
  await until('both calls at the provider', () => test.provider.chats.length === 2)
  await test.platform.spendings.endAll()
  const rows = await test.recordedUsage()
  expect(rows.map(({ outputTokens }) => outputTokens).sort((one, other) => one - other)).toEqual([
    countTokens(TEXT.slice(0, 2).join('')),
    700,
  ])
  for (const row of rows) expect(row).toMatchObject({ success: false, estimated: true })
  for (const caller of callers) caller.abort()
  await waiting
  await events.return?.(undefined)
  expect(await test.recordedUsage()).toHaveLength(2)
})
