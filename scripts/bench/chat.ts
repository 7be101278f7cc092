import { startBareServer } from './child.ts'
import { describeCost, race } from './race.ts'
import type { Measurement } from './report.ts'
import { createKey, createUser, preparePlatform, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const CONNECTIONS = 32
const BODY = JSON.stringify({
  model: 'openai/gpt-4o-mini',
  messages: [
    { role: 'system', content: 'You are a helpful assistant. Answer in one sentence.' },
    { role: 'user', content: 'What time is it, and is there tea? '.repeat(4) },
  ],
  max_tokens: 16,
})

/** A completion with key, plan, quota and usage record, against a proxy that only passes it on to the same upstream. */
export async function measureChat(bench: Workbench): Promise<Measurement[]> {
  const upstream = await startBareServer(bench, 'upstream.ts')
  const installation = await preparePlatform(bench, {
    OPENROUTER_API_KEY: 'bench',
    OPENROUTER_BASE_URL: `${upstream.url}v1`,
  })
  const email = await createUser(bench, installation, 'solo')
  const stead = await startStead(bench, installation)
  const key = await createKey(stead, await signIn(stead, email))
  const bare = await startBareServer(bench, 'proxy.ts', [upstream.url])
  const request = {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: BODY,
  }

  const result = await race({ ...request, url: stead.backend, pid: stead.pid }, { ...request, ...bare }, CONNECTIONS)
  return [
    {
      name: 'chat',
      ours: result.ours.requestsPerSecond,
      bare: result.bare.requestsPerSecond,
      unit: 'requests/s',
      value: result.ratio,
      bound: 'at least',
      layer: 0.45,
      aim: 0.6,
      notes: [describeCost(result)],
    },
  ]
}
