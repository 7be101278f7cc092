import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, type Person, signUp } from '../../../../tests/harness/client.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { readHistory } from '../../../../tests/harness/killing.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { SERVICE_KEY, startServer } from '../../../../tests/harness/server.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { agentFolder } from '../../../adapters/runtimes/process/files.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { WebAgentDetail } from '../registry/schemas.ts'
import { agents } from '../registry/tables.ts'
import { SnapshotList } from './schemas.ts'
import { snapshotsOf } from './snapshots.ts'

const FAILING_AGENT = join(import.meta.dir, '../../../../tests/harness/programs/failing-agent.ts')
const KEPT = '2026-11-20T01-00-00.000Z'
const PATH = 'notes/plan.md'

const listOf = async (person: Person, id: string) =>
  (await read(SnapshotList, person.get(`/api/agents/${id}/snapshots`))).snapshots
const restore = (person: Person, id: string, snapshotId = '') =>
  person.post(`/api/agents/${id}/snapshots/${snapshotId}/restore`, {})

async function keep(person: Person, id: string, content: string): Promise<void> {
  expect((await person.post(`/api/browse/write?agentId=${id}`, { path: PATH, content })).status).toBe(200)
}

async function planOf(person: Person, id: string): Promise<string> {
  return (await person.get(`/api/browse/read?${new URLSearchParams({ agentId: id, path: PATH })}`)).text()
}

test('POST /api/agents/:id/snapshots/:snapshotId/restore: 200 with the state, and the replaced state is kept', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  expect(await listOf(person, id)).toEqual([])
  await keep(person, id, 'tea at four')
  await person.post(`/api/agents/${id}/update`, {})
  await keep(person, id, 'tea at five')

  const [before] = await listOf(person, id)
  expect(before).toEqual({
    id: expect.any(String),
    takenAt: expect.any(String),
    before: 'update',
    sizeBytes: expect.any(Number),
  })
  expect(before?.sizeBytes).toBeGreaterThan(0)
  expect(new Date(before?.takenAt ?? '').toISOString()).toBe(before?.takenAt ?? '')
  // Two clicks are one operation.
  const answers = await Promise.all([restore(person, id, before?.id), restore(person, id, before?.id)])
  for (const answer of answers) {
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ success: true, status: 'running', backupPath: expect.stringContaining(id) })
  }
  expect(await planOf(person, id)).toContain('tea at four')
  const history = await readHistory(person, id)
  expect(history.map(({ kind, result }) => [kind, result])).toEqual([
    ['restore-snapshot', 'succeeded'],
    ['update', 'succeeded'],
    ['deploy', 'succeeded'],
  ])

  const [safety, source] = await listOf(person, id)
  expect([safety?.before, source?.id]).toEqual(['restore-snapshot', before?.id])
  const byService = await fetch(`${server.urls.backend}/api/agents/${id}/snapshots/${safety?.id}/restore`, {
    method: 'POST',
    headers: bearer(SERVICE_KEY),
  })
  expect(await byService.json()).toMatchObject({ success: true, status: 'active' })
  expect(await planOf(person, id)).toContain('tea at five')
})

test('POST /api/agents/:id/snapshots/:snapshotId/restore: 500 after a rollback when the agent does not run', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer({}, [process.execPath, FAILING_AGENT, gate])
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const plan = join(agentFolder(join(server.dataDir, 'agents'), id).state, 'plan.md')
  await Bun.write(plan, 'tea at four')
  await person.post(`/api/agents/${id}/update`, {})
  await Bun.write(plan, 'tea at five')
  const [before] = await listOf(person, id)
  await Bun.write(gate, '')
  const response = await restore(person, id, before?.id)
  const message = 'The agent ended before it was healthy (exit code 78). The agent runs with what it had before'
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ error: message, code: 'ROLLED_BACK' })
  expect(await Bun.file(plan).text()).toBe('tea at five')
  const { agent } = await read(WebAgentDetail, person.get(`/api/agents/${id}`))
  expect(agent).toMatchObject({ status: 'running', lastError: message })
  const [last] = await readHistory(person, id)
  expect(last).toMatchObject({ kind: 'restore-snapshot', result: 'rolled-back' })
  expect(last?.logTail).toContain('the new version does not work here')
})

