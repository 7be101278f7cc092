import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../../tests/harness/platform.ts'
import { tempFolder } from '../../../../../tests/harness/temp-folder.ts'
import { type Timed, UNCACHED } from '../rows/event.ts'
import { createUsageSpool } from '../spool.ts'
import { usageLogs, usageUnderWay } from '../tables.ts'
import { createUsageWriter } from '../writer.ts'
import { createUnderWayFile, createUnderWayRows, type UnderWayCalls } from './under-way.ts'

function toCall(generationId: string): Timed {
  return {
    ...{ generationId, keyId: null, provider: 'openrouter', attempts: 1, isOwnKey: false, isEstimated: true },
    ...{ userId: 'user-1', agentId: 'direct', model: 'm', inputTokens: 10, outputTokens: 5, costMicroUsd: 7 },
    ...{ endpoint: '/v1/chat/completions', latencyMs: 3, errorMessage: null, endUser: null, tags: null },
    ...UNCACHED,
    at: new Date('2026-11-28T12:00:00Z'),
  }
}

const idsOf = async (calls: UnderWayCalls) =>
  (await calls.read()).map((text) => /"generationId":"(\w+)"/.exec(text)?.[1]).sort()

test.each(['rows', 'file'])('running calls in %s are added, replaced and read', async (kind) => {
  using folder = tempFolder()
  const { platform } = testPlatform()
  const calls = kind === 'rows' ? createUnderWayRows(platform.db) : createUnderWayFile(folder.file('calls.jsonl'))
  expect(await idsOf(calls)).toEqual([])
  await calls.add([toCall('gen_1'), toCall('gen_2')])
  await calls.add([toCall('gen_3')])
  expect(await idsOf(calls)).toEqual(['gen_1', 'gen_2', 'gen_3'])
  await calls.replace([toCall('gen_3'), toCall('gen_4')])
  expect(await idsOf(calls)).toEqual(['gen_3', 'gen_4'])
  await calls.replace([])
  expect(await idsOf(calls)).toEqual([])
})

test('recover records the running calls of a lost leader once, without those that it had recorded', async () => {
  using folder = tempFolder()
  const { platform } = testPlatform()
  const writer = createUsageWriter(platform.db)
  const underWay = createUnderWayRows(platform.db)
  await underWay.add([toCall('gen_1'), toCall('gen_2')])
  await writer.save([toCall('gen_2')])
  const spool = createUsageSpool({ file: folder.file('spool.jsonl'), underWay, writer, log: platform.log })
  await spool.recover()
  await spool.recover()
  const logged = platform.db.select({ id: usageLogs.generationId }).from(usageLogs).all()
  expect(logged.map(({ id }) => id).sort()).toEqual(['gen_1', 'gen_2'])
  expect(platform.db.select().from(usageUnderWay).all()).toEqual([])
})
