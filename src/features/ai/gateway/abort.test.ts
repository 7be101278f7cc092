import { expect, test } from 'bun:test'
import { z } from 'zod'
import { signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { startServer } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { readEvents } from '../../../../tests/harness/wires/events.ts'
import { CreatedKey } from '../../accounts/keys/schemas.ts'
import { CostDashboard } from '../usage/schemas.ts'

const HELLO = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }

/** A service over real sockets whose provider never ends an answer, and the usage that it books. */
async function withHangingProvider(fault: 'hang' | 'hang-mid-body') {
  const provider = await startProvider({ text: ['x'.repeat(40), 'never sent'], fault })
  const server = await startServer({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
  let stopped: Promise<void> | undefined
  const stop = async () => {
    stopped ??= Promise.resolve(server[Symbol.asyncDispose]())
    await stopped
  }
  return {
    provider,
    ask: (body: unknown, signal: AbortSignal) =>
      fetch(`${server.urls.backend}/v1/chat/completions`, { ...json('POST', body, bearer(key)), signal }),
    recordedUsage: () =>
      until('the usage of the call', async () => {
        const { summary, isMockData } = await read(CostDashboard, person.get('/api/dashboard/cost'))
        return isMockData ? null : summary
      }),
    stop,
    logged: () => server.logLines.map((line) => z.object({ msg: z.string() }).parse(JSON.parse(line)).msg),
    async [Symbol.asyncDispose]() {
      await provider.stop()
      await stop()
    },
  }
}

test('POST /v1/chat/completions: ends the stream at the provider and records what came when the client disconnects', async () => {
  await using test = await withHangingProvider('hang-mid-body')
  const client = new AbortController()
  const response = await test.ask({ ...HELLO, stream: true }, client.signal)
  for await (const _event of readEvents(response)) break
  client.abort()
  expect(await test.provider.chats[0]?.closed).toBe('aborted')
  const summary = await test.recordedUsage()
  expect(summary).toMatchObject({ totalCalls: 1 })
  expect(summary.totalTokens).toBeGreaterThanOrEqual(10)
})

test('POST /v1/chat/completions: ends the call at the provider when the client disconnects while it waits', async () => {
  await using test = await withHangingProvider('hang')
  const client = new AbortController()
  const asking = test.ask(HELLO, client.signal).catch((error: unknown) => error)
  await until('the call at the provider', () => test.provider.chats.length > 0)
  client.abort()
  expect(await test.provider.chats[0]?.closed).toBe('aborted')
  expect(await asking).toBeInstanceOf(Error)
  // The input as it is counted, and as much as the answer might have been.
  expect(await test.recordedUsage()).toMatchObject({ totalCalls: 1, totalTokens: 6 + 4096, estimatedTokens: 6 + 4096 })
})

test('stop records a running call before it resolves', async () => {
  await using test = await withHangingProvider('hang')
  const asking = test.ask(HELLO, new AbortController().signal).catch((error: unknown) => error)
  await until('the call at the provider', () => test.provider.chats.length > 0)
  await test.stop()
  await asking
  expect(test.logged().filter((line) => line.startsWith('[UsageLogger]'))).toEqual([
    '[UsageLogger] Logging: direct | openai/gpt-4o-mini | 6+4096 tokens | $0.002459',
  ])
}, 300_000)
