import { expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { failureOf } from '../../harness/until.ts'
import type { VendorAnswer } from '../../harness/vendors/script.ts'
import { startVendor, VENDOR_KEY } from '../../harness/vendors/vendor.ts'

const MODEL = 'some-model'
const HI = [{ role: 'user' as const, content: 'Hi' }]
const PLAN: VendorAnswer = {
  thinking: 'A clock helps.',
  text: ['Let me ', 'look.'],
  toolCalls: [{ name: 'read_clock', arguments: { zone: 'UTC' } }],
  usage: { input: 100, output: 20, cached: 60, written: 10, reasoning: 5 },
}
const PARAMETERS = { type: 'object' as const, properties: { zone: { type: 'string' } } }

/** Starts the vendor double, called directly by the SDKs of both vendors. */
async function openVendor() {
  const vendor = await startVendor({ models: [MODEL] })
  const options = { apiKey: VENDOR_KEY, maxRetries: 0 }
  return {
    vendor,
    openai: new OpenAI({ ...options, baseURL: vendor.baseUrl }),
    anthropic: new Anthropic({ ...options, baseURL: vendor.baseUrl.replace(/\/v1$/, '') }),
    [Symbol.asyncDispose]: () => vendor[Symbol.asyncDispose](),
  }
}

test('the vendor double streams Chat Completions as the openai client expects them', async () => {
  await using test = await openVendor()
  test.vendor.answerWith(PLAN)
  const tools = [{ type: 'function' as const, function: { name: 'read_clock', parameters: PARAMETERS } }]
  const stream = test.openai.chat.completions.stream({
    model: MODEL,
    messages: HI,
    tools,
    stream_options: { include_usage: true },
  })
  const message = await stream.finalMessage()
  expect(message.content).toBe('Let me look.')
  expect(message.tool_calls).toMatchObject([{ function: { name: 'read_clock', arguments: '{"zone":"UTC"}' } }])
  expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: 100, completion_tokens: 20 })
  const whole = await test.openai.chat.completions.create({ model: MODEL, messages: HI })
  expect(whole.choices[0]?.message.tool_calls).toEqual(message.tool_calls?.map((call) => ({ ...call, id: 'call_2_0' })))
})

test('the vendor double streams Messages as the Anthropic client expects them', async () => {
  await using test = await openVendor()
  test.vendor.answerWith(PLAN)
  const request = {
    model: MODEL,
    messages: HI,
    max_tokens: 2000,
    tools: [{ name: 'read_clock', input_schema: PARAMETERS }],
  }
  const message = await test.anthropic.messages.stream(request).finalMessage()
  expect(message.content).toMatchObject([
    { type: 'thinking', thinking: 'A clock helps.' },
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_use', name: 'read_clock', input: { zone: 'UTC' } },
  ])
  expect(message.usage).toMatchObject({
    input_tokens: 30,
    cache_read_input_tokens: 60,
    cache_creation_input_tokens: 10,
  })
  const whole = await test.anthropic.messages.create(request)
  expect(whole.content.slice(0, 2)).toEqual(message.content.slice(0, 2))
  expect((await test.anthropic.messages.countTokens({ model: MODEL, messages: HI })).input_tokens).toBeGreaterThan(0)
  const models = await test.anthropic.models.list()
  expect(models.data.map(({ id }) => id)).toEqual([MODEL])
})

test('the vendor double streams Responses as the openai client expects them', async () => {
  await using test = await openVendor()
  test.vendor.answerWith(PLAN)
  const tools = [{ type: 'function' as const, name: 'read_clock', parameters: PARAMETERS, strict: false }]
  const streamed = await test.openai.responses.stream({ model: MODEL, input: 'Hi', tools }).finalResponse()
  expect(streamed.output).toMatchObject([
    { type: 'reasoning', summary: [{ text: 'A clock helps.' }] },
    { type: 'message', content: [{ text: 'Let me look.' }] },
    { type: 'function_call', name: 'read_clock', arguments: '{"zone":"UTC"}' },
  ])
  expect(streamed.usage).toMatchObject({ input_tokens: 100, output_tokens: 20 })
  const whole = await test.openai.responses.create({ model: MODEL, input: 'Hi', tools })
  expect(whole.output_text).toBe('Let me look.')
})

test('the vendor double rejects the same requests as the vendors', async () => {
  await using test = await openVendor()
  const { openai, anthropic, vendor } = test
  const extra = { not_a_field: 1 }
  const refusals = [
    () => openai.chat.completions.create({ model: MODEL, messages: HI, ...extra }),
    () =>
      openai.chat.completions.create({ model: MODEL, messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }),
    () => openai.responses.create({ model: MODEL, input: 'Hi', ...extra }),
    () => openai.responses.create({ model: MODEL, input: 'Hi', previous_response_id: 'resp_x' }),
    () =>
      openai.responses.create({
        model: MODEL,
        input: [{ type: 'function_call_output', call_id: 'call_x', output: 'noon' }],
      }),
    () => anthropic.messages.create({ model: MODEL, messages: HI, max_tokens: 1, ...extra }),
    () =>
      anthropic.messages.create({
        model: MODEL,
        max_tokens: 1,
        messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: '' }] }],
      }),
  ]
  for (const refusal of refusals) expect(await failureOf(refusal())).toMatchObject({ status: 400 })
  expect(vendor.refused).toHaveLength(refusals.length)
  expect(await failureOf(anthropic.messages.create({ model: 'other', messages: HI, max_tokens: 1 }))).toBeInstanceOf(
    Anthropic.NotFoundError,
  )
  expect(vendor.calls).toEqual([])
})
