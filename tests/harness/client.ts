import { z } from 'zod'
import { cookiesOf, json } from './requests.ts'
import { until } from './until.ts'

/** Password of every test user. */
export const PASSWORD = 'correct horse battery staple'

/** A user signed in to a running service; `get` and `post` send the session cookie. */
export type Person = {
  email: string
  web: string
  cookie: Record<string, string>
  get(path: string): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  delete(path: string): Promise<Response>
}

/** Registers at the service whose web API is at `web`, and signs in. */
export async function signUp(web: string, email = 'ada@example.com'): Promise<Person> {
  const registered = await fetch(`${web}/api/register`, json('POST', { email, password: PASSWORD, name: 'Ada' }))
  if (!registered.ok) throw new Error(`Cannot register: ${await registered.text()}`)
  return signIn(web, email)
}

export async function signIn(web: string, email = 'ada@example.com', password = PASSWORD): Promise<Person> {
  const response = await fetch(`${web}/api/auth/login`, json('POST', { email, password }))
  if (!response.ok) throw new Error(`Cannot sign in: ${await response.text()}`)
  return toPerson(web, email, cookiesOf(response))
}

/** Returns a client that sends these cookies. */
export function toPerson(web: string, email: string, cookies: string): Person {
  const cookie = { cookie: cookies }
  return {
    email,
    web,
    cookie,
    get: (path) => fetch(`${web}${path}`, { headers: cookie }),
    post: (path, body) => fetch(`${web}${path}`, json('POST', body, cookie)),
    delete: (path) => fetch(`${web}${path}`, { method: 'DELETE', headers: cookie }),
  }
}

const Named = z.object({ id: z.string(), status: z.string() })
const Provisioned = z.object({ agent: Named })
const Agents = z.object({ agents: z.array(Named) })

/**
 * Creates an agent and waits until it runs, even if the request returned earlier. @throws Error with its status if it
 * does not run.
 */
export async function createAgent(person: Person, request: { name?: string; model?: string } = {}): Promise<string> {
  const response = await person.post('/api/agents/provision', { name: 'Ada', ...request })
  const body: unknown = await response.json()
  if (!response.ok) throw new Error(`Cannot create an agent: ${response.status} ${JSON.stringify(body)}`)
  const { agent } = Provisioned.parse(body)
  const status = agent.status === 'provisioning' ? await waitUntilProvisioned(person, agent.id) : agent.status
  if (status !== 'running') throw new Error(`The agent is ${status}: ${JSON.stringify(body)}`)
  return agent.id
}

async function waitUntilProvisioned(person: Person, agentId: string): Promise<string> {
  let status = 'provisioning'
  await until('the agent to be provisioned', async () => {
    const { agents } = Agents.parse(await (await person.get('/api/agents')).json())
    status = agents.find(({ id }) => id === agentId)?.status ?? 'gone'
    return status !== 'provisioning'
  })
  return status
}
