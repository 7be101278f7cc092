import { getRouteApi } from '@tanstack/react-router'
import { SnapshotsPanel } from '../agent-snapshots/snapshots-panel.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import type { AgentPageProps } from './agent-frame.tsx'
import { AgentFrame } from './agent-frame.tsx'
import { Figures } from './figures.tsx'
import { HealthPanel } from './health-panel.tsx'
import { HistoryPanel } from './history-panel.tsx'
import { useLiveAgent } from './live-agent.ts'
import { MemorySection } from './memory-section.tsx'
import { ReachSection } from './reach-section.tsx'
import { useOperation } from './use-operation.ts'
import { WorkSection } from './work-section.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/overview')

/** Page `/agents/$agentId/overview`. */
export function OverviewPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Overview">
      {(page) => <Overview {...page} />}
    </AgentFrame>
  )
}

function Overview(page: AgentPageProps) {
  const { id } = page.agent
  const event = useLiveAgent(id)
  const operation = useOperation(id)
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      {page.agent.paymentUndoneAt && (
        <Notice tone="problem" title="Payment for this clone is missing">
          <p>
            The blockchain reverted the block with the payment, <Moment at={page.agent.paymentUndoneAt} as="minute" />.
            The payment is usually included in another block soon. The administrator sees this too.
          </p>
        </Notice>
      )}
      <Figures agentId={id} />
      <WorkSection {...page} operation={operation} event={event} />
      <HealthPanel agentId={id} />
      <MemorySection agent={page.agent} />
      <ReachSection agent={page.agent} />
      <SnapshotsPanel agent={page.agent} operation={operation} />
      <HistoryPanel agent={page.agent} operation={operation} />
    </div>
  )
}
