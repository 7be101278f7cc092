import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import { type AgentVerb, agentQuery, agentsQuery, changeAgent, deleteAgent } from './agents-api.ts'

export function canChange(status: AgentStatus, verb: AgentVerb): boolean {
  if (status === 'pending' || status === 'provisioning') return false
  return verb === 'start' ? status !== 'running' : verb === 'stop' ? status !== 'stopped' : status !== 'stopped'
}

export function useChangeAgent(agentId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (verb: AgentVerb) => changeAgent(agentId, verb),
    onSettled: () => client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
  })
}

export function useDeleteAgent(agentId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => deleteAgent(agentId),
    onSuccess: () => {
      client.removeQueries({ queryKey: agentQuery(agentId).queryKey })
      client.setQueryData(agentsQuery.queryKey, (agents) => agents?.filter(({ id }) => id !== agentId))
      return client.invalidateQueries({ queryKey: agentsQuery.queryKey })
    },
  })
}
