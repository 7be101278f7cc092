import { createDockerPing } from '../../adapters/runtimes/engine/engine.ts'
import type { Config } from '../../core/config.ts'
import type { openAgents } from '../agents/open.ts'
import type { Base } from '../base.ts'
import type { openConversations } from '../conversations/open.ts'
import { createHostProbe } from './health/host.ts'
import { createFaultFinder, createReadiness } from './health/readiness.ts'
import { createDiskProbe } from './metrics/platform.ts'
import { createDatabaseProbe, type ExpositionDeps, openExposition } from './prometheus/registry.ts'

type MonitoringSettings = Pick<Config, 'agents' | 'dataDir' | 'databaseFile' | 'metricsToken'>

/** Opens the monitoring domain. `counts` are of the listeners and of the cluster. */
export function openMonitoring(
  { db, clock, egressCounts }: Base & Pick<ExpositionDeps, 'egressCounts'>,
  { agents, dataDir, databaseFile, metricsToken }: MonitoringSettings,
  {
    diskFloor,
    runtimes,
    turns,
  }: Pick<ReturnType<typeof openAgents>, 'diskFloor' | 'runtimes'> &
    Pick<ReturnType<typeof openConversations>, 'turns'>,
  counts: Pick<ExpositionDeps, 'countUnderWay' | 'measureCluster'>,
) {
  const measureDatabase = createDatabaseProbe(databaseFile)
  return {
    metricsToken,
    measureDatabase,
    exposition: openExposition({
      ...{ db, egressCounts },
      measureDatabase,
      measureFreeDisk: diskFloor.measure,
      ...counts,
      countTurns: turns.count,
    }),
    findFailing: createReadiness({ db, clock, runtimes, diskFloor }),
    findFaults: createFaultFinder({ db, clock, diskFloor }),
    isDockerAvailable: createDockerPing(agents.dockerHost),
    measureDisk: createDiskProbe(dataDir),
    probeHost: createHostProbe(),
  }
}
