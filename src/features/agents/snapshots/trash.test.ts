import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../registry/agents.ts'
import { agents } from '../registry/tables.ts'
import { snapshotsOf } from './snapshots.ts'
import { trashJob } from './trash.ts'

const DAY_MS = 86_400_000
const SNAPSHOT = '2026-11-20T01-00-00.000Z.tar.gz'

function openInstallation() {
  const runtime: Runtime = {
    ...createNoRuntime('docker', 'not in this test'),
    inspect: async () => null,
    remove: async () => {},
  }
  const installation = testPlatform({ runtime })
  const { platform } = installation
  const { dataDir } = installation.config
  const folder = join(dataDir, 'backups/trash')
  return {
    ...installation,
    folder,
    /** Lists all snapshots in the trash by path. */
    listTrash: () => listFiles(folder),
    emptyOld: () => trashJob(platform).run(new AbortController().signal),
    async addAgent(id: string, ownerId: string | null) {
      const row = { id, ownerId, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
      await write(platform.db, (tx) => {
        insertAgent(platform, tx, { ...row, status: 'stopped' })
        tx.update(agents).set({ runtime: 'docker' }).where(eq(agents.id, id)).run()
      })
      mkdirSync(join(dataDir, snapshotsOf(id)), { recursive: true })
      writeFileSync(join(dataDir, snapshotsOf(id), SNAPSHOT), 'what it had stored')
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

test('discardSnapshots keeps snapshots for 7 days by owner and logs the folder', async () => {
  const installation = openInstallation()
  const { user, cookie } = await installation.signIn()
  await installation.addAgent('ada-1', user.id)
  await installation.addAgent('bo-1', null)
  const deletedAt = installation.clock.now().toISOString().replaceAll(':', '-')
  await installation.web.request('/api/agents/ada-1', { method: 'DELETE', headers: cookie })
  await installation.backend.request('/api/agents/bo-1', { method: 'DELETE', headers: bearer(INTERNAL_KEY) })
  const kept = [`operator/bo-1@${deletedAt}/${SNAPSHOT}`, `${user.id}/ada-1@${deletedAt}/${SNAPSHOT}`]
  expect(installation.listTrash().sort()).toEqual(kept)
  expect(listFiles(join(installation.config.dataDir, 'backups/agents'))).toEqual([])
  expect(statSync(join(installation.folder, user.id)).mode & 0o777).toBe(0o700)
  expect(installation.logLines.join('')).toContain(`backups/trash/${user.id}/ada-1@${deletedAt}`)

  installation.clock.advance(7 * DAY_MS)
  await installation.emptyOld()
  expect(installation.listTrash().sort()).toEqual(kept)
  installation.clock.advance(1)
  await installation.emptyOld()
  expect(installation.listTrash()).toEqual([])
})

test('discardSnapshots keeps the snapshots of two agents with one id', async () => {
  const installation = openInstallation()
  const { user, cookie } = await installation.signIn()
  for (const _round of [1, 2]) {
    await installation.addAgent('ada-1', user.id)
    await installation.web.request('/api/agents/ada-1', { method: 'DELETE', headers: cookie })
    installation.clock.advance(DAY_MS)
  }
  expect(installation.listTrash()).toHaveLength(2)
})

test('DELETE /api/user: 200 deletes snapshots of agents and in the trash', async () => {
  const installation = openInstallation()
  await using _jobs = startJobs(installation.platform)
  const [ada, bo] = [await installation.signIn(), await installation.signIn('bo@example.com')]
  await installation.addAgent('bo-1', bo.user.id)
  await installation.addAgent('ada-1', ada.user.id)
  await installation.addAgent('ada-2', ada.user.id)
  await installation.web.request('/api/agents/bo-1', { method: 'DELETE', headers: bo.cookie })
  await installation.web.request('/api/agents/ada-1', { method: 'DELETE', headers: ada.cookie })
  expect(installation.listTrash()).toHaveLength(2)
  const gone = await installation.web.request(
    '/api/settings/account',
    json('DELETE', { confirm: 'ada@example.com' }, ada.cookie),
  )
  expect(gone.status).toBe(200)
  await until('the end of what is kept of Ada', () => installation.listTrash().length === 1)
  await until(
    'the end of her snapshots',
    () => listFiles(join(installation.config.dataDir, 'backups/agents')).length === 0,
  )
  expect(installation.listTrash()[0]).toStartWith(bo.user.id)
})

test('forgetTrash deletes the snapshots of deleted accounts and keeps foreign files', async () => {
  const installation = openInstallation()
  const strange = join(installation.folder, 'operator', 'mine')
  for (const folder of [strange, join(installation.folder, 'usr_gone', 'ada-1@2026-11-20T01-00-00.000Z')]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, SNAPSHOT), '')
  }
  installation.clock.advance(30 * DAY_MS)
  await installation.emptyOld()
  expect(installation.listTrash()).toEqual([`operator/mine/${SNAPSHOT}`])
})
