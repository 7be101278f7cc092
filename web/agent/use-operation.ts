import { useMutation, useQueryClient } from '@tanstack/react-query'
import { agentsQuery } from '../agents/agents-api.ts'
import { type Operation, operateAgent } from './agent-api.ts'

export function useOperation(agentId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (operation: Operation) => operateAgent(agentId, operation),
    onSettled: () => client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
  })
}
