import { describe, expect, test } from 'bun:test'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { signUp } from '../../harness/client.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { DIALECT_CLIENTS } from './dialect-clients.ts'
import { CODEX, openGateway, VENDORS } from './installation.ts'

const CASES = DIALECT_CLIENTS.flatMap((client) =>
  VENDORS.filter(([, dialects]) => client.dialect !== 'chat' || dialects.length === 1).map(
    ([vendor, dialects]) => ({ client, vendor, dialects, name: client.path }) as const,
  ),
)
const LARGE_BYTES = 8 * 1024 * 1024

describe.each(CASES)('$name with $vendor', ({ client, dialects }) => {
  const right = client.ask('Hi', 100)

  test(`POST ${client.path}: 4xx in its dialect when the input is invalid, and nothing is reserved or spent`, async () => {
    await using gateway = await openGateway(dialects, { monthlyBudgetUsd: 1 })
    const { vendor } = gateway
    const refusals: [what: string, status: number, body: unknown][] = [
      ['an unknown model', 404, { ...right, model: 'model-of-nobody' }],
      ['a body over 8 MB', 413, client.ask('x'.repeat(LARGE_BYTES), 100)],
      ['a body of 24 MB', 413, client.ask('x'.repeat(3 * LARGE_BYTES), 100)],
      ['no model calls', 400, { ...right, messages: [], input: [] }],
      ...Object.entries(client.wrong).map(([what, wrong]): [string, number, unknown] => [
        what,
        400,
        { ...right, ...wrong },
      ]),
    ]
    for (const [what, status, body] of refusals) {
      for (const stream of [false, true]) {
        const response = await gateway.post(client.path, { ...Object(body), stream })
        const answer: unknown = await response.json().catch(() => null)
        const isExpected = response.status === status || (status === 400 && response.status === 404)
        expect([what, response.status, isExpected, answer, client.isError(answer)]).toEqual([
          what,
          response.status,
          true,
          answer,
          true,
        ])
      }
    }
    const cut = { ...json('POST', null, bearer(gateway.key)), body: '{"model":' }
    const notJson = await fetch(`${gateway.backend}${client.path}`, cut)
    expect([notJson.status, client.isError(await notJson.json())]).toEqual([400, true])
    // Requests that only the vendor refuses are recorded without usage.
    expect((await gateway.usage()).key).toMatchObject({ tokens: { used: 0 }, costUsd: { used: 0, remaining: 1 } })
    vendor.answerWith({ usage: { input: 10, output: 5 } })
    const response = await gateway.post(client.path, right)
    expect(response.status).toBe(200)
    await response.text()
    const calls = await gateway.recorded(1)
    expect(calls.filter(({ costUsd }) => costUsd !== 0)).toHaveLength(1)
  }, 300_000)
})

test('POST /v1/responses: 400 or 404 when the previous response is another user’s, who keeps it', async () => {
  await using gateway = await openGateway(['responses'])
  const { openai, backend, person } = gateway
  const mine = await openai.responses.create({ model: CODEX, input: 'My secret is tea.' })
  const other = await signUp(person.web, 'eve@example.com')
  const { key } = await read(CreatedKey, other.post('/api/keys', { name: 'tools' }))
  const headers = bearer(key)
  const request = { model: CODEX, input: 'What is the secret?', previous_response_id: mine.id }
  const continued = await fetch(`${backend}/v1/responses`, json('POST', request, headers))
  expect(continued.status).toBeOneOf([400, 404])
  expect(await continued.json()).toMatchObject({ error: { code: 'previous_response_not_found' } })
  for (const method of ['GET', 'DELETE'])
    expect((await fetch(`${backend}/v1/responses/${mine.id}`, { method, headers })).status).toBe(404)
  expect(await openai.responses.retrieve(mine.id)).toMatchObject({ id: mine.id })
  expect(gateway.vendor.calls).toHaveLength(1)
}, 300_000)
