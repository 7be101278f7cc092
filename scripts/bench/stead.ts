import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Child, runChild, startChild, waitFor } from './child.ts'
import type { Workbench } from './workbench.ts'

/** A running Stead with its data folder. */
export type Stead = Child & { dataDir: string; web: string; backend: string; summarizer: string }

export type Installation = { dataDir: string; environment: Record<string, string> }

const PASSWORD = 'a long enough password'
const UNLIMITED = '1000000000'
const RATE_LIMITS = ['BACKEND', 'AI', 'DEPLOYMENTS', 'AGENTS', 'CHAT', 'REGISTER', 'LOGIN', 'SUMMARIZER']
const PORTS = ['WEB_PORT', 'BACKEND_PORT', 'SUMMARIZER_PORT']

/** A data folder and settings for it: free ports, no rate limits, agents as processes. */
export async function preparePlatform(
  bench: Workbench,
  environment: Record<string, string> = {},
): Promise<Installation> {
  const dataDir = await bench.makeFolder('data')
  const [basePort = 0, ...ports] = await findFreePorts(PORTS.length + 1)
  return {
    dataDir,
    environment: {
      DATA_DIR: dataDir,
      AGENT_RUNTIME: 'process',
      AGENTS_BASE_PORT: String(Math.min(basePort, 60_000)),
      ...Object.fromEntries(PORTS.map((name, index) => [name, String(ports[index])])),
      ...Object.fromEntries(RATE_LIMITS.map((name) => [`RATE_LIMIT_${name}`, UNLIMITED])),
      ...environment,
    },
  }
}

/**
 * Starts the service and waits until all three ports answer. It checks every `pauseMs`, because requests change the
 * memory that is measured. The service ends together with its agents.
 */
export async function startStead(
  bench: Workbench,
  { dataDir, environment }: Installation,
  pauseMs = 50,
): Promise<Stead> {
  const urlOf = (name: string) => `http://127.0.0.1:${environment[name]}`
  const urls = { web: urlOf('WEB_PORT'), backend: urlOf('BACKEND_PORT'), summarizer: urlOf('SUMMARIZER_PORT') }
  const logFile = join(dataDir, 'bench.log')
  const child = startChild(bench, [...bench.program, 'serve', '--stop-agents'], { environment, logFile })
  let exitCode: number | null = null
  void child.exited.then((code) => (exitCode = code))
  await waitFor(
    'Stead to be ready',
    async () => {
      if (exitCode !== null) throw new Error(`Stead ended with ${exitCode}: ${await readFile(logFile, 'utf8')}`)
      return (await isReady(urls)) ? true : null
    },
    pauseMs,
  )
  return { ...child, dataDir, ...urls }
}

/** Creates an account with an active `plan`, while the service runs or not. @returns its address. */
export async function createUser(bench: Workbench, installation: Installation, plan: string): Promise<string> {
  const email = `${plan}@bench.example`
  await runChild([...bench.program, 'user', 'create', email, '--password-stdin', '--plan', plan], {
    environment: installation.environment,
    input: `${PASSWORD}\n`,
  })
  return email
}

/** Signs in. @returns the `Cookie` header of the session. */
export async function signIn(stead: Stead, email: string): Promise<string> {
  const response = await post(`${stead.web}/api/auth/login`, {}, { email, password: PASSWORD })
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}

/** Makes an API key. @returns the raw key. */
export async function createKey(stead: Stead, cookie: string): Promise<string> {
  const response = await post(`${stead.web}/api/keys`, { cookie }, { name: 'bench' })
  return String(Object(await response.json()).key)
}

/** Provisions an agent and waits until it runs. @returns its id and how long that took from the request on. */
export async function deployAgent(
  stead: Stead,
  cookie: string,
  name: string,
): Promise<{ id: string; seconds: number }> {
  const startedAt = performance.now()
  const response = await post(`${stead.web}/api/agents/provision`, { cookie }, { name, tier: 'enterprise' })
  let agent = Object(await response.json()).agent
  const { id } = agent
  while (agent.status === 'provisioning') {
    await Bun.sleep(5)
    agent = Object(await (await fetch(`${stead.web}/api/agents/${id}`, { headers: { cookie } })).json()).agent
  }
  if (agent.status !== 'running') throw new Error(`Agent ${id} is ${agent.status}`)
  return { id, seconds: (performance.now() - startedAt) / 1000 }
}

/** Deletes an agent with its process. */
export async function deleteAgent(stead: Stead, cookie: string, id: string): Promise<void> {
  await requireOk(await fetch(`${stead.web}/api/agents/${id}`, { method: 'DELETE', headers: { cookie } }))
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<Response> {
  const json = { ...headers, 'content-type': 'application/json' }
  return requireOk(await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) }))
}

async function requireOk(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`)
  return response
}

async function isReady({ web, backend, summarizer }: Pick<Stead, 'web' | 'backend' | 'summarizer'>): Promise<boolean> {
  try {
    const urls = [`${web}/api/health`, `${backend}/health`, `${summarizer}/health`]
    const responses = await Promise.all(urls.map((url) => fetch(url)))
    return responses.every((response) => response.ok)
  } catch {
    return false
  }
}

/** Returns ports that are free now. */
async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const ports = servers.map((server) => Object(server.address()).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
