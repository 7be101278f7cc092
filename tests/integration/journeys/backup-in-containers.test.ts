import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { WebAgentDetail } from '../../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { execIn, findEngine, removeAll, type TestEngine } from '../../harness/engines/engine.ts'
import { importLiveImages } from '../../harness/engines/live-image.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const engine = await findEngine()
const isSwarm = engine && (await engine.docker.info()).Swarm?.LocalNodeState === 'active'
const possible = engine ? (isSwarm ? ['docker', 'swarm'] : ['docker']) : []

const Created = z.object({
  file: z.string(),
  agents: z.array(z.object({ id: z.string(), runtime: z.string(), state: z.string() })),
})

/** Runs a shell command in the container of an agent. */
async function runIn({ docker }: TestEngine, agentId: string, line: string): Promise<void> {
  const [found] = await docker.listContainers({ filters: { label: [`stead.agent=${agentId}`] } })
  if (!found) throw new Error(`${agentId} has no container`)
  const execution = await docker.getContainer(found.Id).exec({ Cmd: ['/bin/sh', '-c', line], AttachStdout: true })
  const stream = await execution.start({})
  stream.resume()
  await new Promise((resolve) => stream.on('end', resolve))
  expect((await execution.inspect()).ExitCode).toBe(0)
}

/** Creates files of every kind: binary, private, a link, an empty folder. */
const STORE =
  'cd /data && mkdir -p mine/deep mine/empty && busybox head -c 300000 /dev/urandom > mine/bytes && echo secret > mine/deep/own && busybox chmod 600 mine/deep/own && busybox ln -s deep/own mine/link'
const LIST =
  'cd /data && busybox find mine | busybox sort | busybox xargs busybox stat -c "%n %F %a %u %g" && busybox find mine -type f | busybox sort | busybox xargs busybox sha256sum'

async function listStored({ docker }: TestEngine, agentId: string): Promise<string> {
  const [found] = await docker.listContainers({ filters: { label: [`stead.agent=${agentId}`] } })
  if (!found) throw new Error(`${agentId} has no container`)
  const { exitCode, output } = await execIn(docker, found.Id, ['/bin/sh', '-c', LIST])
  expect(exitCode).toBe(0)
  return output
}

async function hasContainer({ docker }: TestEngine, agentId: string): Promise<boolean> {
  const found = await docker.listContainers({ filters: { label: [`stead.agent=${agentId}`] } })
  return found.length > 0
}

async function isRunning(person: Person, agentId: string): Promise<boolean> {
  return (await statusOf(person, agentId)) === 'running'
}

