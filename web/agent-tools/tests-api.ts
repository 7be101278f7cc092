import { queryOptions } from '@tanstack/react-query'
import { AgentTestList, OneAgentTest } from '../../src/features/conversations/agent-tests/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

const LOOK_MS = 2000

/** Loads again while a test runs. */
export function testsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'injection-tests'],
    queryFn: ({ signal }) =>
      request(AgentTestList, api.GET('/api/agents/{id}/injection-tests', { ...inPath({ id: agentId }), signal })),
    refetchInterval: ({ state }) => (state.data?.tests[0]?.finishedAt === null ? LOOK_MS : false),
  })
}

export async function startTest(agentId: string): Promise<void> {
  await request(OneAgentTest, api.POST('/api/agents/{id}/injection-tests', inPath({ id: agentId })))
  await refresh(testsQuery(agentId))
}
