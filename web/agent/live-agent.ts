import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { AgentStatusEvent } from '../../src/features/agents/registry/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { followAgent } from '../agents/deployment.ts'
import { deploymentsQuery } from './agent-api.ts'

/**
 * Returns the latest live event of an agent. A new step reloads its deployments, a new status everything shown of it;
 * progress events need no request.
 */
export function useLiveAgent(agentId: string): AgentStatusEvent | null {
  const client = useQueryClient()
  const [latest, setLatest] = useState<AgentStatusEvent | null>(null)
  useEffect(() => {
    let known: AgentStatusEvent | null = null
    return followAgent(agentId, (event) => {
      if (known && known.status !== event.status) {
        void client.invalidateQueries({ queryKey: agentQuery(agentId).queryKey })
      } else if (known && known.step !== event.step) {
        void client.invalidateQueries({ queryKey: deploymentsQuery(agentId).queryKey })
      }
      known = event
      setLatest(event)
      return true
    })
  }, [agentId, client])
  return latest
}
