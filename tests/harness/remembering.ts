import { z } from 'zod'
import { Memory } from '../../src/features/conversations/memory/schemas.ts'
import type { Person } from './client.ts'
import type { ProviderDouble } from './doubles/provider.ts'
import { bearer, read } from './requests.ts'

const Token = z.object({ token: z.string() })
const Detail = z.object({ agent: z.object({ websocketUrl: z.string() }) })

/** Returns a client for the memory of one agent, through the APIs of the user and of the agent. */
export function openMemoryClient(person: Person, provider: ProviderDouble, agentId: string) {
  const say = async (message: string) => {
    const response = await person.post('/api/chat', { agentId, message })
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  }
  return {
    say,
    save: (memory: object) => person.post('/api/memory', { agentId, memory }),
    forget: (key: string) => person.delete(`/api/memory?agentId=${agentId}&key=${key}`),
    seen: async () => (await read(Memory, person.get(`/api/memory?agentId=${agentId}`))).memory,
    /** Returns the system prompt of a new turn. */
    async prompt(): Promise<string> {
      provider.answerWith({ text: 'Well.' })
      await say('How are you?')
      return String(provider.chats.at(-1)?.body.messages[0]?.content)
    },
    /** Runs a turn in which the model calls a tool once. */
    async use(name: string, args: Record<string, unknown>): Promise<void> {
      provider.answerWith(({ body }) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: 'Done.' }
          : { toolCalls: [{ name, arguments: args }] },
      )
      await say('Do it.')
    },
    reset: () => person.post(`/api/agents/${agentId}/reset-memory`, {}),
    /** Calls the agent through the proxy of the web port, with its gateway token. */
    async callAgent(path: string, init: RequestInit = {}): Promise<Response> {
      const { token } = await read(Token, person.get(`/api/agents/${agentId}/token`))
      const { host } = new URL((await read(Detail, person.get(`/api/agents/${agentId}`))).agent.websocketUrl)
      return fetch(`${person.web}${path}`, { ...init, headers: { ...bearer(token), host } })
    },
  }
}
