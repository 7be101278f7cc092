import { hostname } from 'node:os'
import { z } from 'zod'
import { flag, list, url } from './forms.ts'

/** Several nodes that share one state. */
export const CLUSTER = {
  CLUSTER_LOG_URL: list.describe(
    'PostgreSQL URLs of the commit log that the nodes of a cluster share, comma-separated; the first that accepts writes is used. Requires `ENCRYPTION_KEY` and `AGENT_RUNTIME=swarm`; see [Scaling](scaling.md)',
  ),
  CLUSTER_NODE_URL: url
    .optional()
    .describe('URL of the backend port of this node, by which the other nodes of the cluster reach it'),
  CLUSTER_AGENTS_URL: url
    .optional()
    .describe(
      'URL of a backend port by which agents reach the cluster whichever node leads, such as that of the load balancer. Without it, agents call the node that deployed them',
    ),
  CLUSTER_NODE_ID: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be letters, digits, dots, dashes and underscores')
    .default(() => hostname())
    .meta({ description: 'Name of this node in the cluster; each node has its own', otherwise: 'the host name' }),
  CLUSTER_CHECK_MINUTES: z.coerce
    .number()
    .positive()
    .default(60)
    .describe('Minutes between comparisons of all tables with those of the leader; fractions are accepted'),
  CLUSTER_ALLOW_ASYNC: flag(false).describe(
    '`true` accepts a commit log without synchronous replication: acknowledged writes are lost when its server is lost',
  ),
}
