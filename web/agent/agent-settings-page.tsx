import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { WorkspaceImportSection } from '../agent-memory/workspace-import.tsx'
import { McpSection } from '../agent-tools/mcp-section.tsx'
import { ToolsSection } from '../agent-tools/tools-section.tsx'
import { AsksBeforeLeaving } from '../shell/asks-before-leaving.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { configQuery } from './agent-api.ts'
import { AgentFrame } from './agent-frame.tsx'
import { ChannelsSection } from './channels/channels-section.tsx'
import { MailChannelSection } from './channels/mail-channel-section.tsx'
import { MessengerSections } from './channels/messenger-sections.tsx'
import { WebhookChannelSection } from './channels/webhook-channel-section.tsx'
import { DangerSection } from './danger-section.tsx'
import { LimitsSection } from './limits-section.tsx'
import { ModelSection, NameSection, ProviderSection } from './model-sections.tsx'
import { SleepSection } from './sleep-section.tsx'
import { TokenSection } from './token-section.tsx'
import { VerificationSection } from './verification-section.tsx'

const route = getRouteApi('/signed-in/agents/$agentId/settings')

/** Page `/agents/$agentId/settings`. */
export function AgentSettingsPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Settings">
      {({ agent }) => (
        <AsksBeforeLeaving className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
          <NameSection agent={agent} />
          <Configured agent={agent} />
          <LimitsSection agent={agent} />
          <ToolsSection agent={agent} />
          <McpSection agent={agent} />
          <WorkspaceImportSection agent={agent} />
          <TokenSection agent={agent} />
          <VerificationSection agent={agent} />
          <DangerSection agent={agent} />
        </AsksBeforeLeaving>
      )}
    </AgentFrame>
  )
}

function Configured({ agent }: { agent: WebAgent }) {
  const query = useQuery(configQuery(agent.id))
  return (
    <Loaded
      query={query}
      what="settings"
      placeholder={
        <LoadingShapes what="settings" className="grid gap-6">
          <Skeleton className="h-48 rounded-xl" />
          <Skeleton className="h-60 rounded-xl" />
          <Skeleton className="h-96 rounded-xl" />
        </LoadingShapes>
      }
    >
      {(config) => (
        <>
          <ModelSection agent={agent} config={config} />
          <ProviderSection agent={agent} config={config} />
          <SleepSection agent={agent} config={config} />
          <MessengerSections agent={agent} config={config} />
          <ChannelsSection agent={agent} config={config} />
          <MailChannelSection agent={agent} />
          <WebhookChannelSection agent={agent} />
        </>
      )}
    </Loaded>
  )
}
