import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import type { ClusterStatus } from '../../features/admin/cluster/schemas.ts'

/** A node that has not reported itself for this long is gone. */
export const GONE_MS = 5000

/** Reads the state of all nodes from the log. @throws LogUnreachable */
export async function readClusterStatus(store: CommitLogStore): Promise<ClusterStatus> {
  const [nodes, { newest, leader }, synchronous] = await Promise.all([
    store.listNodes(),
    store.readState(),
    store.isSynchronous(),
  ])
  return {
    nodes: nodes.map(({ id, position, version, url, secondsAgo }) => ({
      ...{ id, position, version, url, lag: Math.max(0, newest - position) },
      role: secondsAgo * 1000 > GONE_MS ? 'gone' : leader?.node === id ? 'leader' : 'follower',
    })),
    leader: leader?.node ?? null,
    log: { position: newest, synchronous },
  }
}
