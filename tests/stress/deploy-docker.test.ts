import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { z } from 'zod'
import { LABELS } from '../../src/adapters/runtimes/engine/engine.ts'
import { WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../harness/client.ts'
import { findEngine } from '../harness/engines/engine.ts'
import { importLiveImages, type LiveImages } from '../harness/engines/live-image.ts'
import { type AgentPlace, openObserver, readHistory, requestAgent, tally } from '../harness/killing.ts'
import { read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { type Installation, openInstallation, type Program } from '../harness/server.ts'

/** Number of kills at each step of each operation: `CHAOS_ROUNDS=20 bun test tests/stress/deploy-docker.test.ts`. */
const ROUNDS = roundsOf('CHAOS_ROUNDS', 1)
const IS_STRESS = process.env.CHAOS_ROUNDS !== undefined
const PATIENCE_MS = 600_000
const CreatedAgent = z.object({ id: z.string() })

const found = await findEngine()

type Kind = 'deploy' | 'restart' | 'update' | 'failing update'
const KINDS: readonly Kind[] = ['deploy', 'restart', 'update', 'failing update']
const STEPS: Readonly<Record<Kind, readonly string[]>> = {
  deploy: ['pull', 'starting', 'health'],
  restart: ['stop', 'starting'],
  update: ['stop', 'snapshot', 'starting', 'health'],
  'failing update': ['health', 'restore'],
}
/** Selection for CI that covers each step and each operation once. */
const EACH_ONCE: Readonly<Record<Kind, readonly string[]>> = {
  deploy: ['pull', 'starting'],
  restart: ['stop'],
  update: ['snapshot', 'health'],
  'failing update': ['restore'],
}
const cases = KINDS.flatMap((kind) => (IS_STRESS ? STEPS : EACH_ONCE)[kind].map((step) => ({ kind, step })))

describe.skipIf(found === null)('agents in containers', () => {
  let docker: Docker
  let images: LiveImages
  let installation: Installation
  let program: Program
  let person: Person

  beforeAll(async () => {
    if (!found) return
    docker = found.docker
    images = await importLiveImages(docker)
    installation = await openInstallation({
      environment: {
        AGENT_RUNTIME: 'docker',
        DOCKER_HOST: found.dockerHost,
        AGENT_IMAGE: images.good,
      },
    })
    program = await installation.start()
    person = await signUp(program.urls.web)
  }, PATIENCE_MS)

  afterAll(async () => {
    if (!found) return
    const instance = await readInstance(installation)
    await installation[Symbol.asyncDispose]()
    await removeAll(docker, instance)
  }, PATIENCE_MS)

  test(
    'POST /api/agents/:id/update: 200 when the image is good, 500 after a rollback when it is broken or missing',
    async () => {
      const id = await createAgent(person)
      const update = (image: string) => person.post(`/api/agents/${id}/update`, { image })
      const answer = { success: true, status: 'running', image: images.better, previousImage: images.good }
      const better = await update(images.better)
      const backupPath = expect.stringContaining('backups/agents/')
      expect(await better.json()).toEqual({ ...answer, backupPath, runtimeVersion: '2.0.0' })
      const [container] = await listContainers(docker, await readInstance(installation))
      expect(container?.Labels[LABELS.image]).toBe(images.better)

      const broken = await update(images.broken)
      const [last] = await readHistory(person, id)
      expect(last).toMatchObject({ kind: 'update', result: 'rolled-back', image: images.broken })
      expect(last?.reason).toMatch(/healthy/)
      expect({ status: broken.status, body: await broken.json() }).toEqual({
        status: 500,
        body: {
          error: `${last?.reason}. The agent went back, and runs on ${images.better} again`,
          code: 'ROLLED_BACK',
          rolledBack: true,
          image: images.broken,
          previousImage: images.better,
        },
      })
      expect(last?.logTail).toContain('cannot run')
      const [after] = await listContainers(docker, await readInstance(installation))
      expect(after?.Labels[LABELS.image]).toBe(images.better)
      const port = after?.Labels[LABELS.port]
      expect(await (await fetch(`http://127.0.0.1:${port}/data/kept`)).text()).toBe('kept\n')
      expect((await fetch(`http://127.0.0.1:${port}/data/spoilt`)).status).toBe(404)

      const missing = await update('stead-test-live:nobody-has-it')
      expect({ status: missing.status, body: await missing.json() }).toEqual({
        status: 400,
        body: { error: 'Image stead-test-live:nobody-has-it was not found' },
      })
      expect((await readHistory(person, id))[0]).toMatchObject({ kind: 'update', result: 'refused' })
      const [same] = await listContainers(docker, await readInstance(installation))
      expect({ id: same?.Id, status: await statusOf(person, id) }).toEqual({ id: after?.Id ?? '', status: 'running' })
      await person.delete(`/api/agents/${id}`)
    },
    PATIENCE_MS,
  )

  test(
    'stead agents update --all: updates all agents to a good image, and rolls back the first one when the image is broken',
    async () => {
      const ids = [await createAgent(person, { name: 'First' }), await createAgent(person, { name: 'Second' })]
      const update = (image: string) =>
        installation.run(['agents', 'update', '--all', '--first', 'First', '--image', image, '--as', person.email])
      const imagesInUse = async () =>
        (await listContainers(docker, await readInstance(installation))).map(({ Labels }) => Labels[LABELS.image])
      expect(await update(images.better)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^2 updated$/m) })
      expect(await imagesInUse()).toEqual([images.better, images.better])

      const failed = await update(images.broken)
      expect(failed).toMatchObject({ exitCode: 1, stderr: '' })
      expect(failed.stdout).toMatch(/^First was not updated: .*The agent went back.*\n1 failed, 1 kept\n$/)
      expect(await imagesInUse()).toEqual([images.better, images.better])
      expect((await readHistory(person, ids[1] ?? ''))[0]).toMatchObject({ kind: 'update', result: 'succeeded' })
      for (const id of ids) await person.delete(`/api/agents/${id}`)
    },
    PATIENCE_MS,
  )

  test(
    'POST /api/agents/:id/update: 200 when the agent was never deployed; 400 when the image is missing',
    async () => {
      const { id } = await read(CreatedAgent, person.post('/api/agents', { name: 'Bo' }))
      const missing = await person.post(`/api/agents/${id}/update`, { image: 'stead-test-live:nobody-has-it' })
      expect(missing.status).toBe(400)
      expect(await statusOf(person, id)).toBe('pending')
      const answer = await person.post(`/api/agents/${id}/update`, { image: images.better })
      expect(await answer.json()).toEqual({
        success: true,
        status: 'running',
        image: images.better,
        previousImage: null,
        backupPath: null,
        runtimeVersion: '2.0.0',
      })
      const [container] = await listContainers(docker, await readInstance(installation))
      expect(container?.Labels[LABELS.image]).toBe(images.better)
      await person.delete(`/api/agents/${id}`)
    },
    PATIENCE_MS,
  )

  test(
    `no agent is lost, forgotten or duplicated when the platform is killed ${ROUNDS} times at each of ${cases.length} steps`,
    async () => {
      using observer = openObserver(installation.dataDir)
      await observer.expectIdle()
      const agentId = await requestAgent(program, person)
      await observer.expectIdle()
      const hits: string[] = []
      let slowestMs = 0
      for (let round = 0; round < ROUNDS; round++) {
        for (const { kind, step } of cases) {
          const killed = observer.killAtStep(program, step)
          const asking = ask(kind, agentId).catch(() => undefined)
          const hit = `${kind}: ${await killed}`
          await asking
          hits.push(hit)
          const startedAt = performance.now()
          program = await installation.start()
          person = await signIn(program.urls.web)
          const instance = await readInstance(installation)
          await observer.expectSettled(hit, (rows) => describeDifference(docker, instance, rows))
          slowestMs = Math.max(slowestMs, performance.now() - startedAt)
          if (kind === 'failing update') expect((await readHistory(person, agentId))[0]?.result).toBe('rolled-back')
          for (const { id } of observer.agents()) if (id !== agentId) await person.delete(`/api/agents/${id}`)
          await observer.expectIdle()
        }
      }
      console.log(`killed at: ${JSON.stringify(tally(hits))}; slowest recovery ${Math.round(slowestMs)} ms`)
    },
    ROUNDS * cases.length * 120_000,
  )

  async function ask(kind: Kind, agentId: string): Promise<unknown> {
    if (kind === 'deploy') return requestAgent(program, person)
    if (kind === 'restart') return person.post(`/api/agents/${agentId}/restart`, {})
    const image = kind === 'update' ? images.better : images.broken
    return person.post(`/api/agents/${agentId}/update`, { image })
  }
})

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}

