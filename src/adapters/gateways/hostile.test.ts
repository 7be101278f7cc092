import { expect, test } from 'bun:test'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import { createAgentGateway } from './gateway.ts'
import type { AgentTurnEvent } from './stream.ts'

const HOLD_MS = 50
const TIMEOUT_MS = 600_000
const gateway = createAgentGateway({ fetch })

/** Starts an agent that answers every request with the same text. */
function startHostile(text: string, type: string) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(text, { headers: { 'content-type': type } }),
  })
  const endpoint = { baseUrl: `http://127.0.0.1:${server.port}`, gatewayToken: 'gw_1', kind: 'stead' } as const
  return { endpoint, [Symbol.asyncDispose]: () => server.stop(true) }
}

const many = (one: string, bytes: number) => `[${`${one},`.repeat(bytes / (one.length + 1) - 1)}${one}]`
const ANSWER_BYTES = 1_000_000

test.each([
  ['nothing at all', many('{}', ANSWER_BYTES)],
  ['numbers', many('1', ANSWER_BYTES)],
  ['lists in each other', '['.repeat(ANSWER_BYTES / 2) + ']'.repeat(ANSWER_BYTES / 2)],
  ['nothing, as often as is read', many('{}', 80_000)],
])(
  'calls return promptly when an agent returns %s',
  async (_what, said) => {
    const limitMs = HOLD_MS * measureSlowness()
    const names = ['failing', 'items', 'channels', 'sessions', 'tools', 'text', 'version']
    const text = names.map((name) => `{"ready":true,"${name}":${said}}`)
    for (const answer of text) {
      await using agent = startHostile(answer, 'application/json')
      const { endpoint } = agent
      for (const ask of [
        () => gateway.health(endpoint),
        () => gateway.history(endpoint, 's', 10),
        () => gateway.channels(endpoint),
        () => gateway.sessions(endpoint),
        () => gateway.listMcpTools(endpoint, 's'),
        () => gateway.readInstructions(endpoint),
        () => gateway.readiness(endpoint),
      ]) {
        const work = () => ask().catch((error) => expect(error).toMatchObject({ kind: 'upstream_failed' }))
        expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
      }
    }
  },
  TIMEOUT_MS,
)

const STREAM_BYTES = 15_000_000
const repeat = (text: string) => text.repeat(STREAM_BYTES / text.length)

test.each([
  ['a letter each time', repeat('data: {"choices":[{"delta":{"content":"a"}}]}\n\n')],
  ['nothing', repeat('data: {"choices":[]}\n\n')],
  ['comments', repeat(':\n')],
  ['ends of lines', repeat('\r')],
  ['one event of lines', `${repeat('data: 1\n')}\n`],
  ['one event of choices', `data: {"choices":${many('{}', STREAM_BYTES)}}\n\n`],
  ['one event of lists in each other', `data: ${'['.repeat(STREAM_BYTES)}\n\n`],
  ['one event of choices, as many as are read', `data: {"choices":${many('1', 50_000)}}\n\n`],
])(
  'streamChat returns promptly when an agent sends 15 MB of %s',
  async (_what, said) => {
    const limitMs = HOLD_MS * measureSlowness()
    await using agent = startHostile(said, 'text/event-stream')
    const { endpoint } = agent
    const request = { sessionKey: 's', message: 'Hello', turnId: 't' }
    const read = async () => {
      const events = gateway.streamTurn(endpoint, request, AbortSignal.timeout(TIMEOUT_MS))
      for await (const { type } of events) if (type !== 'text') throw new Error(`It says ${type}`)
    }
    const work = () => expect(read()).rejects.toMatchObject({ kind: 'upstream_failed' })
    expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
  },
  TIMEOUT_MS,
)

test('streamTurn limits reported tool calls and drops invalid numbers when an agent reports too much', async () => {
  const report = (told: object) => `data: ${JSON.stringify({ choices: [], ...told })}\n\n`
  const tool = { type: 'tool', name: 'n'.repeat(300), arguments: 'a'.repeat(9000), result: '', success: true }
  const said = [
    ...Array.from({ length: 600 }, () => report({ stead: { ...tool, durationMs: 0.6 } })),
    report({ stead: { ...tool, durationMs: -1 } }),
    report({ stead: { ...tool, durationMs: 1e300 } }),
    report({ usage: { prompt_tokens: -1, completion_tokens: 1 } }),
    report({ usage: { prompt_tokens: 1, completion_tokens: 1e300 } }),
    report({ usage: { prompt_tokens: 3, completion_tokens: 4 }, model: 'm'.repeat(9000) }),
    'data: [DONE]\n\n',
  ]
  await using agent = startHostile(said.join(''), 'text/event-stream')
  const request = { sessionKey: 's', message: 'Hello', turnId: 't' }
  const events = await Array.fromAsync(gateway.streamTurn(agent.endpoint, request, AbortSignal.timeout(TIMEOUT_MS)))
  const heard: AgentTurnEvent = {
    ...tool,
    type: 'tool',
    name: 'n'.repeat(200),
    arguments: 'a'.repeat(5000),
    durationMs: 1,
  }
  expect(events).toEqual([
    ...Array.from({ length: 500 }, () => heard),
    { type: 'usage', model: 'm'.repeat(200), inputTokens: 3, outputTokens: 4 },
  ])
})

test('streamChat throws when a reply exceeds the maximum length', async () => {
  const said = `data: ${JSON.stringify({ choices: [{ delta: { content: 'word '.repeat(20_000) } }] })}\n\n`
  await using agent = startHostile(said.repeat(8), 'text/event-stream')
  const request = { sessionKey: 's', message: 'Hello', turnId: 't' }
  let characters = 0
  const read = async () => {
    const texts = gateway.streamChat(agent.endpoint, request, AbortSignal.timeout(TIMEOUT_MS))
    for await (const text of texts) characters += text.length
  }
  await expect(read()).rejects.toMatchObject({ kind: 'upstream_failed', message: 'The agent’s reply is too long' })
  expect(characters).toBe(400_000)
})
