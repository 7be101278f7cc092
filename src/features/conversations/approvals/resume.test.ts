import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { callsTool, says } from '../../../../tests/harness/doubles/platform.ts'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { openTokens } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { resumeAgent } from './decide.ts'

const never = new AbortController().signal
const QUESTION = { tool: 'delete_file', arguments: '{"path":"a.md"}', session: 'user:of-before' }

test('resumeAgent delivers the approval once to an agent whose turn has ended, which executes the call', async () => {
  await using agent = await startOwnedAgent({}, { tokenOf: (row, sealer) => openTokens(sealer, row).gatewayToken })
  const { platform, running, model } = agent
  const port = Number(new URL(running.url).port)
  await write(platform.db, (tx) => tx.update(agents).set({ port }).where(eq(agents.id, agent.agent.id)).run())
  await writeFile(join(running.folder, 'workspace/a.md'), 'kept')
  const asked = Object(await (await agent.asAgent('/v1/approvals', 'POST', QUESTION)).json())
  expect((await agent.decide(asked.id, 'approve')).status).toBe(200)
  const waiting = platform.db.select().from(jobs).all()
  expect(waiting.map(({ kind, payload }) => [kind, payload])).toContainEqual(['approvals.resume', { id: asked.id }])
  model.next(callsTool('delete_file', { path: 'a.md' }), says('It is done.'))
  await resumeAgent(platform, asked.id, never)
  expect(JSON.stringify(model.asked[0]?.messages)).toContain('I have approved what you asked for: delete_file')
  expect((await agent.list()).map(({ status }) => status)).toEqual(['used'])
  const before = model.asked.length
  await resumeAgent(platform, asked.id, never)
  expect(model.asked).toHaveLength(before)
})
