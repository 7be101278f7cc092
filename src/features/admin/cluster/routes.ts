import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, Principal, WebEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { type Cluster, ClusterSnapshot, ClusterStatus } from './schemas.ts'

const statusRoute = {
  summary: 'Returns the nodes of the cluster and their positions',
  tag: 'Administration',
  responses: { 200: ClusterStatus },
  errors: ['not_found', 'unavailable'],
} as const

/** Shows the nodes to administrators. */
export function clusterWeb({ guards, cluster }: { guards: Guards; cluster: Cluster | null }) {
  const app = new Hono<WebEnv>()
  app.get('/api/cluster', endpoint(statusRoute), guards.admin, async (c) =>
    c.json(await requireCluster(cluster).readStatus()),
  )
  return app
}

/** Shows the nodes to operators, who can also store a snapshot. */
export function clusterBackend({ cluster }: { cluster: Cluster | null }, internalKey: InternalKeyGuard) {
  const app = new Hono<BackendEnv>()
  app.get('/api/cluster', endpoint(statusRoute), internalKey, async (c) =>
    c.json(await toOperator(cluster, c.var.principal).readStatus()),
  )
  app.post(
    '/api/cluster/snapshot',
    endpoint({
      summary: 'Stores a snapshot in the log of the cluster',
      tag: 'Administration',
      responses: { 200: ClusterSnapshot },
      errors: ['not_found', 'unavailable'],
    }),
    internalKey,
    async (c) => c.json({ position: await toOperator(cluster, c.var.principal).saveSnapshot() }),
  )
  return app
}

/** @throws AppError `not_found` on a single node, `forbidden` for a user beside the internal key. */
function toOperator(cluster: Cluster | null, principal: Principal): Cluster {
  const own = requireCluster(cluster)
  if (principal.kind === 'user' && !principal.user.isAdmin) throw new AppError('forbidden', 'Forbidden')
  return own
}

/** @throws AppError `not_found` on a single node. */
function requireCluster(cluster: Cluster | null): Cluster {
  if (!cluster) {
    throw new AppError('not_found', 'This installation is a single node: CLUSTER_LOG_URL is not set', {
      code: 'SINGLE_NODE',
    })
  }
  return cluster
}
