import type { Mailer } from '../../../adapters/mail/mail.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import { linksGo } from '../../accounts/mails/send-mail.ts'
import type { DiskFloor } from '../../agents/storage/disk.ts'
import type { FindFailing } from '../../monitoring/health/readiness.ts'
import type { HostHealth } from '../../monitoring/health/schemas.ts'
import { readStateCounts } from '../../monitoring/tracing/totals.ts'
import type { HouseHealth } from './schemas.ts'

export type HealthDeps = {
  db: Db
  log: Log
  mailer: Mailer
  diskFloor: DiskFloor
  findFailing: FindFailing
  probeHost: () => HostHealth
  measureDatabase: () => { bytes: number; logBytes: number } | null
}

const MAIL_WORDS = { 'by-mail': 'smtp', 'to-log': 'log', nowhere: 'none' } as const

/** How the whole house is. A machine that is not busy is `degraded` all the same while a part of the house fails. */
export async function getHouseHealth(deps: HealthDeps): Promise<HouseHealth> {
  const failing = await deps.findFailing()
  const host = deps.probeHost()
  const counts = Map.groupBy(readStateCounts(deps.db), ({ subject }) => subject)
  const countsOf = (subject: 'agents' | 'jobs') =>
    Object.fromEntries((counts.get(subject) ?? []).map(({ state, rows }) => [state, rows]))
  const database = deps.measureDatabase()
  return {
    ...host,
    health: host.health === 'healthy' && failing.length > 0 ? 'degraded' : host.health,
    version: VERSION,
    startedAt: new Date(performance.timeOrigin).toISOString(),
    failing,
    processBytes: process.memoryUsage.rss(),
    databaseBytes: database && database.bytes + database.logBytes,
    freeDiskBytes: await measureFreeDisk(deps),
    minFreeDiskBytes: deps.diskFloor.minFreeBytes,
    agents: countsOf('agents'),
    jobs: countsOf('jobs'),
    mail: MAIL_WORDS[linksGo(deps.mailer)],
  }
}

async function measureFreeDisk({ diskFloor, log }: HealthDeps): Promise<number | null> {
  try {
    return await diskFloor.measure()
  } catch (error) {
    log.warn({ error: errorMessage(error) }, 'cannot measure the disk')
    return null
  }
}
