import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import type { Runtime } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../src/adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../src/db/write.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { testPlatform } from '../../harness/platform.ts'
import { json } from '../../harness/requests.ts'
import { countRows } from '../../harness/rows/dump.ts'

/** Number of requests around the deletion, one event loop iteration apart. */
const MOMENTS = 24

test.each([
  ['/api/chat', { message: 'Hi' }, [404, 409, 503]],
  ['/api/heartbeat', { enabled: true }, [404, 200]],
])(
  'POST %s: nothing is stored and nothing fails when the agent is deleted between check and write',
  async (path, body, expected) => {
    for (let moment = 0; moment < MOMENTS; moment++) {
      let asked: Promise<Response> | undefined
      const runtime: Runtime = {
        ...createNoRuntime('docker', 'Not in this test'),
        isAvailable: async () => true,
        inspect: async () => null,
        stop: async () => undefined,
        async remove() {
          asked = after(moment, () => web.request(path, json('POST', { ...body, agentId: id }, ada.cookie)))
        },
      }
      const { platform, web, signIn } = testPlatform({ runtime })
      const ada = await signIn()
      const kind = { name: 'One', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
      const { id } = await write(platform.db, (tx) => {
        const agent = insertAgent(platform, tx, { ...kind, ownerId: ada.user.id })
        tx.update(agents).set({ port: 1, runtime: 'docker' }).where(eq(agents.id, agent.id)).run()
        return agent
      })
      const deleted = await web.request(`/api/agents/${id}`, { method: 'DELETE', headers: ada.cookie })
      expect(deleted.status).toBe(200)
      const answer = await asked
      expect(expected).toContain(answer?.status ?? 0)
      expect(countRows(platform.db)).toMatchObject({ agents: 0, messages: 0 })
      const late = await web.request(path, json('POST', { ...body, agentId: id }, ada.cookie))
      expect(late.status).toBe(404)
    }
  },
)

async function after<T>(turns: number, run: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
  return run()
}
