import { expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer } from '../../../../tests/harness/requests.ts'
import { CompletionRequest, isUsualCompletion } from './schemas.ts'

const CHAT = '/v1/chat/completions'
const EMBEDDINGS = '/v1/embeddings'
const MINI = '"model":"openai/gpt-4o-mini"'
const MESSAGES = '"messages":[{"role":"user","content":"Hi"}]'

async function openTestInstallation() {
  const test = await aiPlatform()
  const { key } = await test.join('network')
  return {
    ...test,
    send: (path: string, body: string) =>
      test.backend.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(key) },
        body,
      }),
  }
}

test.each([
  [CHAT, `{${MINI},${MESSAGES},"model":"openai/gpt-4"}`],
  [CHAT, `{"model":"openai/gpt-4",${MINI},${MESSAGES}}`],
  [CHAT, `{${MINI},"mod\\u0065l":"openai/gpt-4",${MESSAGES}}`],
  [CHAT, `{${MINI},"Model":"openai/gpt-4",${MESSAGES}}`],
  [CHAT, `{"MODEL":"openai/gpt-4",${MESSAGES}}`],
  [CHAT, `{${MINI},${MESSAGES},"max_tokens":1,"max_tokens":100000}`],
  [CHAT, `{${MINI},${MESSAGES},"max_tokens":1,"Max_Tokens":100000}`],
  [CHAT, `{${MINI},${MESSAGES},"max_to\u212aens":100000}`],
  [CHAT, `{${MINI},${MESSAGES},"\u017ftream":true}`],
  [CHAT, `{${MINI},${MESSAGES},"max_completion_tokens":1,"max_completion_tokens":2}`],
  [CHAT, `{${MINI},${MESSAGES},"n":1,"N":100}`],
  [CHAT, `{${MINI},${MESSAGES},"n":1,"n":100}`],
  [CHAT, `{${MINI},${MESSAGES},"stream":false,"stream":true}`],
  [CHAT, `{${MINI},${MESSAGES},"stream":true,"stream_options":{},"Stream_Options":{}}`],
  [CHAT, `{${MINI},${MESSAGES},${MESSAGES}}`],
  [CHAT, `{${MINI},${MESSAGES},"models":[],"Models":["openai/gpt-4"]}`],
  [EMBEDDINGS, `{${MINI},"input":"a","model":"openai/gpt-4"}`],
  [EMBEDDINGS, `{${MINI},"input":"a","Input":["a","b"]}`],
])('POST %s: 400 when a control field is duplicated or in another spelling: %s', async (path, body) => {
  await using test = await openTestInstallation()
  const response = await test.send(path, body)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  expect(test.provider.chats).toEqual([])
  expect(await test.recordedUsage()).toEqual([])
})

test.each([
  ['text for max_tokens', '"max_tokens":"100000"'],
  ['text for max_completion_tokens', '"max_completion_tokens":"100000"'],
  ['a list for n', '"n":[100]'],
])('POST /v1/chat/completions: 400 for %s, which a provider might parse as a number', async (_what, field) => {
  await using test = await openTestInstallation()
  expect((await test.send(CHAT, `{${MINI},${MESSAGES},${field}}`)).status).toBe(400)
  expect(test.provider.chats).toEqual([])
})

test('POST /v1/chat/completions: 200 when such names are nested or in texts, and when unknown fields are repeated', async () => {
  await using test = await openTestInstallation()
  const body = `{${MINI},"messages":[{"role":"user","content":"\\"model\\":1,\\"model\\":2"}],"metadata":{"model":"a","Model":"b"},"x":1,"x":2}`
  expect((await test.send(CHAT, body)).status).toBe(200)
})

const messages = [{ role: 'user', content: 'Hello' }]

test('isUsualCompletion returns true only when the schema would return the body unchanged', () => {
  const values = [
    undefined,
    null,
    '',
    'x',
    'x'.repeat(201),
    0,
    1.5,
    -1,
    Number.NaN,
    true,
    [],
    ['m'],
    {},
    messages,
    [{}],
    [null],
  ]
  const fields = [...Object.keys(CompletionRequest.shape), 'temperature']
  for (const field of fields) {
    for (const value of values) {
      const body = { messages, [field]: value }
      if (!isUsualCompletion(body)) continue
      expect(CompletionRequest.parse(body)).toEqual(body)
    }
  }
})

test('isUsualCompletion returns true when a body has the usual fields', () => {
  expect(isUsualCompletion({ messages, model: 'm', stream: true, n: 1, max_tokens: 2, max_completion_tokens: 3 })).toBe(
    true,
  )
  expect(isUsualCompletion({ messages, temperature: 1, tools: [] })).toBe(true)
})

test('isUsualCompletion returns false when the body is no object', () => {
  for (const body of [null, undefined, 'x', 1, [], { messages: [] }, { messages: [{ content: 'x' }] }])
    expect(isUsualCompletion(body)).toBe(false)
})
