import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import { PlatformBadge } from '../agent/channels/platform-badge.tsx'
import { FieldMark } from '../agents/field-mark.tsx'
import { describeStatus } from '../agents/status-badge.tsx'
import { PLAN_NEEDED, PlanLink, useNeedsPlan } from '../billing/plan-needed.tsx'
import { Page } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { AttentionList } from './attention-list.tsx'
import { CostTrend, MoreLink } from './cost-trend.tsx'
import { GettingStarted } from './getting-started.tsx'
import { overviewQuery } from './overview-api.ts'
import { toPlainExcerpt } from './plain-excerpt.ts'

export function OverviewPage() {
  const query = useQuery(overviewQuery)
  return (
    <Page title="Overview" lead="Alerts, spending and recent conversations">
      <Loaded query={query} what="overview" placeholder={<Loading />}>
        {(overview) => (
          <>
            <AttentionList attention={overview.attention} isUsed={overview.steps.agent} />
            <GettingStarted steps={overview.steps} />
            <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
              <CostTrend days={overview.cost} />
              <Agents agents={overview.agents} />
            </div>
            <Conversations conversations={overview.conversations} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Agents({ agents }: Pick<Overview, 'agents'>) {
  const total = Object.values(agents).reduce((sum, count) => sum + count, 0)
  const needsPlan = useNeedsPlan()
  return (
    <Panel title="Agents" actions={<MoreLink to="/agents">All agents</MoreLink>}>
      {total === 0 ? (
        <div className="grid justify-items-start gap-3 px-4 pb-4">
          <p className="text-sm text-muted">
            {needsPlan ? PLAN_NEEDED : 'No agents yet. A new agent is ready to chat within seconds.'}
          </p>
          {needsPlan ? (
            <PlanLink />
          ) : (
            <Link to="/agents/new" className={buttonClass('plain')}>
              Create your first agent
            </Link>
          )}
        </div>
      ) : (
        <dl className="grid grid-cols-2 gap-x-4 gap-y-5 px-4 pb-4 sm:grid-cols-3">
          {AgentStatus.options
            .filter((status) => agents[status])
            .map((status) => (
              <div key={status}>
                <dt className="text-sm text-muted">{describeStatus(status)}</dt>
                <dd className="text-xl font-semibold">
                  <Link to="/agents" search={{ status }} className="hover:underline">
                    {agents[status]?.toLocaleString('en')}
                  </Link>
                </dd>
              </div>
            ))}
        </dl>
      )}
    </Panel>
  )
}

function Conversations({ conversations }: Pick<Overview, 'conversations'>) {
  return (
    <Panel title="Recent conversations">
      {conversations.length === 0 ? (
        <p className="px-4 pb-4 text-sm text-muted">No conversations yet</p>
      ) : (
        <ul className="divide-y divide-line border-t border-line">
          {conversations.map((conversation) => (
            <ConversationRow key={conversation.agentId} conversation={conversation} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

type ConversationRowProps = { conversation: Overview['conversations'][number] }

function ConversationRow({ conversation: { agentId, name, sender, excerpt, platform, at } }: ConversationRowProps) {
  return (
    <li>
      <Link
        to="/agents/$agentId"
        params={{ agentId }}
        className="flex items-center gap-3 px-4 py-3 -outline-offset-2 hover:bg-sunken"
      >
        <FieldMark seed={agentId} className="size-8" />
        <span className="grid min-w-0 flex-1">
          <span className="flex items-baseline justify-between gap-3">
            <span className="flex min-w-0 items-baseline gap-2">
              <span className="min-w-0 truncate font-medium">{name}</span>
              <PlatformBadge platform={platform} />
            </span>
            <span className="shrink-0 text-xs text-muted">
              <Moment at={at} as="distance" />
            </span>
          </span>
          <span className="truncate text-sm text-muted">
            {sender === 'user' && 'You: '}
            {sender === 'user' ? excerpt : toPlainExcerpt(excerpt)}
          </span>
        </span>
      </Link>
    </li>
  )
}

function Loading() {
  return (
    <LoadingShapes what="overview" className="grid gap-6">
      <Skeleton className="h-20 rounded-xl" />
      <div className="grid gap-6 lg:grid-cols-2">
        <Skeleton className="h-44 rounded-xl" />
        <Skeleton className="h-44 rounded-xl" />
      </div>
      <Skeleton className="h-40 rounded-xl" />
    </LoadingShapes>
  )
}
