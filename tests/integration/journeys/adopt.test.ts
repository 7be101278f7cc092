import { expect, test } from 'bun:test'
import { cpSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createProcessTable } from '../../../src/adapters/runtimes/process/table.ts'
import { WebAgentDetail, WebAgentList } from '../../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { read } from '../../harness/requests.ts'
import { findAgentPids, type Installation, openInstallation, type Program } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const STANDBY_REASON = 'This is a copy of another installation: agents are left alone here'

/** Creates an installation with one agent that still runs after the service has stopped. */
async function openOriginal(installation: Installation): Promise<{ agentId: string; pid: number }> {
  const program = await installation.start()
  const agentId = await createAgent(await signUp(program.urls.web))
  await program.stop()
  return { agentId, pid: await pidOf(installation.dataDir, agentId) }
}

test(
  'a copy is read-only for agents until it takes over; then the original is on standby',
  async () => {
    await using original = await openInstallation()
    await using copy = await openInstallation()
    const { agentId, pid } = await openOriginal(original)
    cpSync(original.dataDir, copy.dataDir, { recursive: true, filter: (path) => !path.endsWith('.sock') })
    const record = readRecord(copy, agentId)
    const first = await original.start()
    const second = await copy.start()
    await says(second, 'this is a copy, and its agents are left alone')
    await says(second, `copy of the installation at ${original.dataDir}`)

    const person = await signIn(second.urls.web)
    const { agents } = await read(WebAgentList, person.get('/api/agents'))
    expect(agents.map(({ id }) => id)).toEqual([agentId])
    expect(await statusOf(person, agentId)).toBe('unknown')
    const refusals = [
      await person.post('/api/agents/provision', { name: 'Bo' }),
      await person.post(`/api/agents/${agentId}/stop`, {}),
      await person.post(`/api/agents/${agentId}/restart`, {}),
      await person.post(`/api/agents/${agentId}/reset-memory`, {}),
      await person.delete(`/api/agents/${agentId}`),
      await person.post('/api/chat', { agentId, message: 'Hello' }),
      await visit(second, agentId),
    ]
    expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 503))
    expect(await refusals[2]?.json()).toEqual({ error: STANDBY_REASON })
    const health = await fetch(`${second.urls.backend}/health`)
    expect(await health.json()).toMatchObject({ provisioning: 'disabled' })
    expect(readRecord(copy, agentId)).toBe(record)
    expect(await pidOf(original.dataDir, agentId)).toBe(pid)
    expect(await statusOf(await signIn(first.urls.web), agentId)).toBe('running')

    const refused = await copy.run(['adopt'])
    expect(refused).toMatchObject({ exitCode: 75, stdout: '' })
    expect(refused.stderr).toStartWith(
      `stead: adopt: the installation at ${original.dataDir} has the agents: stop it first`,
    )
    expect(await isAlive(pid)).toBe(true)
    await first.stop()
    const adopted = await copy.run(['adopt', '--json'])
    expect(adopted.exitCode).toBe(0)
    expect(JSON.parse(adopted.stdout)).toEqual({ original: { path: original.dataDir, isTold: true } })
    // The original's agent answers on the same port until then.
    const own = await until(
      'the copy has taken over',
      async () => {
        const now = await pidOf(copy.dataDir, agentId)
        return now !== 0 && now !== pid && (await visit(second, agentId)).status === 200 ? now : null
      },
      300_000,
    )
    expect(await isAlive(pid)).toBe(false)
    await untilRunning(person, agentId)
    expect((await copy.run(['adopt'])).stdout).toBe('The agents are this installation’s own.\n')

    const third = await original.start()
    await says(third, `the installation at ${copy.dataDir} took the agents over`)
    expect(await statusOf(await signIn(third.urls.web), agentId)).toBe('unknown')
    const doctor = await original.run(['doctor'])
    expect(doctor.stdout).toContain(`! installation: the installation at ${copy.dataDir} took the agents over`)
    expect((await original.run(['adopt'])).exitCode).toBe(75)
    expect(await pidOf(copy.dataDir, agentId)).toBe(own)
    expect(await isAlive(own)).toBe(true)
    await second.stop()
    await third.stop()
  },
  PATIENCE_MS,
)

test(
  'a renamed, symlinked or relative data folder keeps its agents',
  async () => {
    await using installation = await openInstallation()
    const { agentId, pid } = await openOriginal(installation)
    const renamed = join(dirname(installation.dataDir), 'renamed')
    renameSync(installation.dataDir, renamed)
    const program = await installation.start({ DATA_DIR: renamed })
    const person = await signIn(program.urls.web)
    const moved = await until('the agent runs in the renamed folder', async () => {
      const now = await pidOf(renamed, agentId)
      return now !== pid && (await visit(program, agentId)).status === 200 ? now : null
    })
    expect(await isAlive(pid)).toBe(false)
    await untilRunning(person, agentId)
    await program.stop()

    const link = join(dirname(installation.dataDir), 'link')
    symlinkSync(renamed, link)
    for (const dataDir of [link, '../renamed']) {
      const again = await installation.start({ DATA_DIR: dataDir })
      await untilRunning(await signIn(again.urls.web), agentId)
      await again.stop()
      expect(await pidOf(renamed, agentId)).toBe(moved)
    }
    renameSync(renamed, installation.dataDir)
  },
  PATIENCE_MS,
)

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

/** Waits for `text`, because output may arrive after the program listens. */
async function says({ lines }: Program, text: string): Promise<void> {
  await until(text, () => lines.join('\n').includes(text), 300_000)
}

/** Waits until the agent runs; its status is `error` during the restart. */
async function untilRunning(person: Person, id: string): Promise<void> {
  await until('its owner sees that it runs', async () => (await statusOf(person, id)) === 'running', 300_000)
}

/** Requests the agent's own host name, as a redirected browser does. */
function visit({ urls }: Program, agentId: string): Promise<Response> {
  return fetch(`${urls.web}/healthz`, { headers: { host: `${agentId}.agents.localhost` } })
}

async function pidOf(dataDir: string, agentId: string): Promise<number> {
  return (await findAgentPids(dataDir)).get(agentId) ?? 0
}

function readRecord({ dataDir }: Installation, agentId: string): string {
  return readFileSync(join(dataDir, 'agents', agentId, 'runtime.json'), 'utf8')
}

async function isAlive(pid: number): Promise<boolean> {
  return (await createProcessTable().find([pid])).length > 0
}
