import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { agentFolder } from '../../src/adapters/runtimes/process/files.ts'
import { createProcessTable } from '../../src/adapters/runtimes/process/table.ts'
import { SnapshotList } from '../../src/features/agents/snapshots/schemas.ts'
import { type Person, signIn, signUp } from '../harness/client.ts'
import { type AgentPlace, openObserver, readHistory, requestAgent, tally } from '../harness/killing.ts'
import { bearer, json, read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { findAgentPids, openInstallation, type Program, SERVICE_KEY, startServer } from '../harness/server.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { until } from '../harness/until.ts'

/** Number of kills at each step of each operation: `CHAOS_ROUNDS=20 bun test tests/stress/deploy.test.ts`. */
const ROUNDS = roundsOf('CHAOS_ROUNDS', 1)
const IS_STRESS = process.env.CHAOS_ROUNDS !== undefined
const PROGRAMS = join(import.meta.dir, '..', 'harness', 'programs')

type Kind = 'deploy' | 'restart' | 'update' | 'failing update' | 'repair' | 'reset-memory' | 'restore-snapshot'

/** Selection for CI that covers each step and each operation once. */
const EACH_ONCE: Readonly<Record<Kind, readonly string[]>> = {
  deploy: ['port', 'starting'],
  restart: ['queued'],
  update: ['stop', 'snapshot'],
  'failing update': ['restore'],
  repair: ['health'],
  'reset-memory': ['reset'],
  'restore-snapshot': ['replace'],
}
/** Steps of each operation for process agents, which fetch no image. */
const STEPS: Readonly<Record<Kind, readonly string[]>> = {
  deploy: ['queued', 'port', 'starting', 'health'],
  restart: ['queued', 'stop', 'port', 'starting', 'health'],
  update: ['queued', 'stop', 'snapshot', 'starting', 'health'],
  'failing update': ['health', 'restore'],
  repair: ['health'],
  'reset-memory': ['stop', 'snapshot', 'health', 'reset'],
  'restore-snapshot': ['stop', 'snapshot', 'replace', 'starting', 'health'],
}
const KINDS: Kind[] = ['deploy', 'restart', 'update', 'failing update', 'repair', 'reset-memory', 'restore-snapshot']
const cases = KINDS.flatMap((kind) => (IS_STRESS ? STEPS : EACH_ONCE)[kind].map((step) => ({ kind, step })))

test(
  `no agent is lost, forgotten or duplicated when the platform is killed ${ROUNDS} times at each of ${cases.length} steps`,
  async () => {
    using folder = tempFolder()
    const gate = folder.file('gate')
    const command = [process.execPath, join(PROGRAMS, 'failing-agent.ts'), gate].map((word) => `"${word}"`).join(' ')
    await using installation = await openInstallation({
      environment: { AGENT_ISOLATION: 'off', AGENT_PROCESS_COMMAND: command, WATCHDOG_KILL_WAIT: '0.05' },
    })
    let program = await installation.start()
    let person = await signUp(program.urls.web)
    using observer = openObserver(installation.dataDir)
    const agentId = await requestAgent(program, person)
    await observer.expectIdle()
    const hits: string[] = []
    let slowestMs = 0
    for (let round = 0; round < ROUNDS; round++) {
      for (const { kind, step } of cases) {
        if (kind === 'failing update') await Bun.write(gate, '')
        const killed = observer.killAtStep(program, step)
        // The kill of the service aborts the request.
        const asking = ask(program, person, kind, agentId).catch(() => undefined)
        const hit = `${kind}: ${await killed}`
        await asking
        hits.push(hit)
        const startedAt = performance.now()
        program = await installation.start()
        person = await signIn(program.urls.web)
        await observer.expectSettled(hit, (rows) => describeDifference(installation.dataDir, rows))
        slowestMs = Math.max(slowestMs, performance.now() - startedAt)
        if (kind !== 'deploy') await expectOutcome(kind, person, agentId)
        await deleteOthers(person, observer.agents(), agentId)
        await observer.expectIdle()
      }
    }
    console.log(`killed at: ${JSON.stringify(tally(hits))}; slowest recovery ${Math.round(slowestMs)} ms`)
    expect((await program.stop()).exitCode).toBe(0)
  },
  ROUNDS * cases.length * 120_000,
)

test('one agent runs when a deployment takes longer than its request and is requested twice', async () => {
  using folder = tempFolder()
  const gate = folder.file('gate')
  await using server = await startServer({}, [process.execPath, join(PROGRAMS, 'held-agent.ts'), gate])
  const deploy = () =>
    fetch(`${server.urls.backend}/api/deployments`, json('POST', { agentId: 'ada-1' }, bearer(SERVICE_KEY)))
  // The deployment takes longer than the requests wait, so both responses report it as pending.
  const answers = await Promise.all([deploy(), deploy()])
  for (const answer of answers) {
    expect(answer.status).toBe(201)
    expect(await answer.json()).toMatchObject({ agentId: 'ada-1', status: 'provisioning' })
  }
  await Bun.write(gate, '')
  await until('the end of the deployment', async () => (await (await deploy()).text()).includes('"status":"active"'))
  expect(await describeDifference(server.dataDir, [{ id: 'ada-1', status: 'running', port: 0 }])).toBe('')
}, 300_000)

async function ask(program: Program, person: Person, kind: Kind, agentId: string): Promise<unknown> {
  if (kind === 'deploy') return requestAgent(program, person)
  const action = kind === 'failing update' ? 'update' : kind
  if (kind === 'restore-snapshot') {
    const [newest] = (await read(SnapshotList, person.get(`/api/agents/${agentId}/snapshots`))).snapshots
    return (await person.post(`/api/agents/${agentId}/snapshots/${newest?.id}/restore`, {})).text()
  }
  return (await person.post(`/api/agents/${agentId}/${action}`, {})).text()
}

/**
 * Returns a difference between rows and processes: ghosts are rows without a process, orphans are processes without a
 * row.
 */
async function describeDifference(dataDir: string, rows: AgentPlace[]): Promise<string> {
  const table = createProcessTable()
  const pids = await findAgentPids(dataDir)
  const orphans = [...pids.keys()].filter((id) => !rows.some((row) => row.id === id))
  const ghosts: string[] = []
  for (const { id, status } of rows) {
    const marked = await table.listMarked(agentFolder(join(dataDir, 'agents'), id).state)
    if (status !== 'running' || marked.length !== 1) ghosts.push(`${id} is ${status} with ${marked.length} processes`)
  }
  return [...orphans, ...ghosts].join(', ')
}

/** Checks that the operation succeeded, or that a failing update was rolled back with its data. */
async function expectOutcome(kind: Kind, person: Person, agentId: string): Promise<void> {
  const [last] = await readHistory(person, agentId)
  expect(last?.kind).toBe(kind === 'failing update' ? 'update' : kind)
  // A failed agent may already have been restarted when the health check runs.
  expect(kind === 'failing update' ? ['rolled-back', 'succeeded'] : ['succeeded']).toContain(last?.result ?? '')
}

/** Deletes all other agents, so that all rounds take the same time. */
async function deleteOthers(person: Person, rows: AgentPlace[], agentId: string): Promise<void> {
  for (const { id } of rows) if (id !== agentId) await person.delete(`/api/agents/${id}`)
}
