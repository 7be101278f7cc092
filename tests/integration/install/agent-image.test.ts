import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { steadDriver } from '../../../src/adapters/runtimes/contract/agent-image.ts'
import { SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { findEngine, removeAll } from '../../harness/engines/engine.ts'
import { findExecutable } from '../../harness/engines/platform-image.ts'
import { openStandalone } from '../../harness/executables/alone.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { answerLikeAModel, withProvider } from '../journeys/main-job.ts'

const PATIENCE_MS = 600_000
const executable = findExecutable()
const engine = executable === null ? null : await findEngine()
if (!engine) console.warn('stead agent-image is not tested: that takes an engine and the executable (bun run build).')

test.skipIf(!engine)(
  'stead agent-image: builds the image once from the executable; its agent answers, remembers and is not root',
  async () => {
    if (!engine || !executable) return
    const image = `stead-agent:made-by-itself-${process.pid}`
    await using provider = await startProvider(answerLikeAModel)
    const settings = { AGENT_RUNTIME: 'docker', AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost }
    await using alone = await openStandalone(executable, { environment: { ...withProvider(provider), ...settings } })
    expect((await alone.run(['doctor'])).stdout).toContain(
      `the image ${image} is not there (stead agent-image makes it)`,
    )
    const made = await alone.run(['agent-image', '--json'])
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    expect(JSON.parse(made.stdout)).toEqual({ image, sizeBytes: expect.any(Number), isNew: true })
    const instances: string[] = []
    try {
      const again = await alone.run(['agent-image'])
      expect(again).toEqual({ exitCode: 0, stdout: `${image} is up to date.\n`, stderr: '' })
      const { Config, Id } = await engine.docker.getImage(image).inspect()
      expect(Config).toMatchObject({ User: steadDriver.user, Labels: { 'stead.runtime': 'stead' } })

      const program = await alone.start()
      instances.push((await Bun.file(join(alone.dataDir, 'instance.id')).text()).trim())
      const person = await signUp(program.urls.web)
      const agentId = await createAgent(person)
      const say = async (message: string) =>
        (await read(SentMessage, person.post('/api/chat', { agentId, message }))).reply
      expect(await say('Good morning')).toBe('You said: Good morning')
      expect(await say('Please keep a note')).toBe('The note says: Tea at four.')
      const [container] = await engine.docker.listContainers({ filters: { label: [`stead.agent=${agentId}`] } })
      expect(container?.ImageID).toBe(Id)
      expect((await program.stop()).exitCode).toBe(0)
    } finally {
      for (const instance of instances) await removeAll(engine.docker, instance)
      await engine.docker.getImage(image).remove({ force: true })
    }
  },
  PATIENCE_MS,
)

test('stead agent-image: exits with 1 and one line without an engine, and in a checkout', async () => {
  await using installation = await openInstallation({ environment: { DOCKER_HOST: '/nowhere/docker.sock' } })
  const { exitCode, stdout, stderr } = await installation.run(['agent-image'])
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
  expect(stderr).toMatch(/^stead: (?:agent-image: this is a checkout: .+|The container engine does not answer.*)\n$/)
})
