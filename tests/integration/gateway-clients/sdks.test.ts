import { describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { failureOf } from '../../harness/until.ts'
import type { VendorAnswer, VendorCall } from '../../harness/vendors/script.ts'
import { CLAUDE, CODEX, openGateway, VENDORS } from './installation.ts'

const HI = [{ role: 'user' as const, content: 'What time is it?' }]
const SCHEMA = { type: 'object' as const, properties: { zone: { type: 'string' } }, required: ['zone'] }
const IMAGE = 'iVBORw0KGgo='
const USAGE = { input: 1000, output: 50, cached: 600, written: 100 }
/**
 * 300 input tokens at $2 per million, 600 cached at $0.2, 100 written to the cache at $2.5, and 50 output tokens at
 * $10.
 */
const COST_USD = 0.00147

/** Calls a tool for the time once, and answers with its result. */
function askForTime({ toolResults }: VendorCall): VendorAnswer {
  if (toolResults.length > 0) return { text: ['It is ', toolResults[0] ?? ''], usage: USAGE }
  return { text: 'Let me look.', toolCalls: [{ name: 'read_clock', arguments: { zone: 'UTC' } }], usage: USAGE }
}

describe.each(VENDORS)('with %s', (_name, dialects) => {
  const isNative = dialects.length > 1

  test('POST /v1/messages: 200 when the Anthropic client uses a tool, whole and streamed, with images and caching', async () => {
    await using gateway = await openGateway(dialects)
    const { anthropic, vendor } = gateway
    vendor.answerWith(askForTime)
    const request = {
      model: CLAUDE,
      max_tokens: 1000,
      system: [{ type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } }],
      tools: [{ name: 'read_clock', description: 'Reads a clock', input_schema: SCHEMA }],
      stop_sequences: ['STOP'],
    }
    const image = { type: 'base64' as const, media_type: 'image/png' as const, data: IMAGE }
    const question: Anthropic.MessageParam = {
      role: 'user',
      content: [
        { type: 'text', text: 'What time is it on this clock?' },
        { type: 'image', source: image },
      ],
    }
    for (const isStreamed of [false, true]) {
      const ask = (messages: Anthropic.MessageParam[]) =>
        isStreamed
          ? anthropic.messages.stream({ ...request, messages }).finalMessage()
          : anthropic.messages.create({ ...request, messages })
      const first = await ask([question])
      expect(first.stop_reason).toBe('tool_use')
      expect(first.content).toMatchObject([
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', name: 'read_clock', input: { zone: 'UTC' } },
      ])
      const use = first.content.find((block) => block.type === 'tool_use')
      const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: 'noon' }
      const second = await ask([
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ])
      expect(second.content).toMatchObject([{ type: 'text', text: 'It is noon' }])
      expect(second).toMatchObject({ stop_reason: 'end_turn', role: 'assistant', type: 'message' })
      expect(second.usage).toMatchObject({
        input_tokens: 300,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 100,
        output_tokens: 50,
      })
    }
    expect(vendor.refused).toEqual([])
    expect(vendor.calls.map(({ dialect }) => dialect)).toEqual(Array(4).fill(isNative ? 'messages' : 'chat'))
    const calls = await gateway.recorded(4)
    expect(calls.map(({ inputTokens, outputTokens, costUsd }) => [inputTokens, outputTokens, costUsd])).toEqual(
      Array(4).fill([1000, 50, COST_USD]),
    )
  }, 300_000)

  test('POST /v1/messages: 200 when the Anthropic client reads thinking, counts tokens and lists models', async () => {
    await using gateway = await openGateway(dialects)
    const { anthropic, vendor } = gateway
    vendor.answerWith({ thinking: 'Clocks tell time.', text: 'Noon.' })
    const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
    const request = { model: CLAUDE, max_tokens: 2000, messages: HI, thinking }
    const answer = await anthropic.messages.stream(request).finalMessage()
    expect(answer.content).toMatchObject([{ type: 'thinking', thinking: 'Clocks tell time.' }, { text: 'Noon.' }])
    const again = await anthropic.messages.create({
      ...request,
      messages: [...HI, { role: 'assistant', content: answer.content }, { role: 'user', content: 'Sure?' }],
    })
    expect(again.content.at(-1)).toMatchObject({ type: 'text', text: 'Noon.' })
    const { input_tokens } = await anthropic.messages.countTokens({ model: CLAUDE, messages: HI })
    expect(input_tokens).toBeGreaterThan(3)
    expect(input_tokens).toBeLessThan(100)
    const models = await Array.fromAsync(anthropic.models.list())
    expect(models.find(({ id }) => id.endsWith(CLAUDE))).toMatchObject({ type: 'model' })
    expect(vendor.refused).toEqual([])
    expect(await gateway.recorded(2)).toHaveLength(2)
  }, 300_000)

  test('POST /v1/messages: 404, 401 and 429 are error classes of the Anthropic client', async () => {
    await using gateway = await openGateway(dialects)
    const { anthropic, vendor, backend } = gateway
    const request = { model: CLAUDE, max_tokens: 10, messages: HI }
    const missing = failureOf(anthropic.messages.create({ ...request, model: 'claude-of-nobody' }))
    expect(await missing).toBeInstanceOf(Anthropic.NotFoundError)
    const wrong = new Anthropic({ apiKey: 'sk_wrong', baseURL: backend, maxRetries: 0 })
    expect(await failureOf(wrong.messages.create(request))).toBeInstanceOf(Anthropic.AuthenticationError)
    vendor.answerWith({ fault: { status: 429 } })
    const busy = failureOf(anthropic.messages.create(request))
    expect(await busy).toBeInstanceOf(Anthropic.RateLimitError)
    expect(await busy).toMatchObject({ error: { type: 'error', error: { type: 'rate_limit_error' } } })
    vendor.answerWith({ fault: { status: 500 } })
    expect(await failureOf(anthropic.messages.create(request))).toBeInstanceOf(Anthropic.InternalServerError)
  }, 300_000)

  test('POST /v1/responses: 200 when the openai client uses a tool, whole and streamed, with images and reasoning', async () => {
    await using gateway = await openGateway(dialects)
    const { openai, vendor } = gateway
    vendor.answerWith((call) => ({ ...askForTime(call), ...(isNative && { thinking: 'A clock helps.' }) }))
    const request = {
      model: CODEX,
      instructions: 'Be brief.',
      store: false,
      include: ['reasoning.encrypted_content' as const],
      tools: [{ type: 'function' as const, name: 'read_clock', parameters: SCHEMA, strict: false }],
    }
    const question: OpenAI.Responses.ResponseInputItem = {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What time is it on this clock?' },
        { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${IMAGE}` },
      ],
    }
    for (const isStreamed of [false, true]) {
      const ask = (input: OpenAI.Responses.ResponseInput) =>
        isStreamed ? streamed(openai, { ...request, input }) : openai.responses.create({ ...request, input })
      const first = await ask([question])
      expect(textOf(first)).toBe('Let me look.')
      const [call] = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
      expect(call).toMatchObject({ name: 'read_clock', arguments: '{"zone":"UTC"}' })
      const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'noon' }
      const items: OpenAI.Responses.ResponseInput = [question]
      for (const item of first.output)
        if (item.type === 'function_call' || item.type === 'message' || item.type === 'reasoning') items.push(item)
      const second = await ask([...items, output])
      expect(textOf(second)).toBe('It is noon')
      expect(second).toMatchObject({ status: 'completed', object: 'response' })
      expect(second.usage).toMatchObject({
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 600 },
        output_tokens: 50,
        total_tokens: 1050,
      })
    }
    expect(vendor.refused).toEqual([])
    expect(vendor.calls.map(({ dialect }) => dialect)).toEqual(Array(4).fill(isNative ? 'responses' : 'chat'))
    const calls = await gateway.recorded(4)
    expect(calls.map(({ inputTokens, outputTokens, costUsd }) => [inputTokens, outputTokens, costUsd])).toEqual(
      Array(4).fill([1000, 50, COST_USD]),
    )
  }, 300_000)

  test('POST /v1/responses: 200 when the openai client continues, reads, and deletes stored responses', async () => {
    await using gateway = await openGateway(dialects)
    const { openai, vendor } = gateway
    vendor.answerWith(({ number }) => ({ text: `Answer ${number}.` }))
    const first = await openai.responses.create({ model: CODEX, input: 'My name is Ada.' })
    const second = await openai.responses
      .stream({ model: CODEX, input: 'What is my name?', previous_response_id: first.id })
      .finalResponse()
    expect(second).toMatchObject({ output_text: 'Answer 2.', previous_response_id: first.id })
    expect(JSON.stringify(vendor.calls[1]?.body)).toMatch(/My name is Ada.*Answer 1\..*What is my name/)
    expect(await openai.responses.retrieve(first.id)).toMatchObject({ id: first.id, output_text: 'Answer 1.' })
    await openai.responses.delete(first.id)
    expect(await failureOf(openai.responses.retrieve(first.id))).toBeInstanceOf(OpenAI.NotFoundError)
    const unstored = await openai.responses.create({ model: CODEX, input: 'Forget this.', store: false })
    expect(await failureOf(openai.responses.retrieve(unstored.id))).toBeInstanceOf(OpenAI.NotFoundError)
    const { input_tokens } = await openai.responses.inputTokens.count({ model: CODEX, input: 'Hi there' })
    expect(input_tokens).toBeGreaterThan(1)
    expect(vendor.refused).toEqual([])
    expect(await gateway.recorded(3)).toHaveLength(3)
  }, 300_000)

  test('POST /v1/responses: 404, 401 and 429 are error classes of the openai client', async () => {
    await using gateway = await openGateway(dialects)
    const { openai, vendor, backend } = gateway
    const request = { model: CODEX, input: 'Hi' }
    const missing = failureOf(openai.responses.create({ ...request, model: 'gpt-of-nobody' }))
    expect(await missing).toBeInstanceOf(OpenAI.NotFoundError)
    const wrong = new OpenAI({ apiKey: 'sk_wrong', baseURL: `${backend}/v1`, maxRetries: 0 })
    expect(await failureOf(wrong.responses.create(request))).toBeInstanceOf(OpenAI.AuthenticationError)
    vendor.answerWith({ fault: { status: 429 } })
    expect(await failureOf(openai.responses.create(request))).toBeInstanceOf(OpenAI.RateLimitError)
    vendor.answerWith({ fault: { status: 500 } })
    expect(await failureOf(openai.responses.create(request))).toBeInstanceOf(OpenAI.InternalServerError)
  }, 300_000)
})

test('POST /v1/chat/completions: 200 when the openai client uses a tool, whole and streamed', async () => {
  await using gateway = await openGateway(['chat'])
  const { openai, vendor } = gateway
  vendor.answerWith(askForTime)
  const tools = [{ type: 'function' as const, function: { name: 'read_clock', parameters: SCHEMA } }]
  for (const isStreamed of [false, true]) {
    const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
      const request = { model: CODEX, messages, tools }
      if (isStreamed) return openai.chat.completions.stream(request).finalMessage()
      return (await openai.chat.completions.create(request)).choices[0]?.message
    }
    const first = await ask(HI)
    expect(first?.tool_calls).toMatchObject([{ function: { name: 'read_clock', arguments: '{"zone":"UTC"}' } }])
    const tool_call_id = first?.tool_calls?.[0]?.id ?? ''
    const assistant = {
      role: 'assistant' as const,
      content: first?.content ?? null,
      tool_calls: first?.tool_calls ?? [],
    }
    const second = await ask([...HI, assistant, { role: 'tool', tool_call_id, content: 'noon' }])
    expect(second?.content).toBe('It is noon')
  }
  expect(vendor.refused).toEqual([])
  expect((await gateway.recorded(4)).map(({ costUsd }) => costUsd)).toEqual(Array(4).fill(COST_USD))
}, 300_000)

/** Returns the final response of a stream as sent; the helper of the SDK adds fields to it. */
async function streamed(openai: OpenAI, request: OpenAI.Responses.ResponseCreateParamsNonStreaming) {
  const events = await openai.responses.create({ ...request, stream: true })
  for await (const event of events) if (event.type === 'response.completed') return event.response
  throw new Error('The stream ended without a response')
}

function textOf({ output }: Pick<OpenAI.Responses.Response, 'output'>): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
}
