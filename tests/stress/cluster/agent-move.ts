import { expect } from 'bun:test'
import { openObjects } from '../../../src/adapters/objects/open-objects.ts'
import { listKeptStates } from '../../../src/features/agents/kept-states/kept-states.ts'
import { SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import type { Person } from '../../harness/client.ts'
import type { Answer, ProviderDouble, ProviderRequest } from '../../harness/doubles/provider.ts'
import { type SwarmNode, setAvailability } from '../../harness/engines/swarm.ts'
import { until } from '../../harness/until.ts'
import type { Machines } from './machines.ts'

const PATIENCE_MS = 600_000
const NOTE = 'Tea at four.'
const FILE = 'notes/today.md'
const KEEP = 'Please keep a note'
const READ = 'What does the note say?'

/** Makes the swarm run new agents on its second machine. */
export async function onSecondMachine<T>({ swarm }: Machines, work: () => Promise<T>): Promise<T> {
  await setAvailability(swarm.manager, swarm.manager, 'drain')
  try {
    return await work()
  } finally {
    await setAvailability(swarm.manager, swarm.manager, 'active')
  }
}

/** Returns the reply of a model that saves a note with its tools and reads it; null for other messages. */
export function answerWithNote({ body }: ProviderRequest): Answer | null {
  const lastUser = body.messages.findLastIndex(({ role }) => role === 'user')
  const question = String(body.messages[lastUser]?.content)
  const [result] = body.messages.slice(lastUser + 1).filter(({ role }) => role === 'tool')
  if (question.includes(KEEP)) {
    if (result) return { text: 'It is kept.' }
    return { toolCalls: [{ name: 'write_file', arguments: { path: FILE, content: NOTE } }] }
  }
  if (!question.includes(READ)) return null
  if (!result) return { toolCalls: [{ name: 'read_file', arguments: { path: FILE } }] }
  return { text: `It says: ${JSON.parse(String(result.content)).content}` }
}

/**
 * Loses the agent's machine; the agent must answer on the other one, with its conversation and the copy of its files.
 */
export async function expectAgentMoves(
  { swarm, objectsFolder, balancer }: Machines,
  person: Person,
  provider: ProviderDouble,
  agentId: string,
): Promise<number> {
  const ask = async (message: string) => {
    const response = await person.post('/api/chat', { agentId, message }).catch(() => null)
    return response?.ok ? SentMessage.parse(await response.json()).reply : null
  }
  expect(await until('a kept note', () => ask(KEEP), PATIENCE_MS)).toBe('It is kept.')
  await untilCopied(objectsFolder, agentId)
  const lost = findAgentMachine(swarm.nodes, swarm.manager)
  const lostAt = performance.now()
  await lost.kill()
  expect(await until('an answer on the other machine', () => ask(READ), PATIENCE_MS)).toBe(`It says: ${NOTE}`)
  const messages = JSON.stringify(provider.chats.at(-1)?.body.messages)
  expect(messages).toContain(KEEP)
  expect((await fetch(`${balancer.backend}/health`)).status).toBe(200)
  return Math.round(performance.now() - lostAt)
}

function findAgentMachine(nodes: readonly SwarmNode[], manager: SwarmNode): SwarmNode {
  const found = nodes.find((node) => node !== manager)
  if (!found) throw new Error('The swarm has one machine only')
  return found
}

/** Waits for a copy of the agent's files that is newer than the call. */
async function untilCopied(folder: string, agentId: string): Promise<void> {
  const calledAt = new Date()
  const isCopied = async () => {
    const copies = await listKeptStates(openObjects({ folder }))
    return (copies.get(agentId)?.takenAt ?? calledAt) > calledAt
  }
  await until('a copy of the files of the agent', isCopied, PATIENCE_MS)
}
