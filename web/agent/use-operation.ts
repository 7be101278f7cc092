import { useMutation, useQueryClient } from '@tanstack/react-query'
import { agentsQuery } from '../agents/agents-api.ts'
import { type Operation, operateAgent } from './agent-api.ts'

/** An update, a repair or a memory reset of one agent; under way until the server says how it ended. */
export function useOperation(agentId: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (operation: Operation) => operateAgent(agentId, operation),
    onSettled: () => client.invalidateQueries({ queryKey: agentsQuery.queryKey }),
  })
}
