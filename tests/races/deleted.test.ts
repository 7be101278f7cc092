import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { write } from '../../src/db/write.ts'
import { insertAgent } from '../../src/features/agents/create.ts'
import { agents } from '../../src/features/agents/tables.ts'
import { json, testPlatform } from '../harness/platform.ts'

test.each([
  ['/api/chat', { message: 'Hi' }],
  ['/api/heartbeat', { enabled: true }],
])('POST %s: 404 when the agent is deleted between its check and its write', async (path, body) => {
  const { platform, clock, web, signIn } = testPlatform()
  const ada = await signIn()
  const kind = { name: 'One', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const { id } = await write(platform.db, (tx) => {
    const agent = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: ada.user.id })
    tx.update(agents).set({ port: 1 }).where(eq(agents.id, agent.id)).run()
    return agent
  })
  const asked = Promise.all([
    web.request(`/api/agents/${id}`, { method: 'DELETE', headers: ada.cookie }),
    web.request(path, json('POST', { ...body, agentId: id }, ada.cookie)),
  ])
  const [deleted, refused] = await asked
  expect([deleted.status, refused.status]).toEqual([200, 404])
})