async function statusOf(person: Person, agentId: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${agentId}`))).agent.status
}

describe.each(['docker', 'swarm'])('AGENT_RUNTIME=%s', (runtime) => {
  test.skipIf(!possible.includes(runtime))(
    'a backup of a running agent restores its data into an empty engine',
    async () => {
      if (!engine) return
      const image = (await importLiveImages(engine.docker)).good
      const environment = { AGENT_RUNTIME: runtime, AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost }
      await using original = await openInstallation({ environment })
      await using other = await openInstallation({ environment })
      const program = await original.start()
      const instance = readFileSync(join(original.dataDir, 'instance.id'), 'utf8').trim()
      try {
        const agentId = await createAgent(await signUp(program.urls.web))
        await runIn(engine, agentId, 'echo "Tea at four" > /data/memory')
        const made = await original.run(['backup', 'create', '--out', join(original.dataDir, '..', 'out'), '--json'])
        expect(made).toMatchObject({ exitCode: 0, stderr: '' })
        const { file, agents } = Created.parse(JSON.parse(made.stdout))
        expect(agents).toMatchObject([{ id: agentId, runtime, state: 'whole' }])
        await program.stop()
        await removeAll(engine.docker, instance)

        const restored = await other.run(['backup', 'restore', file, '--data-dir', other.dataDir])
        expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
        expect((await other.run(['adopt'])).exitCode).toBe(0)
        const again = await other.start()
        const person = await signIn(again.urls.web)
        await until('the agent runs again', () => isRunning(person, agentId), 300_000)
        await until('it has what it had stored', () =>
          runIn(engine, agentId, 'read said < /data/memory && [ "$said" = "Tea at four" ]').then(
            () => true,
            () => false,
          ),
        )
        await again.stop()
      } finally {
        await removeAll(engine.docker, instance)
      }
    },
    PATIENCE_MS,
  )
})

test.skipIf(!possible.includes('docker'))(
  'stead backup create and restore: a sleeping container agent is restored into an empty engine, and wakes with its data',
  async () => {
    if (!engine) return
    const image = (await importLiveImages(engine.docker)).good
    const sleepy = { AGENT_SLEEP_MINUTES: '0.2' }
    const environment = { AGENT_RUNTIME: 'docker', AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost, ...sleepy }
    await using original = await openInstallation({ environment })
    await using other = await openInstallation({ environment })
    const program = await original.start()
    const instance = readFileSync(join(original.dataDir, 'instance.id'), 'utf8').trim()
    try {
      const person = await signUp(program.urls.web)
      const agentId = await createAgent(person)
      await runIn(engine, agentId, STORE)
      const stored = await listStored(engine, agentId)
      expect(stored.split('\n').filter((line) => line.includes('mine'))).toHaveLength(8)
      await until('the agent sleeps', async () => (await statusOf(person, agentId)) === 'sleeping', 300_000)
      const made = await original.run(['backup', 'create', '--out', join(original.dataDir, '..', 'out'), '--json'])
      expect(made).toMatchObject({ exitCode: 0, stderr: '' })
      const { file, agents } = Created.parse(JSON.parse(made.stdout))
      expect(agents).toMatchObject([{ id: agentId, runtime: 'docker', state: 'whole' }])
      expect(await statusOf(person, agentId)).toBe('sleeping')
      await program.stop()
      await removeAll(engine.docker, instance)

      expect((await other.run(['backup', 'restore', file, '--data-dir', other.dataDir])).exitCode).toBe(0)
      expect((await other.run(['adopt'])).exitCode).toBe(0)
      const again = await other.start()
      const back = await signIn(again.urls.web)
      expect(await statusOf(back, agentId)).toBe('sleeping')
      await until('the agent awake with all of it', async () => {
        // On a busy machine, the agent may be asleep again already.
        expect((await back.post(`/api/agents/${agentId}/start`, {})).status).toBe(200)
        return (await hasContainer(engine, agentId)) && (await listStored(engine, agentId)) === stored
      })
      await again.stop()
    } finally {
      await removeAll(engine.docker, instance)
    }
  },
  PATIENCE_MS,
)

test.skipIf(!possible.includes('docker'))(
  'a backup contains the data of a sleeping container agent, which can be restored alone after deletion',
  async () => {
    if (!engine) return
    const image = (await importLiveImages(engine.docker)).good
    await using installation = await openInstallation({
      environment: {
        ...{ AGENT_RUNTIME: 'docker', AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost },
        AGENT_SLEEP_MINUTES: '0.2',
      },
    })
    const program = await installation.start()
    const instance = readFileSync(join(installation.dataDir, 'instance.id'), 'utf8').trim()
    try {
      const person = await signUp(program.urls.web)
      const agentId = await createAgent(person)
      await runIn(engine, agentId, 'echo "Tea at four" > /data/memory')
      await until('the agent sleeps', async () => (await statusOf(person, agentId)) === 'sleeping', 300_000)
      const made = await installation.run([
        'backup',
        'create',
        '--out',
        join(installation.dataDir, '..', 'out'),
        '--json',
      ])
      const { file, agents } = Created.parse(JSON.parse(made.stdout))
      expect(agents).toMatchObject([{ id: agentId, runtime: 'docker', state: 'whole' }])
      expect((await person.delete(`/api/agents/${agentId}`)).ok).toBe(true)

      const restored = await installation.run(['backup', 'restore', file, '--agent', agentId])
      expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
      // On a busy machine, the agent may be asleep again already.
      await until('the agent awake', async () => {
        expect((await person.post(`/api/agents/${agentId}/start`, {})).status).toBe(200)
        return hasContainer(engine, agentId)
      })
      await runIn(engine, agentId, 'read said < /data/memory && [ "$said" = "Tea at four" ]')
      await program.stop()
    } finally {
      await removeAll(engine.docker, instance)
    }
  },
  PATIENCE_MS,
)
