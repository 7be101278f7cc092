import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createProcessTable } from '../../../src/adapters/runtimes/process/table.ts'
import { WebAgentDetail } from '../../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../../harness/client.ts'
import { findEngine, removeAll } from '../../harness/engines/engine.ts'
import { importLiveImages } from '../../harness/engines/live-image.ts'
import { read } from '../../harness/requests.ts'
import { type Installation, openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000

const engine = await findEngine()

describe.skipIf(engine === null)('AGENT_RUNTIME=auto, while an engine starts and stops', () => {
  const folder = tempFolder()
  afterAll(() => folder[Symbol.dispose]())

  test(
    'every agent keeps its runtime, and a deletion ends it in whichever runtime it runs',
    async () => {
      if (!engine) return
      const image = (await importLiveImages(engine.docker)).good
      const without = { DOCKER_HOST: folder.file('nobody.sock') }
      await using installation = await openInstallation({ environment: { AGENT_RUNTIME: 'auto', AGENT_IMAGE: image } })
      const listContainers = async () => {
        const label = [`stead.instance=${await readInstance(installation)}`]
        const found = await engine.docker.listContainers({ all: true, filters: { label } })
        return found.map(({ Labels, State }) => `${Labels['stead.agent']} ${State}`).sort()
      }

      let program = await installation.start(without)
      let person = await signUp(program.urls.web)
      const [inProcess, second] = [await createAgent(person), await createAgent(person)]
      const pids = await installation.agentPids()
      await program.stop()

      program = await installation.start({ DOCKER_HOST: engine.dockerHost })
      try {
        person = await signIn(program.urls.web)
        const inContainer = await createAgent(person)
        expect(await listContainers()).toEqual([`${inContainer} running`])
        for (const id of [inProcess, second, inContainer]) expect(await statusOf(person, id)).toBe('running')
        expect(await installation.agentPids()).toEqual(pids)

        const deleted = await person.delete(`/api/agents/${inProcess}`)
        expect(await deleted.json()).toEqual({ id: inProcess, deleted: true })
        expect(await isAlive(pids.get(inProcess))).toBe(false)
        expect(await isAlive(pids.get(second))).toBe(true)
        await program.stop()

        program = await installation.start(without)
        person = await signIn(program.urls.web)
        await until('the process is served again', async () => (await statusOf(person, second)) === 'running')
        expect(await statusOf(person, inContainer)).toBe('unknown')
        const refused = await person.delete(`/api/agents/${inContainer}`)
        expect({ status: refused.status, body: await refused.json() }).toEqual({
          status: 500,
          body: {
            error: 'The container engine does not answer: the agent was not deleted',
            code: 'ENGINE_UNAVAILABLE',
          },
        })
        expect(await listContainers()).toEqual([`${inContainer} running`])
        await program.stop()

        program = await installation.start({ DOCKER_HOST: engine.dockerHost })
        person = await signIn(program.urls.web)
        expect(await statusOf(person, inContainer)).toBe('running')
        expect((await person.delete(`/api/agents/${inContainer}`)).status).toBe(200)
        expect(await listContainers()).toEqual([])
        expect(await installation.agentPids()).toEqual(new Map([[second, pids.get(second) ?? 0]]))
        await program.stop()
      } finally {
        await removeAll(engine.docker, await readInstance(installation))
      }
    },
    PATIENCE_MS,
  )
})

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

async function readInstance({ dataDir }: Installation): Promise<string> {
  return (await Bun.file(join(dataDir, 'instance.id')).text()).trim()
}

/** Returns whether a process runs; zombies do not count. */
async function isAlive(pid: number | undefined): Promise<boolean> {
  return (await createProcessTable().find([pid ?? 0])).length > 0
}
