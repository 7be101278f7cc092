import { expect, test } from 'bun:test'
import { INTERNAL_KEY, testPlatform } from '../../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../../tests/harness/requests.ts'

const OPENAI = { error: { type: 'authentication_error', message: expect.any(String), code: null, param: null } }
const ANTHROPIC = { type: 'error', error: { type: 'authentication_error', message: expect.any(String) } }
const HI = [{ role: 'user', content: 'Hi' }]

const REQUESTS: readonly [method: 'POST' | 'GET' | 'DELETE', path: string, body: unknown, error: object][] = [
  ['POST', '/v1/chat/completions', { model: 'm', messages: HI }, OPENAI],
  ['POST', '/v1/embeddings', { model: 'm', input: 'Hi' }, OPENAI],
  ['POST', '/v1/responses', { model: 'm', input: 'Hi' }, OPENAI],
  ['POST', '/v1/responses/input_tokens', { model: 'm', input: 'Hi' }, OPENAI],
  ['GET', '/v1/responses/resp_1', undefined, OPENAI],
  ['DELETE', '/v1/responses/resp_1', undefined, OPENAI],
  ['GET', '/v1/models', undefined, OPENAI],
  ['POST', '/v1/messages', { model: 'm', max_tokens: 9, messages: HI }, ANTHROPIC],
  ['POST', '/v1/messages/count_tokens', { model: 'm', messages: HI }, ANTHROPIC],
]

test.each(REQUESTS)(
  '%s %s: 401 in the format of its API for a wrong key, with and without an internal key',
  async (method, path, body, error) => {
    for (const internalKey of [INTERNAL_KEY, '']) {
      const { backend } = testPlatform({ environment: { INTERNAL_API_KEY: internalKey } })
      for (const headers of [bearer('sk-ant-api03-wrong'), { 'x-api-key': 'wrong' }, bearer('sk_wrong'), {}]) {
        const init = method === 'POST' ? json(method, body, headers) : { method, headers }
        const response = await backend.request(path, init)
        expect([response.status, await response.json()]).toEqual([401, expect.objectContaining(error)])
      }
    }
  },
)

test('GET /api/agents: 500 without an internal key', async () => {
  const { backend } = testPlatform({ environment: { INTERNAL_API_KEY: '' } })
  expect((await backend.request('/api/agents', { headers: bearer('wrong') })).status).toBe(500)
})
