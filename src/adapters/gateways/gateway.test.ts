import { describe, expect, test } from 'bun:test'
import { chunk, fails, hangs, says, sends } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'
import { AppError } from '../../core/errors.ts'
import { createAgentGateway } from './gateway.ts'

const gateway = createAgentGateway({ fetch })
const never = new AbortController().signal
const request = { sessionKey: 'conv:1', message: 'hi' }
const done = 'data: [DONE]\n\n'
const says1 = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`

/** Starts a server that responds only as a test says. */
function startStranger(answer: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const endpoint = { baseUrl: `http://127.0.0.1:${server.port}`, gatewayToken: 'gw_1', kind: 'stead' } as const
  return { endpoint, server, [Symbol.asyncDispose]: () => server.stop(true) }
}

const sse = (body: string) => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
const page = () => new Response('<html>', { headers: { 'content-type': 'text/html' } })

async function failureOf(work: Promise<unknown>): Promise<AppError> {
  try {
    await work
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('Expected an error')
}

describe('gateway of the built-in agent', () => {
  test('probes, chat, stream, history and reset succeed when the agent runs', async () => {
    await using agent = await startTestAgent()
    const endpoint = { baseUrl: agent.url, gatewayToken: agent.token, kind: 'stead' } as const
    expect(await gateway.isLive(endpoint)).toBe(true)
    expect(await gateway.readiness(endpoint)).toEqual({ ready: true, failing: [], uptimeMs: expect.any(Number) })
    expect(await gateway.version(endpoint)).toBe('9.9.9')
    expect(await gateway.chat(endpoint, request, never)).toBe('You said: hi')
    agent.platform.next(says('a', 'b', 'c'))
    const deltas: string[] = []
    for await (const delta of gateway.streamChat(endpoint, request, never)) deltas.push(delta)
    expect(deltas).toEqual(['a', 'b', 'c'])
    const history = await gateway.history(endpoint, 'conv:1', 3)
    expect(history.map((message) => message.content)).toEqual(['You said: hi', 'hi', 'abc'])
    await gateway.resetMemory(endpoint)
    expect(await gateway.history(endpoint, 'conv:1', 3)).toEqual([])
  })

  test("chat throws the agent's message when a limit is reached, and maps other errors", async () => {
    await using agent = await startTestAgent()
    const endpoint = { baseUrl: agent.url, gatewayToken: agent.token, kind: 'stead' } as const
    const cases = [
      [fails(429, 'Token quota exceeded'), 'limited', 'Token quota exceeded'],
      [fails(500, 'boom'), 'upstream_failed', 'boom'],
      [fails(504, 'slow'), 'upstream_timeout', 'slow'],
      [sends(chunk({ content: 'half' })), 'upstream_failed', 'The model’s answer was cut off'],
    ] as const
    for (const [answer, kind, message] of cases) {
      agent.platform.next(answer)
      expect(await failureOf(gateway.chat(endpoint, request, never))).toMatchObject({ kind, message })
    }
    const wrong = { ...endpoint, gatewayToken: 'wrong' }
    expect(await failureOf(gateway.chat(wrong, request, never))).toMatchObject({ kind: 'upstream_failed' })
  })

  test('streamChat aborts the model call when the signal aborts or the reader stops', async () => {
    await using agent = await startTestAgent()
    const endpoint = { baseUrl: agent.url, gatewayToken: agent.token, kind: 'stead' } as const
    const abort = new AbortController()
    const first = hangs('begun')
    agent.platform.next(first.answerer)
    const reason = new Error('the user closed the page')
    const chat = (async () => {
      for await (const _ of gateway.streamChat(endpoint, request, abort.signal)) abort.abort(reason)
    })()
    await expect(chat).rejects.toBe(reason)
    await first.aborted

    const second = hangs('begun')
    agent.platform.next(second.answerer)
    for await (const _ of gateway.streamChat(endpoint, request, never)) break
    await second.aborted
  })
})

test('isLive returns false and calls throw `unavailable` when nothing listens', async () => {
  const stranger = startStranger(page)
  await stranger.server.stop(true)
  expect(await gateway.isLive(stranger.endpoint)).toBe(false)
  expect(await failureOf(gateway.readiness(stranger.endpoint))).toMatchObject({ kind: 'unavailable' })
  expect(await failureOf(gateway.chat(stranger.endpoint, request, never))).toMatchObject({ kind: 'unavailable' })
})

test('probes and chat throw when the response is a page with status 200', async () => {
  await using stranger = startStranger(page)
  expect(await gateway.isLive(stranger.endpoint)).toBe(false)
  expect(await failureOf(gateway.readiness(stranger.endpoint))).toMatchObject({ kind: 'upstream_failed' })
  expect(await failureOf(gateway.chat(stranger.endpoint, request, never))).toMatchObject({ kind: 'upstream_failed' })
  expect(await failureOf(gateway.resetMemory(stranger.endpoint))).toMatchObject({ kind: 'upstream_failed' })
})

test('readiness is read when the agent returns 503 or only {ready}', async () => {
  await using stranger = startStranger((call) =>
    call.headers.get('authorization') === 'Bearer gw_1'
      ? Response.json({ ready: false, failing: ['startup-sidecars'], uptimeMs: 5 }, { status: 503 })
      : Response.json({ ready: true }),
  )
  expect(await gateway.readiness(stranger.endpoint)).toEqual({
    ready: false,
    failing: ['startup-sidecars'],
    uptimeMs: 5,
  })
  const other = { ...stranger.endpoint, gatewayToken: 'other' }
  expect(await gateway.readiness(other)).toEqual({ ready: true, failing: [], uptimeMs: null })
})

test("chat sends both session headers and the program's model name when it is called", async () => {
  let seen: unknown
  await using stranger = startStranger(async (call) => {
    const { headers } = call
    seen = [headers.get('x-session-key'), headers.get('x-openclaw-session-key'), await call.json()]
    return sse(says1('ok') + done)
  })
  expect(await gateway.chat(stranger.endpoint, request, never)).toBe('ok')
  const body = { model: 'default', stream: true, messages: [{ role: 'user', content: 'hi' }] }
  expect(seen).toEqual(['conv:1', 'conv:1', body])
  await gateway.chat({ ...stranger.endpoint, kind: 'openclaw' }, request, never)
  expect(seen).toEqual(['conv:1', 'conv:1', { ...body, model: 'openclaw' }])
})

const streams: [string, string, string, string][] = [
  ['a cut', says1('half'), 'upstream_failed', 'cut off'],
  ['an error event', `event: error\ndata: {"error":"no"}\n\n${done}`, 'upstream_failed', 'no'],
  ['an error event without words', `event: error\ndata: x\n\n${done}`, 'upstream_failed', 'failed'],
  ['an error object', `${says1('a')}data: {"error":{"message":"bad"}}\n\n${done}`, 'upstream_failed', 'bad'],
  ['a limit', `data: {"error":{"message":"429 quota","type":"rate_limit_error"}}\n\n`, 'limited', '429 quota'],
  ['no JSON', `data: {]\n\n${done}`, 'upstream_failed', 'not a reply'],
]
test.each(streams)('streamChat throws when the stream contains %s', async (_name, body, kind, message) => {
  await using stranger = startStranger(() => sse(body))
  const failure = await failureOf(gateway.chat(stranger.endpoint, request, never))
  expect(failure).toMatchObject({ kind, message: expect.stringContaining(message) })
})

const statuses: [number, string][] = [
  [400, 'upstream_failed'],
  [401, 'upstream_failed'],
  [404, 'upstream_failed'],
  [408, 'upstream_timeout'],
  [429, 'limited'],
  [500, 'upstream_failed'],
  [503, 'unavailable'],
  [504, 'upstream_timeout'],
]
test.each(statuses)('chat, when the status is %d, throws `%s`', async (status, kind) => {
  await using stranger = startStranger(() => new Response('x', { status }))
  expect(await failureOf(gateway.chat(stranger.endpoint, request, never))).toMatchObject({ kind })
})

test('chat and probes time out when no bytes arrive, and wait while keep-alives arrive', async () => {
  const hasty = createAgentGateway({ fetch }, { probeMs: 100, changeMs: 100, chatIdleMs: 3000, chatTotalMs: 120_000 })
  const quiet = Promise.withResolvers<Response>()
  await using stranger = startStranger(() => quiet.promise)
  expect(await hasty.isLive(stranger.endpoint)).toBe(false)
  expect(await failureOf(hasty.readiness(stranger.endpoint))).toMatchObject({ kind: 'upstream_timeout' })
  expect(await failureOf(hasty.chat(stranger.endpoint, request, never))).toMatchObject({ kind: 'upstream_timeout' })

  await using patient = startStranger(
    () =>
      new Response(
        async function* () {
          for (let beat = 0; beat < 16; beat++) {
            await Bun.sleep(250)
            yield ': keep-alive\n\n'
          }
          yield says1('at last') + done
        },
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  )
  expect(await hasty.chat(patient.endpoint, request, never)).toBe('at last')
})

test('createAsk throws when the response is a redirect', async () => {
  await using target = startStranger(() => sse(says1('stolen') + done))
  await using stranger = startStranger(() => Response.redirect(`${target.endpoint.baseUrl}/v1/chat/completions`, 307))
  expect(await failureOf(gateway.chat(stranger.endpoint, request, never))).toMatchObject({ kind: 'upstream_failed' })
})

test('version returns null when the runtime reports none', async () => {
  await using stranger = startStranger(() => Response.json({ ok: true, status: 'started' }))
  expect(await gateway.version(stranger.endpoint)).toBeNull()
})
