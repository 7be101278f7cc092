import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { openObjects } from '../../../adapters/objects/open-objects.ts'
import { AppError } from '../../../core/errors.ts'
import type { OperationRow } from '../operations/tables.ts'
import { forgetSnapshots, removeSnapshots, takeSnapshot, toBackupPath } from './snapshots.ts'

/** Returns an update requested at `hour` o'clock. */
function updateAt(hour: number): OperationRow {
  const nothing = {
    image: null,
    previousImage: null,
    result: null,
    error: null,
    logTail: null,
    snapshot: null,
    source: null,
  }
  const times = { requestedAt: new Date(Date.UTC(2026, 10, 20, hour)), startedAt: null, finishedAt: null }
  const rest = {
    id: hour,
    agentId: 'ada-1',
    kind: 'update',
    requestedBy: 'operator',
    requestId: null,
    step: 'snapshot',
  } as const
  return { ...nothing, ...times, ...rest, statusBefore: 'running' }
}

test('forgetSnapshots keeps the three newest snapshots in a private folder', async () => {
  using folder = tempFolder()
  const runtime = { snapshot: async (_id: string, file: string) => void (await Bun.write(file, 'state')) }
  const deps = { runtime, objects: openObjects({ folder: folder.path }) }
  for (const hour of [1, 2, 3, 4, 5]) {
    const name = await takeSnapshot(deps, updateAt(hour))
    expect(toBackupPath('ada-1', name)).toBe(`backups/agents/ada-1/2026-11-20T0${hour}-00-00.000Z.tar.gz`)
    await forgetSnapshots(deps, 'ada-1')
  }
  const own = folder.file('backups/agents/ada-1')
  expect(
    readdirSync(own)
      .sort()
      .map((name) => name.slice(0, 13)),
  ).toEqual(['2026-11-20T03', '2026-11-20T04', '2026-11-20T05'])
  expect(statSync(own).mode & 0o777).toBe(0o700)
  await removeSnapshots(deps, 'ada-1')
  expect(readdirSync(folder.file('backups/agents'))).toEqual([])
  await forgetSnapshots(deps, 'ada-1')
})

test('takeSnapshot returns null when the agent was never deployed, and throws other errors', async () => {
  using folder = tempFolder()
  const refusing = (kind: 'not_found' | 'internal') => ({
    objects: openObjects({ folder: folder.path }),
    runtime: {
      snapshot: async () => {
        throw new AppError(kind, 'The disk is full')
      },
    },
  })
  expect(await takeSnapshot(refusing('not_found'), updateAt(1))).toBeNull()
  await expect(takeSnapshot(refusing('internal'), updateAt(1))).rejects.toThrow('The disk is full')
})
