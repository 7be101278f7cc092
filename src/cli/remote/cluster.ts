import type { Command } from 'commander'
import { readConfig } from '../../core/config.ts'
import { addExample } from '../example.ts'
import { addSettingFlags, readEnvironment } from '../settings/environment.ts'

/** Adds `cluster`: shows the nodes, stores a snapshot, and makes a node a single one. */
export function clusterCommand(program: Command): void {
  const cluster = program.command('cluster').description('shows and maintains the cluster of CLUSTER_LOG_URL')
  cluster.helpCommand(false)
  addExample(cluster, 'stead cluster status')
  addSettingFlags(addExample(cluster.command('status'), 'stead cluster status --json'))
    .description('lists the nodes, who leads, and how far each has applied the log')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, ...flags }: { json: boolean }) => {
      const { showStatus } = await import('./cluster-log.ts')
      await showStatus(readConfig(readEnvironment(flags)), json)
    })
  addSettingFlags(addExample(cluster.command('snapshot'), 'stead cluster snapshot'))
    .description('stores a snapshot in the log, which removes older entries; new nodes start from it')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, ...flags }: { json: boolean }) => {
      const { storeSnapshot } = await import('./cluster-log.ts')
      await storeSnapshot(readConfig(readEnvironment(flags)), json)
    })
  addSettingFlags(addExample(cluster.command('leave'), 'stead cluster leave'))
    .description('makes the database of a stopped node one of a single node, which no longer follows the log')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json, ...flags }: { json: boolean }) => {
      const { leaveCluster } = await import('./cluster-log.ts')
      leaveCluster(readConfig(readEnvironment(flags)), json)
    })
}