test('POST /api/agents/:id/snapshots/:snapshotId/restore: 200 starts a stopped agent and keeps the snapshot', async () => {
  await using server = await startServer()
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  for (let update = 0; update < 3; update += 1) await person.post(`/api/agents/${id}/update`, {})
  const oldest = (await listOf(person, id)).at(-1)
  await person.post(`/api/agents/${id}/stop`, {})
  expect((await restore(person, id, oldest?.id)).status).toBe(200)
  const kept = await listOf(person, id)
  expect(kept.map((one) => one.id)).toContain(oldest?.id ?? '')
  expect(kept).toHaveLength(4)
})

/** Creates an agent without an engine and with one snapshot. */
async function openInstallation() {
  const installation = testPlatform({ runtime: createNoRuntime('docker', 'No engine answers') })
  const { user, cookie } = await installation.signIn()
  const row = { id: 'ada-1', ownerId: user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
  await write(installation.platform.db, (tx) => insertAgent(installation.platform, tx, { ...row, status: 'running' }))
  const folder = join(installation.config.dataDir, snapshotsOf('ada-1'))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${KEPT}.tar.gz`), 'what it had stored')
  writeFileSync(join(folder, `${KEPT}.tar.gz.part`), 'what is being written')
  return { ...installation, user, cookie, folder }
}

test('GET /api/agents/:id/snapshots: 200 newest first, 401 without a session, 404 for a stranger', async () => {
  const { web, backend, signIn, cookie } = await openInstallation()
  const path = '/api/agents/ada-1/snapshots'
  const one = { id: KEPT, takenAt: '2026-11-20T01:00:00.000Z', before: null, sizeBytes: 18 }
  expect(await (await web.request(path, { headers: cookie })).json()).toEqual({ snapshots: [one], count: 1 })
  expect(await (await backend.request(path, { headers: bearer(INTERNAL_KEY) })).json()).toMatchObject({ count: 1 })
  const eve = await signIn('eve@example.com')
  expect((await web.request(path)).status).toBe(401)
  expect((await web.request(path, { headers: eve.cookie })).status).toBe(404)
})

test.each(['2026-11-20T02-00-00.000Z', `${KEPT}.tar.gz`, `..%2Fada-1%2F${KEPT}`, '..', '%00'])(
  'POST /api/agents/:id/snapshots/:snapshotId/restore: 404 when the snapshot is %p, and nothing is requested',
  async (snapshotId) => {
    const { web, platform, cookie } = await openInstallation()
    const response = await web.request(`/api/agents/ada-1/snapshots/${snapshotId}/restore`, json('POST', {}, cookie))
    expect(response.status).toBe(404)
    expect(platform.db.select().from(agents).get()?.status).toBe('running')
  },
)

test('POST /api/agents/:id/snapshots/:snapshotId/restore: 401 without a session, 404 for a stranger, 409 during a deletion', async () => {
  const { web, signIn, cookie, platform } = await openInstallation()
  const path = `/api/agents/ada-1/snapshots/${KEPT}/restore`
  const eve = await signIn('eve@example.com')
  expect((await web.request(path, json('POST', {}))).status).toBe(401)
  expect((await web.request(path, json('POST', {}, eve.cookie))).status).toBe(404)
  await write(platform.db, (tx) => void platform.enqueue(tx, 'agents.remove', { id: 'ada-1' }, { key: 'remove:ada-1' }))
  expect((await web.request(path, json('POST', {}, cookie))).status).toBe(409)
})

test('runRestoreSnapshot throws when the snapshot was deleted, and changes nothing without an engine', async () => {
  const { web, platform, cookie, folder } = await openInstallation()
  const path = `/api/agents/ada-1/snapshots/${KEPT}/restore`
  await using _jobs = startJobs(platform)
  const unanswered = await web.request(path, json('POST', {}, cookie))
  expect([unanswered.status, await unanswered.json()]).toEqual([500, { error: 'No engine answers' }])
  expect(platform.db.select().from(agents).get()?.status).toBe('running')
  expect(existsSync(join(folder, `${KEPT}.tar.gz`))).toBe(true)
  rmSync(join(folder, `${KEPT}.tar.gz`))
  expect((await web.request(path, json('POST', {}, cookie))).status).toBe(404)
  expect(readdirSync(folder)).toEqual([`${KEPT}.tar.gz.part`])
})
