import { join } from 'node:path'
import { startBareServer } from './child.ts'
import { describeCost, race } from './race.ts'
import type { Measurement } from './report.ts'
import { createUser, preparePlatform, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const CONNECTIONS = 32

/** Compares `GET /api/auth/session` of a signed-in browser with the one database read that it needs. */
export async function measureSession(bench: Workbench): Promise<Measurement[]> {
  const installation = await preparePlatform(bench)
  const email = await createUser(bench, installation, 'solo')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const bare = await startBareServer(bench, 'session.ts', [join(installation.dataDir, 'stead.db')])
  const request = { method: 'GET', path: '/api/auth/session', headers: { cookie } }

  const result = await race({ ...request, url: stead.web, pid: stead.pid }, { ...request, ...bare }, CONNECTIONS)
  return [
    {
      name: 'session',
      ours: result.ours.requestsPerSecond,
      bare: result.bare.requestsPerSecond,
      unit: 'requests/s',
      value: result.ratio,
      bound: 'at least',
      layer: 0.4,
      aim: 0.6,
      notes: [describeCost(result)],
    },
  ]
}
