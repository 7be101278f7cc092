import { eq } from 'drizzle-orm'
import type { AppError } from '../../../src/core/errors.ts'
import { write } from '../../../src/db/write.ts'
import { findReachableEndpoint } from '../../../src/features/agents/registry/address.ts'
import { findAgentRow, insertAgent, openTokens } from '../../../src/features/agents/registry/agents.ts'
import { type AgentRow, agents } from '../../../src/features/agents/registry/tables.ts'
import { letIdleSleep } from '../../../src/features/agents/sleep/sleep.ts'
import { watchdogs } from '../../../src/features/agents/watchdog/tables.ts'
import { jobs } from '../../../src/jobs/tables.ts'
import { startJobs } from '../../harness/jobs.ts'
import { INTERNAL_KEY, testPlatform } from '../../harness/platform.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { bearer, json } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'
import { REPLY, startRuntimeDouble } from '../../matrix/runtime-double.ts'

const NEVER = new AbortController().signal

/** Creates a platform with one running agent, and a runtime that counts its calls and fails on request. */
export async function sleepyPlatform(environment: Record<string, string> = {}) {
  const [port = 0] = await findFreePorts(1)
  const double = startRuntimeDouble()
  const calls: string[] = []
  let stopFailure: AppError | null = null
  let deployFailure: AppError | null = null
  let stopping: Promise<void> = Promise.resolve()
  let isAvailable = true
  const runtime = {
    ...double.runtime,
    async deploy(spec: Parameters<typeof double.runtime.deploy>[0]) {
      calls.push('deploy')
      if (deployFailure) throw deployFailure
      await double.runtime.deploy(spec)
    },
    async stop(id: string) {
      calls.push('stop')
      await stopping
      if (stopFailure) throw stopFailure
      await double.runtime.stop(id)
    },
    async inspect(id: string) {
      if (!isAvailable) throw new Error('No engine')
      return double.runtime.inspect(id)
    },
    isAvailable: async () => isAvailable,
  }
  const test = testPlatform({ runtime, environment: { AGENTS_BASE_PORT: String(port), ...environment } })
  const { platform, clock } = test
  const working = startJobs(platform)
  const { user, cookie } = await test.signIn()
  const row = { ownerId: user.id, name: 'Ada', model: 'm', plan: 'label', aiProvider: 'openrouter' }
  const { id } = await write(platform.db, (tx) => insertAgent(platform, tx, { ...row, status: 'stopped' }))
  const post = async (verb: string) => {
    const response = await test.web.request(`/api/agents/${id}/${verb}`, json('POST', {}, cookie))
    return response.json()
  }
  await post('start')
  const find = (): AgentRow => {
    const found = findAgentRow(platform.db, id)
    if (!found) throw new Error('The agent is gone')
    return found
  }
  const letSleep = () => letIdleSleep(platform)
  return {
    ...test,
    id,
    cookie,
    calls,
    reply: REPLY,
    operator: bearer(INTERNAL_KEY),
    asAgent: bearer(openTokens(platform.sealer, find()).accessToken),
    row: find,
    status: () => find().status,
    set: (change: Partial<AgentRow>) =>
      write(platform.db, (tx) => tx.update(agents).set(change).where(eq(agents.id, id)).run()),
    letSleep,
    async fallAsleep() {
      clock.advance(platform.sleepAfterMs ?? 0)
      await letSleep()
      if (find().status !== 'sleeping') throw new Error(`The agent is ${find().status}`)
    },
    /** Sends a message through the agent gateway, given its row. */
    async ask(signal: AbortSignal = NEVER) {
      const endpoint = findReachableEndpoint(platform.sealer, find())
      if (!endpoint) throw new Error('Agent is not running')
      return platform.gateway.chat(endpoint, { sessionKey: 'test', message: 'Hello' }, signal)
    },
    async chat() {
      const body = { agentId: id, message: 'Hello' }
      return (await test.web.request('/api/chat', json('POST', body, cookie))).json()
    },
    post,
    failStop: (error: AppError) => {
      stopFailure = error
    },
    failDeploy: (error: AppError) => {
      deployFailure = error
    },
    setAvailable: (isThere: boolean) => {
      isAvailable = isThere
    },
    /** Delays the end of stopping agents until the test releases it. */
    holdStop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      stopping = promise
      return { letEnd: resolve }
    },
    startBehindItsBack: () => double.runtime.start(id),
    countNotices: () =>
      platform.db
        .select({ kind: jobs.kind })
        .from(jobs)
        .all()
        .filter(({ kind }) => kind.startsWith('not')).length,
    watchdogIs: (state: string) =>
      until(`the watchdog to say ${state}`, () => {
        const known = platform.db.select().from(watchdogs).where(eq(watchdogs.agentId, id)).get()
        return known?.state === state
      }),
    async [Symbol.asyncDispose]() {
      await working[Symbol.asyncDispose]()
      double[Symbol.dispose]()
    },
  }
}

/** Resolves when the runtime receives another `call`. */
export async function signalsOf({ calls }: { calls: string[] }, call: string): Promise<void> {
  await until(call, () => calls.at(-1) === call)
}
