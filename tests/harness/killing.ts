import { watch } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Deployment, DeploymentList } from '../../src/features/agents/deployments/schemas.ts'
import { ProvisionResponse } from '../../src/features/agents/registry/schemas.ts'
import type { Person } from './client.ts'
import { json, read } from './requests.ts'
import type { Program } from './server.ts'
import { until } from './until.ts'

/** Reads the database of a running service that the test kills. */
export type ServiceObserver = Disposable & {
  /** Kills the service when its newest operation reaches `step` or has ended. @returns the step. */
  killAtStep(program: Program, step: string): Promise<string>
  /**
   * Waits until all operations have ended and `describeDifference` finds no difference between rows and running agents.
   */
  expectSettled(what: string, describeDifference: (rows: AgentPlace[]) => Promise<string>): Promise<void>
  /** Waits until the job queue is empty. */
  expectIdle(): Promise<void>
  agents(): AgentPlace[]
}

export type AgentPlace = { id: string; status: string; port: number }

export function openObserver(dataDir: string): ServiceObserver {
  const database = new Database(join(dataDir, 'stead.db'), { readonly: true })
  const newest = database.prepare<[], { id: number; step: string }>(
    'SELECT id, step FROM deployment_history ORDER BY id DESC LIMIT 1',
  )
  const last = database.prepare('SELECT * FROM deployment_history ORDER BY id DESC LIMIT 1')
  const count = (condition: string) => {
    const rows = database.prepare<[], { rows: number }>(`SELECT count(*) AS rows FROM ${condition}`)
    return () => rows.get()?.rows ?? 0
  }
  const countUnfinished = count('deployment_history WHERE result IS NULL')
  const countJobs = count("jobs WHERE status IN ('queued', 'running')")
  const agents = database.prepare<[], AgentPlace>('SELECT id, status, port FROM agents')
  return {
    async killAtStep(program, step) {
      const before = newest.get()?.id ?? 0
      using writes = watchWrites(dataDir)
      for (;;) {
        const row = newest.get()
        if (row && row.id > before && (row.step === step || row.step === 'done')) break
        await writes.next()
      }
      await program.kill()
      return newest.get()?.step ?? 'gone'
    },
    async expectSettled(what, describeDifference) {
      await until(`after ${what}, the end of all operations`, () => countUnfinished() === 0)
      let difference = ''
      const isSame = async () => {
        difference = await describeDifference(agents.all())
        return difference === ''
      }
      await until(`after ${what}, running agents equal to the rows`, isSame).catch((error) => {
        throw new Error(`${difference} after ${JSON.stringify(last.get())}`, { cause: error })
      })
      const rows = agents.all()
      const ports = new Set(rows.map(({ port }) => port))
      if (ports.size !== rows.length)
        throw new Error(`After ${what}, two agents have the same port: ${JSON.stringify(rows)}`)
    },
    expectIdle: async () => void (await until('the end of all jobs', () => countJobs() === 0)),
    agents: () => agents.all(),
    [Symbol.dispose]: () => void database.close(),
  }
}

/** Time after a write during which it may not be visible yet. */
const SETTLING_MS = 5
/** Polling interval while no write is reported. */
const LOOK_MS = 20

/**
 * Watches the database. `next` waits for a write, or returns immediately shortly after one. Polling would use a whole
 * core.
 */
function watchWrites(dataDir: string): Disposable & { next(): Promise<void> } {
  let wrote = performance.now()
  let wake = () => {}
  const watcher = watch(dataDir, () => {
    wrote = performance.now()
    wake()
  })
  return {
    next: () =>
      new Promise((resolve) => {
        if (performance.now() - wrote < SETTLING_MS) {
          setImmediate(resolve)
          return
        }
        const timer = setTimeout(resolve, LOOK_MS)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    [Symbol.dispose]: () => watcher.close(),
  }
}

/** Requests an agent without waiting until it runs. */
export async function requestAgent({ urls }: Pick<Program, 'urls'>, person: Person): Promise<string> {
  const request = json('POST', { name: 'Ada' }, { ...person.cookie, prefer: 'respond-async' })
  return (await read(ProvisionResponse, fetch(`${urls.web}/api/agents/provision`, request))).agent.id
}

/** Returns the operations of an agent, newest first. */
export async function readHistory(person: Person, agentId: string): Promise<Deployment[]> {
  return (await read(DeploymentList, person.get(`/api/agents/${agentId}/deployments`))).deployments
}

/** Counts each distinct word. */
export function tally(words: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
