import { startBareServer } from './child.ts'
import type { Target } from './load.ts'
import { createKey, createUser, preparePlatform, type Stead, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const COMPLETION = {
  model: 'openai/gpt-4o-mini',
  messages: [
    { role: 'system', content: 'You are a helpful assistant. Answer in one sentence.' },
    { role: 'user', content: 'What time is it, and is there tea? '.repeat(4) },
  ],
  max_tokens: 16,
}

/** A Stead and a proxy that only passes requests on, both in front of the same upstream. */
export type Gateways = {
  stead: Stead
  cookie: string
  installation: { dataDir: string }
  /** The same completion for both. */
  completion(options?: { stream: true }): { ours: Target; bare: Target }
}

/** Starts both gateways, with a key of a user of the plan `solo`. */
export async function startGateways(bench: Workbench): Promise<Gateways> {
  const upstream = await startBareServer(bench, 'upstream.ts')
  const installation = await preparePlatform(bench, {
    OPENROUTER_API_KEY: 'bench',
    OPENROUTER_BASE_URL: `${upstream.url}v1`,
  })
  const email = await createUser(bench, installation, 'solo')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const key = await createKey(stead, cookie)
  const bare = await startBareServer(bench, 'proxy.ts', [upstream.url])
  const completion = (options?: { stream: true }) => {
    const request = {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...COMPLETION, ...options }),
    }
    return { ours: { ...request, url: stead.backend, pid: stead.pid }, bare: { ...request, ...bare } }
  }
  return { stead, cookie, installation, completion }
}
