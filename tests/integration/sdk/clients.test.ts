import { expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'
import { failureOf } from '../../harness/until.ts'

const MODEL = 'openai/gpt-4o-mini'
const HI = [{ role: 'user' as const, content: 'What time is it?' }]
const CLOCK = { name: 'read_clock', arguments: { zone: 'UTC' } }

/** Starts the service on real ports with a provider double and an API key. */
async function openTestInstallation() {
  const provider = await startProvider()
  const server = await startServer({ OPENROUTER_API_KEY: 'sk-or-test', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'sdk' }))
  const baseURL = `${server.urls.backend}/v1`
  return {
    provider,
    key,
    openai: new OpenAI({ baseURL, apiKey: key, maxRetries: 0 }),
    ai: createOpenAICompatible({ name: 'stead', baseURL, apiKey: key, includeUsage: true }),
    baseURL,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}

test('the openai client gets whole answers, streams with usage, models and embeddings', async () => {
  await using installation = await openTestInstallation()
  const { openai, provider } = installation
  const whole = await openai.chat.completions.create({ model: MODEL, messages: HI })
  expect(whole.choices[0]?.message.content).toBe('Hello.')
  expect(whole.usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 })

  provider.answerWith({ text: ['One, ', 'two, ', 'three.'] })
  const stream = await openai.chat.completions.create({
    model: MODEL,
    messages: HI,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: OpenAI.CompletionUsage | null | undefined
  for await (const chunk of stream) {
    expect(chunk.model).toBe(MODEL)
    text += chunk.choices[0]?.delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  expect(text).toBe('One, two, three.')
  expect(usage?.total_tokens).toBe(1500)

  const models = await openai.models.list()
  expect(models.data.map(({ id }) => id)).toContain(MODEL)

  const vectors = await openai.embeddings.create({ model: MODEL, input: ['a', 'b'], encoding_format: 'float' })
  expect(vectors.data.map(({ embedding }) => embedding)).toEqual([
    [0.5, -0.5],
    [0.5, -0.5],
  ])
  expect(vectors.usage.prompt_tokens).toBe(1000)
}, 300_000)

test('the openai client gets tools, images and response_format unchanged, whole and streamed', async () => {
  await using installation = await openTestInstallation()
  const { openai, provider } = installation
  const request = {
    model: MODEL,
    messages: [
      {
        role: 'user' as const,
        content: [
          { type: 'text' as const, text: 'What is this?' },
          { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ],
    tools: [{ type: 'function' as const, function: { name: 'read_clock', parameters: { type: 'object' } } }],
    response_format: { type: 'json_object' as const },
  }
  provider.answerWith({ toolCalls: [CLOCK] })
  const whole = await openai.chat.completions.create(request)
  expect(provider.chats.at(-1)?.body).toEqual(request)
  expect(whole.choices[0]?.finish_reason).toBe('tool_calls')
  expect(whole.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'read_clock' } }])

  const streamed = await openai.chat.completions
    .stream({ ...request, response_format: { type: 'text' } })
    .finalMessage()
  expect(streamed.tool_calls).toMatchObject([{ function: { name: 'read_clock', arguments: '{"zone":"UTC"}' } }])
}, 300_000)

test('the openai client gets its own error classes', async () => {
  await using installation = await openTestInstallation()
  const { provider, baseURL } = installation
  const wrong = new OpenAI({ baseURL, apiKey: 'sk_wrong', maxRetries: 0 })
  expect(await failureOf(wrong.models.list())).toBeInstanceOf(OpenAI.AuthenticationError)
  const missing = installation.openai.chat.completions.create({ model: 'nobody/nothing', messages: HI })
  expect(await failureOf(missing)).toBeInstanceOf(OpenAI.NotFoundError)
  provider.answerWith({ fault: { status: 429 } })
  const busy = installation.openai.chat.completions.create({ model: MODEL, messages: HI })
  expect(await failureOf(busy)).toBeInstanceOf(OpenAI.RateLimitError)
  provider.answerWith({ text: ['One. ', 'Two. '], fault: 'no-done' })
  const stream = await installation.openai.chat.completions.create({ model: MODEL, messages: HI, stream: true })
  const reading = (async () => {
    for await (const _chunk of stream);
  })()
  expect(await failureOf(reading)).toMatchObject({ message: expect.stringContaining('cut the answer off') })
}, 300_000)

test('the AI SDK gets text, a stream and a loop with a tool', async () => {
  await using installation = await openTestInstallation()
  const { ai, provider } = installation
  const model = ai(MODEL)
  expect((await generateText({ model, messages: HI })).text).toBe('Hello.')

  provider.answerWith({ text: ['One, ', 'two.'] })
  const streamed = streamText({ model, messages: HI })
  expect(await streamed.text).toBe('One, two.')
  expect((await streamed.usage).inputTokens).toBe(1000)

  provider.answerWith(({ body }) =>
    body.messages.some(({ role }) => role === 'tool') ? { text: 'It is noon.' } : { toolCalls: [CLOCK] },
  )
  const looped = streamText({
    model,
    messages: HI,
    stopWhen: isStepCount(3),
    tools: { read_clock: tool({ inputSchema: z.object({ zone: z.string() }), execute: async () => 'noon' }) },
  })
  expect(await looped.text).toBe('It is noon.')
}, 300_000)
