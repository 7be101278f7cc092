import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { WebAgent } from '../../features/agents/registry/schemas.ts'
import type { ServerClient } from './client.ts'
import { toPlain } from './table.ts'

/** Uses `GET /api/agents/provision` because the public list accepts an invalid key. */
const AgentList = z.object({ agents: z.array(WebAgent) })

export async function findAgents(server: ServerClient): Promise<WebAgent[]> {
  return (await server.ask(AgentList, 'GET', '/api/agents/provision')).agents
}

/**
 * Finds an agent by id, or by name ignoring case.
 * @throws AppError `not_found`, `invalid` when several have the name.
 */
export async function findRemoteAgent(server: ServerClient, wanted: string): Promise<WebAgent> {
  const agents = await findAgents(server)
  const byId = agents.find(({ id }) => id === wanted)
  if (byId) return byId
  const [named, ...others] = agents.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  if (named && others.length === 0) return named
  if (named) {
    const ids = [named, ...others].map(({ id }) => id).join(', ')
    throw new AppError('invalid', `${others.length + 1} agents are called ${wanted}: name one of ${ids}`)
  }
  const names = agents.slice(0, 10).map(({ name }) => toPlain(name))
  const known = names.length > 0 ? `; there are ${names.join(', ')}` : ', nor any other'
  throw new AppError('not_found', `There is no agent ${wanted}${known}`)
}
