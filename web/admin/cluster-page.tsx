import { queryOptions, useQuery } from '@tanstack/react-query'
import { ClusterStatus } from '../../src/features/admin/cluster/schemas.ts'
import { api, hasCode, request } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Loaded, Notice } from '../ui/notice.tsx'
import { cellClass, Empty, Fact, Facts, Section, TableFrame } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows } from './paging.tsx'

const clusterQuery = queryOptions({
  queryKey: ['admin', 'cluster'],
  queryFn: ({ signal }) => request(ClusterStatus, api.GET('/api/cluster', { signal })),
  refetchInterval: 5000,
})

const ROLES = {
  leader: { tone: 'good', word: 'Leader' },
  follower: { tone: 'plain', word: 'Follower' },
  gone: { tone: 'problem', word: 'Not reachable' },
} as const

/** Page `/admin/cluster`. */
export function ClusterPage() {
  const query = useQuery(clusterQuery)
  const isSingle = hasCode(query.error, 'SINGLE_NODE')
  return (
    <AdminFrame title="Cluster" lead="Nodes that share this installation. Updates every five seconds.">
      {isSingle ? (
        <Empty title="Single node">
          <p>
            This installation runs on one node.{' '}
            <a href="/docs/scaling" className="text-accent underline underline-offset-2">
              Set up a cluster
            </a>{' '}
            to survive the loss of a machine.
          </p>
        </Empty>
      ) : (
        <Loaded query={query} what="the cluster" placeholder={<LoadingRows what="the cluster" />}>
          {(status) => (
            <div className="grid grid-cols-1 gap-6">
              <CommitLog status={status} />
              <Nodes nodes={status.nodes} />
            </div>
          )}
        </Loaded>
      )}
    </AdminFrame>
  )
}

function CommitLog({ status: { log, leader } }: { status: ClusterStatus }) {
  return (
    <Section
      title="Commit log"
      badge={log.synchronous ? <Badge tone="good">Synchronous</Badge> : <Badge tone="warning">Not synchronous</Badge>}
      lead="Writes are stored here, in PostgreSQL, before they are acknowledged."
    >
      {leader === null && (
        <Notice tone="problem" title="No leader">
          No node can write at the moment. Check that the nodes reach PostgreSQL.
        </Notice>
      )}
      {!log.synchronous && (
        <Notice tone="warning" title="Writes can be lost">
          No synchronous standby is connected. If the PostgreSQL server is lost, acknowledged writes are lost with it.
        </Notice>
      )}
      <Facts>
        <Fact name="Last entry">{log.position.toLocaleString('en')}</Fact>
        <Fact name="Leader">{leader ?? 'none'}</Fact>
      </Facts>
    </Section>
  )
}

const COLUMNS = { Node: 'text', Role: 'text', Position: 'number', Lag: 'number', Version: 'text', URL: 'text' } as const

function Nodes({ nodes }: Pick<ClusterStatus, 'nodes'>) {
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-surface">
      <TableFrame label="Nodes" columns={COLUMNS}>
        {nodes.map(({ id, role, position, lag, version, url }) => (
          <tr key={id}>
            <th scope="row" className={`${cellClass('text')} font-medium`}>
              {id}
            </th>
            <td className={cellClass('text')}>
              <Badge tone={ROLES[role].tone}>{ROLES[role].word}</Badge>
            </td>
            <td className={cellClass('number')}>{position.toLocaleString('en')}</td>
            <td className={cellClass('number')}>{lag.toLocaleString('en')}</td>
            <td className={cellClass('text')}>{version}</td>
            <td className={`${cellClass('text')} whitespace-nowrap`}>{url}</td>
          </tr>
        ))}
      </TableFrame>
    </div>
  )
}
