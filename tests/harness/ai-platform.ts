import { createEchoProvider } from '../../src/adapters/models/echo.ts'
import { createHttpProvider } from '../../src/adapters/models/http-provider.ts'
import { write } from '../../src/db/write.ts'
import { createKey } from '../../src/features/accounts/keys/keys.ts'
import { insertAgent, openTokens } from '../../src/features/agents/registry/agents.ts'
import { usageLogs } from '../../src/features/ai/usage/tables.ts'
import { startProvider } from './doubles/provider.ts'
import { type TestOptions, testPlatform } from './platform.ts'
import { json } from './requests.ts'

/** Creates a test platform whose aggregator is a provider double, called over a real socket. */
export async function aiPlatform(options: TestOptions & { timeoutMs?: number } = {}) {
  const provider = await startProvider()
  const { baseUrl } = provider
  const timeoutMs = options.timeoutMs ?? 60_000
  const test = testPlatform({
    providers: [createHttpProvider({ id: 'openrouter', baseUrl, apiKey: 'sk-or-test', timeoutMs }, { fetch })],
    ...options,
  })
  const { platform, backend, signIn, clock } = test
  return {
    ...test,
    provider,
    /** Creates an account on `plan`, with an API key and an agent for `aiProvider`. */
    join: async (plan: string | null = 'solo', email = 'ada@example.com', aiProvider = 'openrouter') => {
      const { user, cookie } = await signIn(email, plan)
      const { key } = await createKey({ db: platform.db, clock }, user.id, { name: 'laptop' })
      const agent = await write(platform.db, (tx) =>
        insertAgent({ clock, sealer: platform.sealer }, tx, {
          ownerId: user.id,
          name: 'Ada',
          model: 'openai/gpt-4o-mini',
          plan: 'solo',
          aiProvider,
          status: 'running',
        }),
      )
      return { user, cookie, key, agentId: agent.id, agentToken: openTokens(platform.sealer, agent).accessToken }
    },
    ask: (path: '/api/ai/chat' | '/v1/chat/completions', body: unknown, headers: Record<string, string>) =>
      backend.request(path, json('POST', body, headers)),
    /** Returns the usage recorded so far. */
    recordedUsage: async () => {
      await platform.usage.settle()
      return platform.db.select().from(usageLogs).all()
    },
    [Symbol.asyncDispose]: () => provider.stop(),
  }
}

/** Creates the offline model. */
export function echoProvider() {
  return createEchoProvider({ newId: () => 'chatcmpl-echo', nowSeconds: () => 1_800_000_000 })
}
