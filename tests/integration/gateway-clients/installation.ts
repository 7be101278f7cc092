import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { z } from 'zod'
import type { Dialect } from '../../../src/adapters/models/provider.ts'
import { CreatedKey, type CreateKeyRequest } from '../../../src/features/accounts/keys/schemas.ts'
import { MyUsage } from '../../../src/features/ai/gateway/schemas.ts'
import { CallList } from '../../../src/features/ai/usage/schemas.ts'
import { signUp } from '../../harness/client.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { startVendor, VENDOR_KEY } from '../../harness/vendors/vendor.ts'

/** Models of the vendor, by the names that clients know. `claude-opus-5-5` and `gpt-6.1-sol` are defaults of Claude Code and Codex. */
export const CLAUDE = 'claude-opus-5-5'
export const CODEX = 'gpt-5.5'
const MODELS = [CLAUDE, CODEX, 'gpt-6.1-sol', 'claude-sonnet-5', 'gpt-4o-mini']

/** A vendor with every dialect, and one for which the gateway translates. */
export const VENDORS: readonly [name: string, dialects: readonly Dialect[]][] = [
  ['a vendor of its dialect', ['chat', 'messages', 'responses']],
  ['a vendor of Chat Completions only', ['chat']],
]

const ANTHROPIC = { 'anthropic-version': '2023-06-01' }
/** Dollars per million tokens; the vendor's default response costs $0.007. */
const PRICE = { inputUsdPerMillion: 2, outputUsdPerMillion: 10, cachedInputUsdPerMillion: 0.2 }

/** Starts Stead on real ports with one vendor that supports `dialects`, and a key of its first user. */
export async function openGateway(dialects: readonly Dialect[], limits: Partial<CreateKeyRequest> = {}) {
  const vendor = await startVendor({ models: MODELS, dialects })
  const server = await startServer({
    PROVIDER_LAB_BASE_URL: vendor.baseUrl,
    PROVIDER_LAB_API_KEY: VENDOR_KEY,
    PROVIDER_LAB_DIALECT: dialects.join(','),
  })
  const { backend, web } = server.urls
  const person = await signUp(web)
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'tools', ...limits }))
  for (const model of MODELS) {
    const url = `${web}/api/admin/prices/lab/${model}`
    const response = await fetch(url, json('PUT', PRICE, person.cookie))
    if (!response.ok) throw new Error(`Cannot set a price: ${await response.text()}`)
  }
  await until('the models of the vendor', async () => {
    const { data } = await read(ModelIds, fetch(`${backend}/v1/models`, { headers: bearer(key) }))
    return data.some(({ id }) => id === `lab/${CLAUDE}`)
  })
  const options = { apiKey: key, maxRetries: 0 }
  return {
    vendor,
    person,
    key,
    backend,
    openai: new OpenAI({ ...options, baseURL: `${backend}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: backend }),
    post: (path: string, body: unknown, signal?: AbortSignal) =>
      fetch(`${backend}${path}`, {
        ...json('POST', body, { ...bearer(key), ...(path.startsWith('/v1/messages') && ANTHROPIC) }),
        ...(signal && { signal }),
      }),
    /** Returns the usage of the key in this month. */
    usage: () => read(MyUsage, fetch(`${backend}/api/me/usage`, { headers: bearer(key) })),
    /** Waits for `count` usage records and returns all, newest first. */
    recorded: (count: number) =>
      until(`${count} usage records`, async () => {
        const { calls } = await read(CallList, person.get('/api/usage/calls?limit=100'))
        return calls.length >= count ? calls : null
      }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await vendor[Symbol.asyncDispose]()
    },
  }
}

const ModelIds = z.object({ data: z.array(z.object({ id: z.string() })) })
