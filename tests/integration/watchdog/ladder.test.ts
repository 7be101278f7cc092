import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RevisionList } from '../../../src/features/agents/revisions/schemas.ts'
import { AgentWatchdog } from '../../../src/features/agents/watchdog/schemas.ts'
import { createAgent, type Person, signUp } from '../../harness/client.ts'
import { startReceiver } from '../../harness/doubles/receivers.ts'
import { json, read } from '../../harness/requests.ts'
import { startServer, type TestServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const FRAGILE_AGENT = [process.execPath, join(import.meta.dir, 'fragile-agent.ts')] as const
const TIMES = {
  WATCHDOG_CHECK_INTERVAL: '0.3',
  WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.2',
  WATCHDOG_KILL_WAIT: '0.1',
  WATCHDOG_RESTART_WAIT: '5',
  WATCHDOG_HEALTHY_AFTER: '2',
}

async function openHealthyAgent({ urls, dataDir }: TestServer) {
  const person = await signUp(urls.web)
  const id = await createAgent(person, { name: 'Ada' })
  const path = `/api/agents/${id}`
  const watchdog = () => read(AgentWatchdog, person.get(`${path}/watchdog`))
  const revisions = async () => (await read(RevisionList, person.get(`${path}/revisions`))).revisions
  const configure = (config: object) => fetch(`${urls.web}${path}/config`, json('PUT', config, person.cookie))
  await configure({ template: 'works' })
  await until('a healthy configuration', async () => {
    const [latest] = await revisions()
    return latest?.healthyAt !== null && latest?.changes[0]?.after === 'works'
  })
  return { person, id, path, dataDir, watchdog, revisions, configure, template: () => readTemplate(person, path) }
}

async function readTemplate(person: Person, path: string): Promise<string> {
  return JSON.parse(await (await person.get(`${path}/config`)).text()).config.template
}

/** Waits until the agent runs with the working configuration. */
async function untilRepaired({ watchdog, template }: Awaited<ReturnType<typeof openHealthyAgent>>) {
  return until(
    'the last healthy configuration',
    async () => {
      const now = await watchdog()
      const isBack = now.events.some(({ kind, rung }) => kind === 'repaired' && rung === 'configuration')
      return isBack && now.state === 'running' && (await template()) === 'works' ? now : null
    },
    300_000,
  )
}

test.each(['fails-to-start', 'crashes'])(
  'an agent gets its last healthy configuration back when its configuration %s',
  async (template) => {
    await using server = await startServer(TIMES, FRAGILE_AGENT)
    const agent = await openHealthyAgent(server)
    await agent.configure({ template })
    const { events } = await untilRepaired(agent)
    const begun = events.find(({ kind, rung }) => kind === 'repair_started' && rung === 'configuration')
    expect(begun?.detail).toBe(`template from ${template} to works`)
    const [latest, bad] = await agent.revisions()
    expect(latest).toMatchObject({ author: { kind: 'watchdog' }, changes: [{ before: template, after: 'works' }] })
    expect(bad).toMatchObject({ author: { kind: 'user' }, healthyAt: null, changes: [{ after: template }] })
    expect(await (await agent.person.get(agent.path)).json()).toMatchObject({ agent: { status: 'running' } })
  },
  300_000,
)

test('an agent is stopped with exit code, output and the last change when every repair fails, and retried later', async () => {
  await using webhook = await startReceiver()
  const settings = { ...TIMES, WATCHDOG_WEBHOOK_URL: webhook.url, WATCHDOG_RETRY_AFTER: '3' }
  await using server = await startServer(settings, FRAGILE_AGENT)
  const agent = await openHealthyAgent(server)
  const broken = join(agent.dataDir, 'agents', agent.id, 'state', 'broken')
  writeFileSync(broken, '')
  await agent.configure({ template: 'other' })
  const failed = await until(
    'the end of the ladder',
    async () => {
      const now = await agent.watchdog()
      return now.state === 'crash_loop' ? now : null
    },
    300_000,
  )
  const [end] = failed.events.filter(({ kind }) => kind === 'crash_loop')
  expect(end?.logTail).toContain('cannot read the template')
  expect(end?.detail).toStartWith('template from works to other (')
  expect(failed.events.filter(({ kind, rung }) => kind === 'repair_started' && rung === 'configuration')).toHaveLength(
    1,
  )
  expect(failed.retryAt).not.toBeNull()
  const sent = await until('the notification', () =>
    webhook
      .taken()
      .map((body) => JSON.parse(body))
      .find(({ type }) => type === 'watchdog.crash_loop'),
  )
  expect(sent.data).toMatchObject({ severity: 'critical', change: end?.detail, logTail: end?.logTail })
  await until('a retry that fails', async () => {
    const { events, state } = await agent.watchdog()
    const isAfter = events.findIndex(({ kind }) => kind === 'crash_loop') > 0
    return isAfter && state === 'crash_loop' && events[0]?.kind === 'repair_failed'
  })
  await Bun.file(broken).delete()
  await until('a retry that helps', async () => (await agent.watchdog()).state === 'running', 120_000)
  expect(await (await agent.person.get(agent.path)).json()).toMatchObject({ agent: { status: 'running' } })
}, 300_000)
