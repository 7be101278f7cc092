import { useQueryClient } from '@tanstack/react-query'
import type { ConfigRequest } from '../../src/features/agents/registry/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { ApiError } from '../api/request.ts'
import { changeConfig, configQuery } from './agent-api.ts'

export function useChangeConfig(agentId: string) {
  const client = useQueryClient()
  return async (change: ConfigRequest): Promise<void> => {
    const config = await changeConfig(agentId, change)
    client.setQueryData(configQuery(agentId).queryKey, config)
    void client.invalidateQueries({ queryKey: agentQuery(agentId).queryKey })
  }
}

/** The server's error message starts with the name of the rejected setting. */
export function fieldOfConfig(names: readonly string[]) {
  return (error: unknown): string | null => {
    if (!(error instanceof ApiError) || error.status !== 400) return null
    return names.find((name) => error.message.toLowerCase().includes(name.toLowerCase())) ?? null
  }
}
