import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { LOCAL_TABLES } from '../../../src/db/cluster/position.ts'
import { ClusterStatus } from '../../../src/features/admin/cluster/schemas.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { type Installation, openInstallation, type Program, SERVICE_KEY } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PASSWORD = 'correct horse battery staple'
export const ENCRYPTION_KEY = 'a-key-that-all-nodes-share-0123456789'

/** A node and its running program. */
export type TestNode = AsyncDisposable &
  Pick<Installation, 'dataDir' | 'run'> & {
    id: string
    backend: string
    web: string
    start: Installation['start']
  }

/** Creates a node with its own data folder; the nodes of one `logUrl` form a cluster. */
export async function openNode(
  logUrl: string,
  id: string,
  environment: Record<string, string> = {},
): Promise<TestNode> {
  const [backendPort = 0, webPort = 0] = await findFreePorts(2)
  const backend = `http://127.0.0.1:${backendPort}`
  const installation = await openInstallation({
    isEmpty: true,
    environment: {
      CLUSTER_LOG_URL: logUrl,
      CLUSTER_NODE_URL: backend,
      CLUSTER_NODE_ID: id,
      AGENT_RUNTIME: 'swarm',
      OBJECTS_URL: `file:${join(tmpdir(), `stead-objects-${Bun.hash(logUrl).toString(36)}`)}`,
      ENCRYPTION_KEY,
      BACKEND_PORT: String(backendPort),
      WEB_PORT: String(webPort),
      TRUSTED_PROXIES: '127.0.0.1/32',
      LOG_FORMAT: 'json',
      ...environment,
    },
  })
  return { ...installation, id, backend, web: `http://127.0.0.1:${webPort}` }
}

/** Starts the nodes one after the other; the first becomes the leader. */
export async function startNodes(nodes: readonly TestNode[]): Promise<Program[]> {
  const programs: Program[] = []
  for (const node of nodes) {
    programs.push(await node.start())
    await until(`a leader beside ${node.id}`, () =>
      readStatus(node).then(
        ({ leader }) => leader,
        () => null,
      ),
    )
  }
  return programs
}

export async function readStatus(node: TestNode): Promise<ClusterStatus> {
  const response = await fetch(`${node.backend}/api/cluster`, { headers: { authorization: `Bearer ${SERVICE_KEY}` } })
  return ClusterStatus.parse(await response.json())
}

let accounts = 0

/** Registers the first account of a cluster, which must come from the local machine. */
export async function setUp(node: TestNode): Promise<void> {
  await until('the first account', async () => (await register(node, {})).email)
}

