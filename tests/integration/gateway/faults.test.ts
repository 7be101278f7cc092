import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { write } from '../../../src/db/write.ts'
import { TIERS } from '../../../src/features/ai/catalogue/known-models.ts'
import { usageMonths } from '../../../src/features/ai/usage/tables.ts'
import { aiPlatform } from '../../harness/ai-platform.ts'
import type { Fault } from '../../harness/doubles/provider.ts'
import { bearer } from '../../harness/requests.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { atMostMs } from '../../harness/speed/promised-times.ts'
import { until } from '../../harness/until.ts'
import { readAllEvents } from '../../harness/wires/events.ts'

const OPENAI = '/v1/chat/completions'
const CHAT = '/api/ai/chat'
const HI = [{ role: 'user', content: 'Hi' }]
const MODEL = 'openai/gpt-4o-mini'
const TEXT = ['Once upon a time ', 'there was a house ', 'whose roof was whole.']
const WHOLE = TEXT.join('')
/** Long enough for a response on a busy machine, short enough to wait for it repeatedly. */
const TIMEOUT_MS = 2000
const RUNS = roundsOf('FAULT_RUNS', 50)

const fault = fc.oneof(
  // Inside of the first event: after visible output, no fallback may continue.
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 150 }).map((cutAtByte): Fault => ({ cutAtByte })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(401, 402, 403, 404, 408, 409, 429, 500, 502, 503, 529)
      .map((status): Fault => ({ status })),
  },
  { weight: 6, arbitrary: fc.constantFrom<Fault>('reset', 'malformed-json', 'html', 'empty-choices') },
  { weight: 1, arbitrary: fc.constant<Fault>('hang') },
)

test('every call is answered completely while one target works', async () => {
  await using test = await aiPlatform({ timeoutMs: TIMEOUT_MS })
  const { key } = await test.join('network')
  const models = TIERS.reasoning.models
  let calls = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { minLength: 2, maxLength: 2 }),
      fc.integer({ min: 0, max: 2 }),
      fc.boolean(),
      async ([one, other], healthy, stream) => {
        const faults = models.map(
          (model, index) => [model, index === healthy ? null : index < healthy ? one : other] as const,
        )
        test.provider.answerWith(({ body }) => {
          const wrong = faults.find(([model]) => model === body.model)?.[1]
          return { text: TEXT, ...(wrong && { fault: wrong }) }
        })
        const response = await test.ask(OPENAI, { model: 'reasoning', messages: HI, stream }, bearer(key))
        calls += 1
        expect(response.status).toBe(200)
        if (stream) expect(await textOf(response)).toBe(WHOLE)
        else expect(await response.json()).toMatchObject({ choices: [{ message: { content: WHOLE } }] })
      },
    ),
    { numRuns: RUNS },
  )
  expect(calls).toBeGreaterThanOrEqual(RUNS)
  const booked = await test.recordedUsage()
  expect(booked.filter(({ success }) => success)).toHaveLength(calls)
}, 300_000)

test('an answer that is cut at any byte is never reported as complete', async () => {
  await using test = await aiPlatform({ timeoutMs: TIMEOUT_MS })
  const { key } = await test.join('network')
  const ask = (stream: boolean) => test.ask(OPENAI, { model: MODEL, messages: HI, stream }, bearer(key))
  test.provider.answerWith({ text: TEXT })
  const length = (await (await ask(false)).text()).length
  for (let cutAtByte = 0; cutAtByte < length; cutAtByte += 3) {
    test.provider.answerWith({ text: TEXT, fault: { cutAtByte } })
    expect((await ask(false)).status).toBe(502)
  }
  const streamed = (await (await untouched(test, ask)).text()).length
  for (let cutAtByte = 0; cutAtByte < streamed - 60; cutAtByte += 11) {
    test.provider.answerWith({ text: TEXT, fault: { cutAtByte } })
    const response = await ask(true)
    if (response.status !== 200) continue
    const events = (await readAllEvents(response)).map(({ data }) => data)
    expect(events).not.toContain('[DONE]')
    expect(JSON.parse(events.at(-1) ?? '')).toHaveProperty('error')
  }
}, 300_000)

test('the limit of a plan is never exceeded by 200 concurrent calls near it', async () => {
  await using test = await aiPlatform()
  const { key, user } = await test.join('solo')
  const month = test.clock.now().toISOString().slice(0, 7)
  await write(test.platform.db, (tx) =>
    tx.insert(usageMonths).values({ userId: user.id, month, tokens: 1_990_000 }).run(),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 200, maxLength: 200 }), async (sizes) => {
      // Each model responds with its maximum.
      test.provider.answerWith(({ body }) => ({
        usage: { prompt_tokens: 10, completion_tokens: Number(body.max_tokens) },
      }))
      await Promise.all(
        sizes.map((max_tokens, index) =>
          test.ask(index % 2 ? OPENAI : CHAT, { model: MODEL, messages: HI, max_tokens }, bearer(key)),
        ),
      )
      await test.platform.usage.flush()
      const row = test.platform.db.select().from(usageMonths).get()
      expect(row?.tokens).toBeLessThanOrEqual(2_000_000)
    }),
    { numRuns: 3 },
  )
}, 300_000)

test('a thousand disconnected callers leave no open connection, and their usage is recorded', async () => {
  await using test = await aiPlatform()
  const { key } = await test.join('network')
  test.provider.answerWith({ text: TEXT, fault: 'hang-mid-body' })
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const caller = new AbortController()
        const response = await test.backend.request(OPENAI, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...bearer(key) },
          body: JSON.stringify({ model: MODEL, messages: HI, stream: true }),
          signal: caller.signal,
        })
        const reader = response.body?.getReader()
        await reader?.read()
        await reader?.cancel()
        caller.abort()
      }),
    )
  }
  const startedAt = performance.now()
  const ends = await Promise.all(test.provider.chats.map(({ closed }) => closed))
  expect(performance.now() - startedAt).toBeLessThan(atMostMs(1000))
  expect(ends).toHaveLength(1000)
  expect(new Set(ends)).toEqual(new Set(['aborted']))
  await until('all usage records', async () => (await test.recordedUsage()).length === 1000)
  expect((await test.recordedUsage()).every(({ success, outputTokens }) => !success && outputTokens > 0)).toBe(true)
}, 300_000)

async function textOf(response: Response): Promise<string> {
  const events = (await readAllEvents(response)).map(({ data }) => data)
  expect(events.at(-1)).toBe('[DONE]')
  return events
    .slice(0, -1)
    .map((data) => JSON.parse(data).choices[0]?.delta?.content ?? '')
    .join('')
}

async function untouched(
  test: { provider: { answerWith(answer: object): void } },
  ask: (stream: boolean) => Promise<Response>,
): Promise<Response> {
  test.provider.answerWith({ text: TEXT })
  return ask(true)
}
