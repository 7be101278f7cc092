import { createDockerPing } from '../../adapters/runtimes/engine/engine.ts'
import type { Config } from '../../core/config.ts'
import type { openAgents } from '../agents/open.ts'
import type { Base } from '../base.ts'
import { createFaultFinder } from './health/faults.ts'
import { createHostProbe } from './health/host.ts'
import { createReadiness } from './health/readiness.ts'
import { createDiskProbe } from './metrics/disk.ts'

type ViewsSettings = Pick<Config, 'agents' | 'dataDir'>

/** Opens what the rooms of views share. */
export function openViews(
  { db, clock }: Base,
  { agents, dataDir }: ViewsSettings,
  { diskFloor, runtimes }: Pick<ReturnType<typeof openAgents>, 'diskFloor' | 'runtimes'>,
) {
  return {
    findFailing: createReadiness({ db, clock, runtimes, diskFloor }),
    findFaults: createFaultFinder({ db, clock, diskFloor }),
    isDockerAvailable: createDockerPing(agents.dockerHost),
    measureDisk: createDiskProbe(dataDir),
    probeHost: createHostProbe(),
  }
}
