import { useQueryClient } from '@tanstack/react-query'
import type { ConfigRequest } from '../../src/features/agents/registry/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { ApiError } from '../api/request.ts'
import { changeConfig, configQuery } from './agent-api.ts'

/** Changes settings of an agent and shows them as the server has them then. */
export function useChangeConfig(agentId: string) {
  const client = useQueryClient()
  return async (change: ConfigRequest): Promise<void> => {
    const config = await changeConfig(agentId, change)
    client.setQueryData(configQuery(agentId).queryKey, config)
    void client.invalidateQueries({ queryKey: agentQuery(agentId).queryKey })
  }
}

/** The field that a refusal of the settings is about: the server begins with its name. */
export function fieldOfConfig(names: readonly string[]) {
  return (error: unknown): string | null => {
    if (!(error instanceof ApiError) || error.status !== 400) return null
    return names.find((name) => error.message.toLowerCase().includes(name.toLowerCase())) ?? null
  }
}
