import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'

const PATH = '/v1/chat/completions'
const ask = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content }],
  max_tokens: 100,
  ...more,
})
const BLOCKED = { type: 'invalid_request_error', code: 'GUARDRAIL_BLOCKED', param: null }

/** A key and an agent with the same guardrails. */
async function guarded(guardrails: object, options: Parameters<typeof aiPlatform>[0] = {}) {
  const test = await aiPlatform({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' }, ...options })
  const who = await test.join('network')
  const created = await test.web.request('/api/keys', json('POST', { name: 'k', guardrails }, who.cookie))
  const { id, key } = (await created.json()) as { id: string; key: string }
  await test.web.request(`/api/agents/${who.agentId}`, json('PATCH', { guardrails }, who.cookie))
  return { ...test, ...who, keyId: id, key, bearers: [bearer(key), bearer(who.agentToken)] }
}

test('POST /v1/chat/completions: 400 when the input of a key or an agent is denied, and nothing is sent or spent', async () => {
  await using test = await guarded({ deny: ['project falcon'] })
  for (const headers of test.bearers) {
    for (const stream of [false, true]) {
      const response = await test.ask(PATH, ask('Tell me about Project  Falcon', { stream }), headers)
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: { ...BLOCKED, message: 'The request was blocked by a guardrail: it contains a denied pattern' } },
      ])
    }
    expect((await test.ask(PATH, ask('Tell me about falcons'), headers)).status).toBe(200)
  }
  expect(test.provider.chats).toHaveLength(2)
  expect(await test.recordedUsage()).toHaveLength(2)
})

test('POST /v1/chat/completions: 400 above maxInputChars, also when the input is not checked otherwise', async () => {
  await using test = await guarded({ maxInputChars: 10, onInput: false })
  expect((await test.ask(PATH, ask('0123456789'), bearer(test.key))).status).toBe(200)
  const response = await test.ask(PATH, ask('0123456789a'), bearer(test.key))
  expect([response.status, await response.json()]).toMatchObject([400, { error: BLOCKED }])
})

test('POST /v1/chat/completions: 200 with personal data replaced in input and answer, whole and streamed', async () => {
  await using test = await guarded({ redact: ['email', 'card'] })
  test.provider.answerWith({ text: ['Mail a', 'da@exam', 'ple.com or 4111 1111', ' 1111 1111 now'] })
  for (const headers of test.bearers) {
    const whole = await test.ask(PATH, ask('I am bo@example.com'), headers)
    expect(await whole.json()).toMatchObject({ choices: [{ message: { content: 'Mail [email] or [card] now' } }] })
    const streamed = await test.ask(PATH, ask('I am bo@example.com', { stream: true }), headers)
    const text = await streamed.text()
    expect(text).toEndWith('data: [DONE]\n\n')
    const events = text.split('\n\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    expect(events.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Mail [email] or [card] now')
  }
  for (const { body } of test.provider.chats) expect(body.messages).toEqual([{ role: 'user', content: 'I am [email]' }])
  const native = await test.ask('/api/ai/chat', ask('Hi'), bearer(test.key))
  expect(await native.json()).toMatchObject({ message: { content: 'Mail [email] or [card] now' } })
  const [call] = await test.recordedUsage()
  expect(call).toMatchObject({ success: true, inputTokens: 1000, outputTokens: 500 })
})

test('POST /v1/chat/completions: 400 when the answer is denied, an error event when it streams; both are recorded', async () => {
  await using test = await guarded({ deny: ['falcon'] })
  test.provider.answerWith({ text: ['The fal', 'con flies.'] })
  const whole = await test.ask(PATH, ask('Hi'), bearer(test.key))
  expect([whole.status, await whole.json()]).toMatchObject([400, { error: BLOCKED }])
  const streamed = await (await test.ask(PATH, ask('Hi', { stream: true }), bearer(test.key))).text()
  expect(streamed).toContain('"code":"GUARDRAIL_BLOCKED"')
  expect(streamed).not.toContain('[DONE]')
  expect(streamed).not.toContain('fal')
  const calls = await test.recordedUsage()
  expect(calls.map(({ outputTokens }) => outputTokens > 0)).toEqual([true, true])
  expect(calls.map(({ success, errorMessage, finishReason }) => [success, errorMessage, finishReason])).toEqual(
    ['stop', null].map((reason) => [
      false,
      'The answer was blocked by a guardrail: it contains a denied pattern',
      reason,
    ]),
  )
})

/** A webhook that answers with `verdict`, and the questions it got. */
function startWebhook(answer: () => Response | Promise<Response>) {
  const asked: unknown[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      asked.push(await request.json())
      return answer()
    },
  })
  return { asked, url: `http://127.0.0.1:${server.port}/judge`, [Symbol.dispose]: () => void server.stop(true) }
}