/** Registers an account from a new IP address. @returns its email address, or the status of the failure. */
export async function register(
  node: TestNode,
  address: Record<string, string> = newAddress(),
): Promise<{ email: string | null; status: number; retryAfter: string | null }> {
  const email = `account-${++accounts}@example.com`
  const response = await fetch(`${node.web}/api/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...address },
    body: JSON.stringify({ email, password: PASSWORD, name: 'Ada' }),
    signal: AbortSignal.timeout(20_000),
  })
  await response.body?.cancel()
  return {
    email: response.ok ? email : null,
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
  }
}

/** Returns headers with a new IP address, because each network may create only a few accounts per day. */
function newAddress(): Record<string, string> {
  return { 'x-forwarded-for': `10.${(accounts >> 8) & 255}.${accounts & 255}.1` }
}

/** Registers accounts at all nodes in turn until it is stopped. */
export function keepRegistering(nodes: readonly TestNode[], writers = 3) {
  const acknowledged: string[] = []
  let longestGapMs = 0
  let lastMs = performance.now()
  let isStopped = false
  const work = Array.from({ length: writers }, async (_, index) => {
    for (let turn = index; !isStopped; turn++) {
      const node = nodes[turn % nodes.length]
      const answer = node && (await register(node).catch(() => null))
      if (!answer?.email) {
        await Bun.sleep(20)
        continue
      }
      acknowledged.push(answer.email)
      const nowMs = performance.now()
      longestGapMs = Math.max(longestGapMs, nowMs - lastMs)
      lastMs = nowMs
    }
  })
  return {
    acknowledged,
    async stop(): Promise<{ longestGapMs: number }> {
      isStopped = true
      await Promise.all(work)
      return { longestGapMs: Math.round(longestGapMs) }
    },
  }
}

/** Waits until `count` more accounts are registered. */
export function untilMore(load: { acknowledged: readonly string[] }, count: number): Promise<true> {
  const wanted = load.acknowledged.length + count
  return until(`${count} more accounts`, () => load.acknowledged.length >= wanted || null)
}

/** Waits until the nodes have applied the same entries. */
export async function untilEqual(nodes: readonly TestNode[]): Promise<void> {
  await until('equal positions', async () => {
    const [first] = nodes
    const status = first && (await readStatus(first).catch(() => null))
    const own = status?.nodes.filter(({ id, role }) => role !== 'gone' && nodes.some((node) => node.id === id))
    return own?.length === nodes.length && own.every(({ lag }) => lag === 0)
  })
}

/** Returns the email addresses of all accounts in a node's file. */
export function listAccounts(node: TestNode): Set<unknown> {
  return new Set(readAll(node, 'SELECT email FROM users').flat())
}

/** Returns the generation ids of all usage records in a node's file. */
export function listGenerations(node: TestNode): Set<unknown> {
  return new Set(readAll(node, 'SELECT generation_id FROM usage_logs').flat())
}

/** Requests a chat completion, by default from the offline model. */
export async function complete(
  node: TestNode,
  stream: boolean,
  model = 'local/echo',
): Promise<{ status: number; generationId: string }> {
  const response = await fetch(`${node.backend}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${SERVICE_KEY}`,
      'content-type': 'application/json',
      'x-user-id': 'customer',
      'x-user-plan': 'network',
      'x-billing-subscription-id': 'sub_1',
    },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hi' }] }),
  })
  await response.text()
  return { status: response.status, generationId: response.headers.get('x-generation-id') ?? '' }
}

/** Starts a provider that responds after `ms`. */
export async function openLateModel(ms: number): Promise<AsyncDisposable & { url: string }> {
  const answer = {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'slow' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'At last' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  }
  const server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    routes: {
      '/models': () => Response.json({ object: 'list', data: [{ id: 'slow', object: 'model' }] }),
      '/chat/completions': async () => {
        await Bun.sleep(ms)
        return Response.json(answer)
      },
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) }
}

/** Returns the id that a node's containers and services carry. */
export function readInstance({ dataDir }: TestNode): string {
  return readFileSync(join(dataDir, 'instance.id'), 'utf8').trim()
}

/** Changes rows of a running node without the log, as a damaged disk would. */
export function changeAccounts({ dataDir }: TestNode): void {
  const sqlite = new Database(join(dataDir, 'stead.db'))
  sqlite.exec("UPDATE users SET name = 'Another'")
  sqlite.close()
}

/** Changes the history id in a stopped node's file. */
export function forgetHistory({ dataDir }: TestNode): void {
  const sqlite = new Database(join(dataDir, 'stead.db'))
  sqlite.exec("UPDATE log_applied SET hash = 'another'")
  sqlite.close()
}

/** Returns a checksum of each table that the nodes share. */
export function checksums(node: TestNode): Record<string, string> {
  const names = readAll(node, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
  const shared = names
    .flat()
    .map(String)
    .filter((name) => !LOCAL_TABLES.has(name))
  return Object.fromEntries(
    shared.map((name) => [
      name,
      String(Bun.hash(JSON.stringify(readAll(node, `SELECT * FROM "${name}" ORDER BY 1, 2`)))),
    ]),
  )
}

/** Waits until all shared tables are equal; a job of the leader may write between two reads. */
export async function untilSameRows(one: TestNode, other: TestNode): Promise<void> {
  await until('equal tables', () => Bun.deepEquals(checksums(one), checksums(other)))
}

function readAll({ dataDir }: TestNode, query: string): unknown[][] {
  const sqlite = new Database(join(dataDir, 'stead.db'), { readonly: true })
  try {
    return sqlite.prepare<[], unknown[]>(query).raw().all()
  } finally {
    sqlite.close()
  }
}
