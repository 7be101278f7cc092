import { join } from 'node:path'
import { sendLoad, type Target } from './load.ts'
import { takeTurns } from './median.ts'
import type { Measurement } from './report.ts'
import { createUser, preparePlatform, signIn, startStead } from './stead.ts'
import { countDailySums, findUserId, type History, writeHistory } from './usage-history.ts'
import type { Workbench } from './workbench.ts'

const YOUNG: History = { rows: 1000, days: 30, otherUsers: 5 }
const OLD: History = { rows: 1_000_000, days: 365, otherUsers: 200 }
const TURNS = 8
const TURN_MS = 400

/** Compares the cost dashboard after a year and a million calls with that after a month and a thousand calls. */
export async function measureCost(bench: Workbench): Promise<Measurement[]> {
  const old = await startPlatform(bench, OLD)
  const young = await startPlatform(bench, YOUNG)
  // One connection measures the response time without a queue.
  const toMs = async (target: Target) => 1000 / (await sendLoad(target, 1, TURN_MS)).requestsPerSecond
  const { ours, bare, ratio } = await takeTurns(TURNS, { ours: () => toMs(old.target), bare: () => toMs(young.target) })
  return [
    {
      name: 'cost dashboard',
      ours,
      bare,
      unit: 'ms',
      value: ratio,
      bound: 'at most',
      layer: 1.5,
      aim: null,
      notes: [
        `the answer adds up ${old.sums} daily sums of ${OLD.rows.toLocaleString('en-US')} calls, and ${young.sums} of ${YOUNG.rows.toLocaleString('en-US')}`,
      ],
    },
  ]
}

async function startPlatform(bench: Workbench, history: History): Promise<{ target: Target; sums: number }> {
  const installation = await preparePlatform(bench)
  const email = await createUser(bench, installation, 'network')
  const file = join(installation.dataDir, 'stead.db')
  const userId = findUserId(file, email)
  writeHistory(file, userId, history)
  const stead = await startStead(bench, installation)
  const headers = { cookie: await signIn(stead, email) }
  const target = { url: stead.web, pid: stead.pid, method: 'GET', path: '/api/dashboard/cost?period=30d', headers }
  return { target, sums: countDailySums(file, userId) }
}
