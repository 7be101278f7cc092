import { existsSync } from 'node:fs'
import { createCommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { openLogDatabase } from '../../adapters/commit-log/log-database.ts'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { leaveLog } from '../../db/cluster/position.ts'
import { lockDataDir } from '../../db/instance-lock.ts'
import { ClusterSnapshot, type ClusterStatus } from '../../features/admin/cluster/schemas.ts'
import { readClusterStatus } from '../../server/cluster/status.ts'
import { NotRunningError } from '../exit.ts'
import { createServerClient } from './client.ts'
import { toTable } from './table.ts'

/** Prints the nodes of the cluster. */
export async function showStatus(config: Config, isJson: boolean): Promise<void> {
  const status = await withLog(config, readClusterStatus)
  process.stdout.write(`${isJson ? JSON.stringify(status) : toText(status)}\n`)
}

/** Asks the leader, because only it may remove entries. */
export async function storeSnapshot(config: Config, isJson: boolean): Promise<void> {
  if (!config.internalApiKey) throw new AppError('misconfigured', 'INTERNAL_API_KEY: must be set to ask the leader')
  const { leader } = await withLog(config, (store) => store.readState())
  if (!leader) throw new NotRunningError('the cluster has no leader at the moment')
  const client = createServerClient(leader.url, { authorization: `Bearer ${config.internalApiKey}` })
  const { position } = await client.ask(ClusterSnapshot, 'POST', '/api/cluster/snapshot')
  process.stdout.write(isJson ? `${JSON.stringify({ position })}\n` : `A snapshot is stored at position ${position}.\n`)
}

/**
 * Makes the database of a stopped node one of a single node.
 * @throws StartupError while a server runs on the folder; AppError `not_found` when the database belongs to no cluster.
 */
export function leaveCluster({ dataDir, databaseFile }: Config, isJson: boolean): void {
  if (!existsSync(databaseFile)) throw new AppError('not_found', `DATA_DIR: there is no ${databaseFile}`)
  const unlock = lockDataDir(dataDir)
  try {
    const left = leaveLog(databaseFile)
    if (!left) throw new AppError('not_found', 'DATA_DIR: the database belongs to no cluster')
    const { cluster, seq } = left
    const text = `The database left the cluster ${cluster} at position ${seq}. Unset CLUSTER_LOG_URL before the next start.`
    process.stdout.write(isJson ? `${JSON.stringify({ cluster, position: seq })}\n` : `${text}\n`)
  } finally {
    unlock()
  }
}

async function withLog<T>(
  { cluster }: Config,
  work: (store: ReturnType<typeof createCommitLogStore>) => Promise<T>,
): Promise<T> {
  if (!cluster) throw new AppError('misconfigured', 'CLUSTER_LOG_URL: is not set, so this is a single node')
  const store = createCommitLogStore(openLogDatabase(cluster.logUrls))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function toText({ nodes, log }: ClusterStatus): string {
  const rows = nodes.map(({ id, role, position, lag, version, url }) => [
    id,
    role,
    `${position}`,
    `${lag}`,
    version,
    url,
  ])
  const kind = log.synchronous ? 'synchronous' : 'not synchronous: the loss of its server loses acknowledged writes'
  return `${toTable(['NODE', 'ROLE', 'POSITION', 'LAG', 'VERSION', 'URL'], rows)}\nLog: position ${log.position}, ${kind}`
}
