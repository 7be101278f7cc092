import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createAgent, signUp } from '../../harness/client.ts'
import { bearer, json } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'

const Agent = z.object({ agent: z.object({ websocketUrl: z.string() }) })

test('a real agent at its own host: health checks without authentication, chat only with its token', async () => {
  await using server = await startServer({ AI_ECHO: 'true' })
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const port = new URL(server.urls.web).port
  const shown = Agent.parse(await (await person.get(`/api/agents/${id}`)).json()).agent
  expect(shown.websocketUrl).toBe(`ws://${id}.agents.localhost:${port}`)

  const { host } = new URL(shown.websocketUrl)
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${server.urls.web}${path}`, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init.headers)), host },
    })
  expect(await (await ask('/healthz')).json()).toEqual({ ok: true, status: 'live' })
  expect(await (await ask('/readyz')).json()).toMatchObject({ ready: true, failing: [] })
  expect((await ask('/api/health')).status).toBe(404)

  const token = readFileSync(join(server.dataDir, 'agents', id, 'secrets', 'GATEWAY_TOKEN'), 'utf8').trim()
  const question = { model: 'default', stream: true, messages: [{ role: 'user', content: 'Are you there?' }] }
  const chat = (headers: Record<string, string>) => ask('/v1/chat/completions', json('POST', question, headers))
  for (const headers of [{}, bearer('gw_wrong'), person.cookie]) {
    const refused = await chat(headers)
    expect(refused.status).toBe(401)
    expect(await refused.json()).toEqual({ error: { message: 'Unauthorized', type: 'unauthorized' } })
  }
  const reply = await chat(bearer(token))
  expect(reply.headers.get('content-type')).toStartWith('text/event-stream')
  const text = await reply.text()
  const parts = [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, part]) => JSON.parse(part ?? '""'))
  expect(parts.join('')).toBe('[offline echo] Are you there?')
  expect(text.trimEnd()).toEndWith('data: [DONE]')

  await person.post(`/api/agents/${id}/stop`, {})
  expect((await ask('/healthz')).status).toBe(503)
  await person.delete(`/api/agents/${id}`)
  expect((await ask('/healthz')).status).toBe(404)
}, 300_000)
