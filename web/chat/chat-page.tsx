import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { ChatSession } from '../../src/features/conversations/chat/schemas.ts'
import { AgentFrame, type AgentPageProps, FailureNotice } from '../agent/agent-frame.tsx'
import { platformName } from '../agent/channels/platform-badge.tsx'
import { isOnOwnMachine } from '../agents/agents-api.ts'
import { useDeployment } from '../agents/deployment.ts'
import { DeploymentProgress } from '../agents/deployment-progress.tsx'
import { Button } from '../ui/button.tsx'
import { chatSessionsQuery } from './chat-api.ts'
import { Conversation, type Target } from './conversation.tsx'
import { SessionsPanel } from './sessions.tsx'

const route = getRouteApi('/signed-in/agents/$agentId')

/** Page `/agents/$agentId`. */
export function ChatPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} isFilling hidesFailure>
      {(page) => <Chat {...page} />}
    </AgentFrame>
  )
}

function Chat({ agent, change, onDeleted }: AgentPageProps) {
  const [isWatching, setWatching] = useState(false)
  const [sessionId, setSession] = useShownSession(agent.id)
  const [target, setTarget] = useState<Target | null>(null)
  const platform = usePlatform(agent.id, sessionId)
  if (agent.status === 'provisioning' && !change.isPending && !isWatching) setWatching(true)
  // A deployment that fails while it is watched stays on the page with its reason.
  const isDeploying = isWatching && (agent.status === 'provisioning' || agent.status === 'error')
  if (isDeploying) {
    return (
      <div className="mx-auto w-full max-w-3xl flex-1 overflow-y-auto px-4 py-8 sm:px-8">
        <DeploymentProgress agent={agent} onRunning={() => setWatching(false)} onDeleted={onDeleted} />
      </div>
    )
  }
  return (
    <>
      {agent.status === 'error' && (
        <div className="px-3 pt-3 sm:px-6">
          <FailureNotice agent={agent} />
        </div>
      )}
      <SessionsPanel
        agentId={agent.id}
        sessionId={sessionId}
        onChoose={(id, messageId) => {
          setSession(id)
          setTarget(messageId === undefined ? null : { messageId })
        }}
      />
      <Conversation
        key={`${agent.id} ${sessionId}`}
        agent={agent}
        sessionId={sessionId}
        target={target}
        blocked={
          platform !== 'web' ? (
            <span>
              This conversation takes place on {platformName(platform)}. Reply there. {agent.name} replies
              automatically.
            </span>
          ) : isAddressable(agent) ? null : (
            <Blocked agent={agent} change={change} />
          )
        }
      />
    </>
  )
}

function usePlatform(agentId: string, sessionId: string | null): ChatSession['platform'] {
  const { data } = useInfiniteQuery(chatSessionsQuery(agentId))
  const session = data?.pages.flatMap((page) => page.sessions).find(({ id }) => id === sessionId)
  return session?.platform ?? 'web'
}

/** A sleeping agent wakes when a message arrives. */
function isAddressable({ status }: WebAgent): boolean {
  return status === 'running' || status === 'sleeping'
}

/** Returns the conversation last shown in this tab. */
function useShownSession(agentId: string) {
  const key = `stead-session:${agentId}`
  const [sessionId, setSessionId] = useState(() => sessionStorage.getItem(key))
  const choose = (id: string | null) => {
    setSessionId(id)
    if (id === null) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, id)
  }
  return [sessionId, choose] as const
}

function Blocked({ agent, change }: Pick<AgentPageProps, 'agent' | 'change'>) {
  const reasons = {
    stopped: `${agent.name} is stopped.`,
    error: `${agent.name} stopped with an error.`,
    unknown: `The status of ${agent.name} is unknown.`,
    pending: `${agent.name} is not provisioned yet.`,
    provisioning: `${agent.name} is starting.`,
    running: '',
    sleeping: '',
  }
  if (isOnOwnMachine(agent)) return <span>{agent.name} answers when your machine is connected again.</span>
  const verb = agent.status === 'error' ? 'restart' : 'start'
  const canStart = agent.status !== 'provisioning' && agent.status !== 'pending'
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <span>
        {change.isPending ? `${agent.name} is starting…` : reasons[agent.status]}{' '}
        {agent.status === 'error' && !change.isPending && <ErrorReason agentId={agent.id} />}
      </span>
      {canStart && (
        <Button Icon={Play} look="primary" isPending={change.isPending} onClick={() => change.mutate(verb)}>
          {verb === 'start' ? 'Start' : 'Restart'}
        </Button>
      )}
    </div>
  )
}

/** The first event of the stream carries the reason of the last failure. */
function ErrorReason({ agentId }: { agentId: string }) {
  return useDeployment(agentId).deployment.error
}
