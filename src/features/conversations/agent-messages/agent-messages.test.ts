import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../../agents/registry/tables.ts'
import { askAgent } from './agent-messages.ts'

async function openTestInstallation() {
  const owner = await agentOwner()
  const other = await owner.add(owner.user.id, 'Cy')
  return { ...owner, other }
}
const never = new AbortController().signal

test('GET /v1/agents: 200 with the other agents of the same owner only', async () => {
  const { asAgent, other } = await openTestInstallation()
  expect(await (await asAgent('/v1/agents')).json()).toEqual({
    agents: [{ id: other.id, name: 'Cy', status: 'running', specialization: null }],
  })
})

test('POST /v1/agents/:id/messages: 404 for another owner’s agent and itself, 409 when it does not run, 400 without text', async () => {
  const { asAgent, agent, strangersAgent, other } = await openTestInstallation()
  const say = async (id: string, message = 'Hi') =>
    (await asAgent(`/v1/agents/${id}/messages`, 'POST', { message })).status
  expect(await say(strangersAgent.id)).toBe(404)
  expect(await say(agent.id)).toBe(404)
  expect(await say(other.id)).toBe(409)
  expect(await say(other.id, ' ')).toBe(400)
})

test('POST /v1/agents/:id/messages: 200 with sender and conversation; refused when agents would wait for each other', async () => {
  const { platform, agent, other, add, user } = await openTestInstallation()
  const third = await add(user.id, 'Di')
  const names = new Map<number, string>()
  for (const [index, { id }] of [agent, other, third].entries()) {
    const port = 50_001 + index
    names.set(port, id)
    await write(platform.db, (tx) => tx.update(agents).set({ port }).where(eq(agents.id, id)).run())
  }
  const asked: string[] = []
  const next: Readonly<Record<string, string>> = { [other.id]: third.id, [third.id]: agent.id }
  // Each agent asks the next; the last one would ask the first, which waits.
  const chat = async (
    { baseUrl }: { baseUrl: string },
    request: { sessionKey: string; message: string },
  ): Promise<string> => {
    const id = names.get(Number(new URL(baseUrl).port)) ?? ''
    asked.push(`${request.sessionKey} ${request.message}`)
    return askAgent(deps, id, next[id] ?? '', 'And you?', never).catch((error: Error) => error.message)
  }
  const deps = { ...platform, gateway: { chat } }
  expect(await askAgent(deps, agent.id, other.id, 'Hi', never)).toBe('That agent waits for an answer of this one')
  expect(asked).toEqual([
    `agent:${agent.id} Bo, another agent of your owner, says:\n\nHi`,
    `agent:${other.id} Cy, another agent of your owner, says:\n\nAnd you?`,
  ])
  expect(deps.asking.size).toBe(0)
})