async function readInstance({ dataDir }: Installation): Promise<string> {
  return (await Bun.file(join(dataDir, 'instance.id')).text()).trim()
}

function listContainers(docker: Docker, instance: string) {
  return docker.listContainers({ all: true, filters: { label: [`${LABELS.instance}=${instance}`] } })
}

/** Returns a difference between the rows and the containers, which must correspond one to one. */
async function describeDifference(docker: Docker, instance: string, rows: AgentPlace[]): Promise<string> {
  const containers = await listContainers(docker, instance)
  const places = containers.map(({ Labels, State }) => `${Labels[LABELS.agent]} ${State} ${Labels[LABELS.port]}`)
  const wanted = rows.map(({ id, status, port }) => `${id} ${status} ${port}`)
  const difference = [...new Set([...places, ...wanted])].filter(
    (place) => places.filter((one) => one === place).length !== 1 || !wanted.includes(place),
  )
  return difference.join(', ')
}

async function removeAll(docker: Docker, instance: string): Promise<void> {
  for (const { Id } of await listContainers(docker, instance))
    await docker.getContainer(Id).remove({ force: true, v: true })
  const filters = { label: [`${LABELS.instance}=${instance}`] }
  const { Volumes } = await docker.listVolumes({ filters: JSON.stringify(filters) })
  for (const { Name } of Volumes ?? []) await docker.getVolume(Name).remove()
  for (const { Id } of await docker.listNetworks({ filters })) await docker.getNetwork(Id).remove()
}