test('POST /v1/chat/completions: 200 after the webhook got texts without personal data, which it may change or block', async () => {
  let verdict: object = { action: 'allow' }
  using webhook = startWebhook(() => Response.json(verdict))
  const settings = { redact: ['email'], onOutput: false, webhook: { url: webhook.url, timeoutMs: 5000 } }
  await using test = await guarded(settings)
  expect((await test.ask(PATH, ask('I am bo@example.com'), bearer(test.key))).status).toBe(200)
  expect(webhook.asked).toEqual([
    {
      version: 1,
      direction: 'input',
      model: 'openai/gpt-4o-mini',
      keyId: test.keyId,
      agentId: null,
      texts: ['I am [email]'],
    },
  ])
  verdict = { action: 'rewrite', texts: ['Rewritten'] }
  await test.ask(PATH, ask('Hi'), bearer(test.agentToken))
  expect(webhook.asked[1]).toMatchObject({ keyId: null, agentId: test.agentId })
  expect(test.provider.chats[1]?.body.messages).toEqual([{ role: 'user', content: 'Rewritten' }])
  verdict = { action: 'block', reason: 'too rude' }
  const blocked = await test.ask(PATH, ask('Hi'), bearer(test.key))
  expect([blocked.status, await blocked.json()]).toMatchObject([
    400,
    { error: { code: 'GUARDRAIL_BLOCKED', message: 'The request was blocked by a guardrail: too rude' } },
  ])
})

const failures: [string, () => Response | Promise<Response>][] = [
  ['an error', () => new Response('no', { status: 500 })],
  ['other words', () => Response.json({ action: 'maybe' })],
  ['too few texts', () => Response.json({ action: 'rewrite', texts: [] })],
  ['no JSON', () => new Response('{')],
  ['silence', () => new Promise<Response>(() => undefined)],
]

test.each(failures)(
  'POST /v1/chat/completions: 200 or 400 by onFailure when the webhook responds with %s',
  async (_, answer) => {
    using webhook = startWebhook(answer)
    for (const [onFailure, status] of [
      ['open', 200],
      ['closed', 400],
    ]) {
      await using test = await guarded({ onOutput: false, webhook: { url: webhook.url, timeoutMs: 200, onFailure } })
      expect((await test.ask(PATH, ask('Hi'), bearer(test.key))).status).toBe(status as number)
    }
  },
)

test('POST /v1/chat/completions: 400 when the webhook is at a private address, which is not called', async () => {
  using webhook = startWebhook(() => Response.json({ action: 'allow' }))
  const settings = { webhook: { url: webhook.url, timeoutMs: 1000, onFailure: 'closed' } }
  await using test = await guarded(settings, { environment: { SUMMARIZER_ALLOW_PRIVATE: 'false' } })
  expect((await test.ask(PATH, ask('Hi'), bearer(test.key))).status).toBe(400)
  expect(webhook.asked).toEqual([])
})

test.each([
  [{ deny: [' '] }, /^guardrails.deny must be/],
  [{ deny: ['**'] }, /^guardrails.deny must be/],
  [{ redact: ['names'] }, /^guardrails.redact must be/],
  [{ maxInputChars: 0 }, /^guardrails.maxInputChars must be/],
  [{ webhook: { url: 'ftp://example.com' } }, /^guardrails.webhook.url must be/],
  [{ webhook: { url: 'https://example.com', timeoutMs: 1 } }, /^guardrails.webhook.timeoutMs must be/],
  [{ webhook: { url: 'https://example.com', onFailure: 'maybe' } }, /^guardrails.webhook.onFailure must be/],
  ['on', /^guardrails must be an object/],
])('POST /api/keys and PATCH /api/agents/:id: 400 when guardrails are %j', async (guardrails, error) => {
  await using test = await guarded({})
  for (const response of [
    await test.web.request('/api/keys', json('POST', { name: 'k', guardrails }, test.cookie)),
    await test.web.request(`/api/keys/${test.keyId}`, json('PATCH', { guardrails }, test.cookie)),
    await test.web.request(`/api/agents/${test.agentId}`, json('PATCH', { guardrails }, test.cookie)),
  ])
    expect([response.status, await response.json()]).toEqual([400, { error: expect.stringMatching(error) }])
})

test('PATCH /api/keys/:id and /api/agents/:id: 200 with the guardrails, which null removes', async () => {
  await using test = await guarded({ deny: ['x'] })
  const full = { deny: ['x'], redact: [], maxInputChars: null, webhook: null, onInput: true, onOutput: true }
  for (const [path, read] of [
    [`/api/keys/${test.keyId}`, (body: { guardrails?: unknown }) => body.guardrails],
    [`/api/agents/${test.agentId}`, (body: { agent?: { guardrails: unknown } }) => body.agent?.guardrails],
  ] as const) {
    const shown = await (await test.web.request(path, { headers: test.cookie })).json()
    expect(read(shown as object)).toEqual(full)
    const changed = await (await test.web.request(path, json('PATCH', { guardrails: null }, test.cookie))).json()
    expect(read(changed as object)).toBeNull()
  }
  for (const headers of test.bearers) expect((await test.ask(PATH, ask('x'), headers)).status).toBe(200)
})
