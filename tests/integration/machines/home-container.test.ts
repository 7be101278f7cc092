import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { createEngine } from '../../../src/adapters/runtimes/engine/engine.ts'
import { hasImage } from '../../../src/adapters/runtimes/engine/images.ts'
import { VERSION } from '../../../src/core/version.ts'
import { signUp } from '../../harness/client.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { chat, createKey, startMachine } from './machines.ts'

const DOCKER_HOST = process.env.DOCKER_HOST ?? '/var/run/docker.sock'
const IMAGE = `stead-agent:${VERSION}`
const engine = createEngine(DOCKER_HOST)
const address = Object.values(networkInterfaces())
  .flat()
  .find((found) => found?.family === 'IPv4' && !found.internal)?.address
const canRun = address !== undefined && (await engine.isAnswering()) && (await hasImage(engine, IMAGE))
if (!canRun)
  console.warn(`No container engine with ${IMAGE} here (bun run agent:image): stead home --image is not tested.`)

/** Removes everything of a machine from the engine. */
async function removeAll(instance: string): Promise<void> {
  const filters = { label: [`stead.instance=${instance}`] }
  await engine.change(async (docker) => {
    for (const { Id } of await docker.listContainers({ all: true, filters })) {
      await docker.getContainer(Id).remove({ force: true })
    }
    for (const { Name } of (await docker.listVolumes({ filters })).Volumes) await docker.getVolume(Name).remove()
    for (const { Id } of await docker.listNetworks({ filters })) await docker.getNetwork(Id).remove()
  })
}

test.skipIf(!canRun)(
  'home --image: the agent is a container that connects to the platform, and stops with the command',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true', HOST: '0.0.0.0' } })
    const { urls } = await installation.start()
    const { key } = await createKey(await signUp(urls.web))
    using folder = tempFolder()
    const dir = folder.file('home')
    const [port = 0] = await findFreePorts(1)
    const platform = `http://${address}:${new URL(urls.backend).port}`
    const args = ['home', '--platform', platform, '--image', IMAGE, '--port', String(port), '--dir', dir]
    await using home = startMachine(args, { STEAD_KEY: key, DOCKER_HOST })
    try {
      await home.next('connected', 0)
      const token = readFileSync(`${dir}/gateway.token`, 'utf8')
      const reply = await chat(`http://127.0.0.1:${port}`, token, 'Are you in a box?')
      expect(await reply.json()).toMatchObject({
        choices: [{ message: { content: '[offline echo] Are you in a box?' } }],
      })
      expect(await home.stop()).toMatchObject({
        exitCode: 0,
        events: ['listening', 'connected', 'heartbeat', 'stopped'],
      })
      await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
    } finally {
      await removeAll(readFileSync(`${dir}/instance.id`, 'utf8'))
    }
  },
  300_000,
)

test('home --image reports unsupported options before it creates a container', async () => {
  const environment = { STEAD_KEY: 'sk_1', GATEWAY_TOKEN: 'gw_1', DOCKER_HOST: '/nowhere/docker.sock' }
  using folder = tempFolder()
  const run = (platform: string, port: string) =>
    startMachine(
      ['home', '--platform', platform, '--image', IMAGE, '--port', port, '--dir', folder.path],
      environment,
    ).ended()
  expect(await run('http://127.0.0.1:3001', '18789')).toEqual({
    exitCode: 2,
    stderr: 'stead: --platform: a container cannot reach this address; give one of this machine’s network\n',
    events: [],
  })
  expect((await run('http://192.0.2.1:3001', '0')).stderr).toBe('stead: --port: a container needs a fixed one\n')
  expect(await run('http://192.0.2.1:3001', '18789')).toMatchObject({ exitCode: 1, events: ['failed', 'stopped'] })
}, 300_000)
