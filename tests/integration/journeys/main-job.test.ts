import { expect, test } from 'bun:test'
import { startProvider } from '../../harness/doubles/provider.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { openInstallation } from '../../harness/server.ts'
import { answerLikeAModel, doMainJob, withProvider } from './main-job.ts'

test('the main job: from an empty folder to an agent that answers, costs, and exists after a restart', async () => {
  await using provider = await startProvider(answerLikeAModel)
  await using installation = await openInstallation({ environment: withProvider(provider) })
  await doMainJob(installation, provider)
}, 300_000)

test.each(['WEB_PORT', 'BACKEND_PORT', 'SUMMARIZER_PORT'])(
  'serve: exits with 75 and one line that names %s when another program uses that port',
  async (name) => {
    using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('mine') })
    await using installation = await openInstallation({ environment: { [name]: String(other.port) } })
    const { exitCode, stdout, stderr } = await installation.run(['serve'])
    expect(stderr).toBe(`stead: ${name}: 127.0.0.1:${other.port} is taken by another program\n`)
    expect({ exitCode, stdout }).toEqual({ exitCode: 75, stdout: '' })
  },
)

test('serve: exits with 78 and one line when the data folder cannot be created', async () => {
  await using installation = await openInstallation({ environment: { DATA_DIR: '/proc/nowhere' } })
  const { exitCode, stdout, stderr } = await installation.run(['serve'])
  expect(stderr).toMatch(/^stead: DATA_DIR: \/proc\/nowhere cannot be written \([^\n]+\)\n$/)
  expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' })
})

test('serve: exits with 75 and one line when another Stead uses the folder, which continues', async () => {
  await using installation = await openInstallation()
  const program = await installation.start()
  const [web, backend, summarizer] = await findFreePorts(3)
  const environment = {
    WEB_PORT: String(web),
    BACKEND_PORT: String(backend),
    SUMMARIZER_PORT: String(summarizer),
  }
  const { exitCode, stderr } = await installation.run(['serve'], { environment })
  expect(stderr).toBe(`stead: DATA_DIR: another Stead is already running on ${installation.dataDir}\n`)
  expect(exitCode).toBe(75)
  expect((await fetch(`${program.urls.web}/api/health`)).status).toBe(200)
  expect((await program.stop()).exitCode).toBe(0)
})
