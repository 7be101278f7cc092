import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/no-runtime.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/create.ts'
import { agents } from '../registry/tables.ts'
import { trashJob } from './jobs.ts'
import { snapshotFolder } from './snapshots.ts'

const DAY_MS = 86_400_000
const SNAPSHOT = '2026-11-20T01-00-00.000Z.tar.gz'

function openHouse() {
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'not in this test'),
    inspect: async () => null,
    remove: async () => {},
  }
  const house = testPlatform({ runtime })
  const { platform } = house
  const folder = join(platform.snapshotDir, '..', 'trash')
  return {
    ...house,
    folder,
    /** All snapshots in the trash, by path. */
    listTrash: () => listFiles(folder),
    emptyOld: () => trashJob(platform).run(new AbortController().signal),
    async addAgent(id: string, ownerId: string | null) {
      const row = { id, ownerId, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
      await write(platform.db, (tx) => {
        insertAgent(platform, tx, { ...row, status: 'stopped' })
        tx.update(agents).set({ runtime: 'docker' }).where(eq(agents.id, id)).run()
      })
      mkdirSync(snapshotFolder(platform, id), { recursive: true })
      writeFileSync(join(snapshotFolder(platform, id), SNAPSHOT), 'what it had stored')
    },
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tar.gz'))
  } catch {
    return []
  }
}

test('the snapshots of a deleted agent are in the trash for 7 days, by owner, and the log says where', async () => {
  const house = openHouse()
  const { user, cookie } = await house.signIn()
  await house.addAgent('ada-1', user.id)
  await house.addAgent('bo-1', null)
  const deletedAt = house.clock.now().toISOString().replaceAll(':', '-')
  await house.web.request('/api/agents/ada-1', { method: 'DELETE', headers: cookie })
  await house.backend.request('/api/agents/bo-1', { method: 'DELETE', headers: bearer(INTERNAL_KEY) })
  const kept = [`operator/bo-1@${deletedAt}/${SNAPSHOT}`, `${user.id}/ada-1@${deletedAt}/${SNAPSHOT}`]
  expect(house.listTrash().sort()).toEqual(kept)
  expect(listFiles(house.platform.snapshotDir)).toEqual([])
  expect(statSync(join(house.folder, user.id)).mode & 0o777).toBe(0o700)
  expect(house.logLines.join('')).toContain(`backups/trash/${user.id}/ada-1@${deletedAt}`)

  house.clock.advance(7 * DAY_MS)
  await house.emptyOld()
  expect(house.listTrash().sort()).toEqual(kept)
  house.clock.advance(1)
  await house.emptyOld()
  expect(house.listTrash()).toEqual([])
})

test('an agent that is deleted, made again and deleted again has both in the trash', async () => {
  const house = openHouse()
  const { user, cookie } = await house.signIn()
  for (const _round of [1, 2]) {
    await house.addAgent('ada-1', user.id)
    await house.web.request('/api/agents/ada-1', { method: 'DELETE', headers: cookie })
    house.clock.advance(DAY_MS)
  }
  expect(house.listTrash()).toHaveLength(2)
})

test('with the account its snapshots go at once: those of its agents, and those in the trash', async () => {
  const house = openHouse()
  await using _jobs = startJobs(house.platform)
  const [ada, bo] = [await house.signIn(), await house.signIn('bo@example.com')]
  await house.addAgent('bo-1', bo.user.id)
  await house.addAgent('ada-1', ada.user.id)
  await house.addAgent('ada-2', ada.user.id)
  await house.web.request('/api/agents/bo-1', { method: 'DELETE', headers: bo.cookie })
  await house.web.request('/api/agents/ada-1', { method: 'DELETE', headers: ada.cookie })
  expect(house.listTrash()).toHaveLength(2)
  const gone = await house.web.request(
    '/api/settings/account',
    json('DELETE', { confirm: 'ada@example.com' }, ada.cookie),
  )
  expect(gone.status).toBe(200)
  await until('the end of what is kept of Ada', () => house.listTrash().length === 1)
  await until('the end of her snapshots', () => listFiles(house.platform.snapshotDir).length === 0)
  expect(house.listTrash()[0]).toStartWith(bo.user.id)
})

test('what is left of an account that is gone does not wait; what somebody else put there stays', async () => {
  const house = openHouse()
  const strange = join(house.folder, 'operator', 'mine')
  for (const folder of [strange, join(house.folder, 'usr_gone', 'ada-1@2026-11-20T01-00-00.000Z')]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, SNAPSHOT), '')
  }
  house.clock.advance(30 * DAY_MS)
  await house.emptyOld()
  expect(house.listTrash()).toEqual([`operator/mine/${SNAPSHOT}`])
})
