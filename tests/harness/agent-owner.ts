import { write } from '../../src/db/write.ts'
import { insertAgent, openTokens } from '../../src/features/agents/registry/agents.ts'
import { type TestOptions, testPlatform } from './platform.ts'
import { bearer, json } from './requests.ts'

type Method = 'GET' | Parameters<typeof json>[0]

/** Creates two users, an owner and a stranger, each with an agent, and returns their cookies and tokens. */
export async function agentOwner(options: TestOptions = {}, plan: string | null = null) {
  const test = testPlatform(options)
  const { platform, clock } = test
  const { cookie, user } = await test.signIn('ada@example.com', plan)
  const stranger = await test.signIn('eve@example.com', plan)
  const add = async (ownerId: string | null, name = 'Bo', agentPlan = 'label') => {
    const kind = { name, model: 'm', plan: agentPlan, aiProvider: 'openrouter', status: 'running' } as const
    const agent = await write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId }),
    )
    return { id: agent.id, row: agent, headers: bearer(openTokens(platform.sealer, agent).accessToken) }
  }
  const agent = await add(user.id)
  const asOwner = (path: string, method: Method = 'GET', body?: unknown, headers: Record<string, string> = cookie) =>
    test.web.request(path, body === undefined || method === 'GET' ? { method, headers } : json(method, body, headers))
  return {
    ...test,
    user,
    cookie,
    stranger,
    agent,
    strangersAgent: await add(stranger.user.id, 'Ed'),
    add,
    asOwner,
    asStranger: (path: string, method: Method = 'GET', body?: unknown) => asOwner(path, method, body, stranger.cookie),
    /** Calls the agent API with the token of `agent`; `headers` replace it. */
    asAgent: (path: string, method: Method = 'GET', body?: unknown, headers: Record<string, string> = agent.headers) =>
      test.backend.request(
        path,
        body === undefined || method === 'GET' ? { method, headers } : json(method, body, headers),
      ),
  }
}
