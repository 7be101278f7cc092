import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { agentLabels } from '../registry/tables.ts'

test('PUT /api/agents/:id/labels: 200 with unique labels, 400 for invalid ones, 404 for a stranger', async () => {
  const { web, platform, clock, signIn } = testPlatform()
  const ada = await signIn('ada@example.com', 'solo')
  const eve = await signIn('eve@example.com')
  const made = {
    name: 'Bo',
    model: 'm',
    plan: 'solo',
    aiProvider: 'openrouter',
    status: 'stopped',
    ownerId: ada.user.id,
  } as const
  const { id } = await write(platform.db, (tx) => insertAgent({ clock, sealer: platform.sealer }, tx, made))
  const put = (labels: unknown, who = ada) =>
    web.request(`/api/agents/${id}/labels`, json('PUT', { labels }, who.cookie))
  const first = await put(['shop', ' eu ', 'shop'])
  expect([first.status, await first.json()]).toEqual([200, { labels: ['eu', 'shop'] }])
  expect((await put(['two'])).status).toBe(200)
  const bad = [['a,b'], [''], ['x'.repeat(41)], Array.from({ length: 11 }, String), 'shop', [7], ['line\nbreak']]
  for (const labels of bad) expect((await put(labels)).status).toBe(400)
  expect((await put(['mine'], eve)).status).toBe(404)
  expect(platform.db.select().from(agentLabels).all()).toEqual([{ agentId: id, label: 'two' }])
  expect((await put([])).status).toBe(200)
  expect(platform.db.select().from(agentLabels).all()).toEqual([])
})
