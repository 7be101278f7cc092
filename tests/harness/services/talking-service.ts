import { createAgent, type Person, signUp } from '../client.ts'
import { type Answer, type Answering, type ProviderDouble, startProvider } from '../doubles/provider.ts'
import { startServer, type TestServer } from '../server.ts'

/** Disposing it ends the service, the agent and the provider. */
export type TalkingService = AsyncDisposable & {
  provider: ProviderDouble
  server: TestServer
  person: Person
  agentId: string
}

/** Starts a service with a provider double and a running agent of Ada's. */
export async function openTalkingService(answer?: Answer | Answering): Promise<TalkingService> {
  await using stack = new AsyncDisposableStack()
  const provider = stack.use(await startProvider(answer))
  const environment = { OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl }
  const server = stack.use(await startServer(environment))
  const person = await signUp(server.urls.web)
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  const all = stack.move()
  return { provider, server, person, agentId, [Symbol.asyncDispose]: () => all.disposeAsync() }
}
