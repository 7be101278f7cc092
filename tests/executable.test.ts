import { beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import manifest from '../package.json' with { type: 'json' }
import { startProvider } from './harness/doubles/provider.ts'
import { openStandalone } from './harness/executables/alone.ts'
import { json } from './harness/requests.ts'
import { until } from './harness/until.ts'
import { answerLikeAModel, doMainJob, withProvider } from './integration/journeys/main-job.ts'
import { PLAIN_PAGE } from './integration/parsers/hostile-pages.ts'

const root = join(import.meta.dir, '..')
const built = join(root, 'dist/stead')

beforeAll(async () => {
  if (!isOlderThanItsSource(built)) return
  const build = Bun.spawn([process.execPath, join(root, 'scripts/build.ts')], { stdout: 'ignore' })
  expect(await build.exited).toBe(0)
}, 300_000)

test('the executable: performs the main job from an empty folder when the checkout is not accessible', async () => {
  await using provider = await startProvider(answerLikeAModel)
  await using alone = await openStandalone(built, { environment: withProvider(provider) })
  await doMainJob(alone, provider)
}, 300_000)

test('the executable: contains the dashboard and the documents', async () => {
  await using alone = await openStandalone(built)
  const program = await alone.start()
  const page = await fetch(`${program.urls.web}/agents`)
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '')
  expect(assets.length).toBeGreaterThan(1)
  for (const path of assets) {
    const asset = await fetch(`${program.urls.web}${path}`)
    expect(asset.status).toBe(200)
    expect(asset.headers.get('cache-control')).toContain('immutable')
    expect(await asset.arrayBuffer()).toEqual(await Bun.file(join(root, 'web/dist', path)).arrayBuffer())
  }
  expect(await (await fetch(`${program.urls.web}/docs/configuration`)).text()).toContain('>Configuration</h1>')
  expect((await program.stop()).exitCode).toBe(0)
}, 300_000)

test('the executable: takes at most 143 MiB and reads pages without the checkout', async () => {
  expect(statSync(built).size).toBeLessThanOrEqual(143 * 1024 * 1024)
  await using alone = await openStandalone(built, { environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } })
  const program = await alone.start()
  using site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(PLAIN_PAGE, { headers: { 'content-type': 'text/html' } }),
  })
  const response = await fetch(
    `${program.urls.summarizer}/api/summarize`,
    json('POST', { url: site.url.href, format: 'markdown' }),
  )
  expect(JSON.stringify(await response.json())).toContain('Some words of an article')
  await program.stop()
}, 300_000)

test('the executable: opens no file of the checkout', async () => {
  await using alone = await openStandalone(built)
  const program = await alone.start()
  expect(readFileSync(`/proc/${program.pid}/maps`, 'utf8')).not.toContain(`${root}/`)
  await program.stop()
}, 300_000)

test('the executable: empties the log of the database besides its commits', async () => {
  await using alone = await openStandalone(built)
  const program = await alone.start()
  const file = join(alone.dataDir, 'stead.db')
  const before = statSync(file).size
  const sqlite = new Database(file)
  sqlite.pragma('wal_autocheckpoint = 0')
  sqlite.exec('CREATE TABLE filling (bytes BLOB) STRICT; INSERT INTO filling VALUES (zeroblob(8000000))')
  await until('the copy', () => statSync(file).size > before + 7_000_000)
  sqlite.close()
  const { stderr, stdout } = await program.stop()
  expect(stdout + stderr).not.toContain('emptied by commits')
}, 300_000)

test('the executable: exits with 78 and one line with the variable when a setting is invalid', async () => {
  await using alone = await openStandalone(built)
  const { exitCode, stderr } = await alone.run(['serve'], { environment: { WEB_PORT: 'eighty' } })
  expect(exitCode).toBe(78)
  expect(stderr).toMatch(/^stead: WEB_PORT: [^\n]+\n$/)
})

test('stead --version prints the version', async () => {
  await using alone = await openStandalone(built)
  expect(JSON.parse((await alone.run(['version', '--json'])).stdout)).toMatchObject({ stead: manifest.version })
})

function isOlderThanItsSource(file: string): boolean {
  if (!existsSync(file)) return true
  const builtAt = statSync(file).mtimeMs
  const sources = new Bun.Glob('{src,web,migrations,scripts}/**/*.{ts,tsx,css,html,md,sql,tsv}').scanSync(root)
  const isSource = (path: string) => !path.startsWith('web/dist') && !path.includes('.test.')
  return [...sources].some((path) => isSource(path) && statSync(join(root, path)).mtimeMs > builtAt)
}
