import { z } from 'zod'
import { cookiesOf, json } from './requests.ts'

/** What everybody here signs in with. */
export const PASSWORD = 'correct horse battery staple'

/** Someone who is signed in at a running service; `get` and `post` send their cookie. */
export type Person = {
  email: string
  web: string
  cookie: Record<string, string>
  get(path: string): Promise<Response>
  post(path: string, body: unknown): Promise<Response>
  delete(path: string): Promise<Response>
}

/** Registers at the service whose web address is `web`, and signs in. */
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

/** Whoever has these cookies. */
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

const Provisioned = z.object({ agent: z.object({ id: z.string(), status: z.string() }) })

/** Creates an agent and waits until it runs. @throws Error with the answer when it does not. */
export async function createAgent(person: Person, request: { name?: string; model?: string } = {}): Promise<string> {
  const response = await person.post('/api/agents/provision', { name: 'Ada', ...request })
  const body: unknown = await response.json()
  const { agent } = Provisioned.parse(body)
  if (agent.status !== 'running') throw new Error(`The agent is ${agent.status}: ${JSON.stringify(body)}`)
  return agent.id
}
