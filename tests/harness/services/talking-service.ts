import { createAgent, type Person, signUp } from '../client.ts'
import { type Answer, type Answering, type ProviderDouble, startProvider } from '../doubles/provider.ts'
import { startServer, type TestServer } from '../server.ts'

/** Disposing of it ends all of it. */
export type TalkingService = AsyncDisposable & {
  provider: ProviderDouble
  server: TestServer
  person: Person
  agentId: string
}

/** A service with a double of a provider and an agent of Ada's that runs; it talks as the provider answers. */
export async function openTalkingService(answer?: Answer | Answering): Promise<TalkingService> {
  const provider = await startProvider(answer)
  const server = await startServer({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  return {
    provider,
    server,
    person,
    agentId,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await provider.stop()
    },
  }
}
