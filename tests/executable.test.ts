import { beforeAll, expect, test } from 'bun:test'
import { chmodSync, copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from './harness/lines.ts'
import { tempFolder } from './harness/temp-folder.ts'

const root = join(import.meta.dir, '..')
const built = join(root, 'dist/stead')

beforeAll(async () => {
  if (!isOlderThanItsSource(built)) return
  const build = Bun.spawn([process.execPath, join(root, 'scripts/build.ts')], { stdout: 'ignore' })
  expect(await build.exited).toBe(0)
}, 60_000)

test('the executable serves from an empty folder, with the checkout out of reach, and stops when it is asked to', async () => {
  using house = emptyHouse()
  const first = await house.start()

  expect(await statusOf(`${first.web}/api/health`)).toBe(200)
  expect(await statusOf(`${first.backend}/health`)).toBe(200)
  expect(await statusOf(`${first.summarizer}/health`)).toBe(200)
  await expectDashboard(first.web)
  expect((await register(first.web)).status).toBe(200)
  expect(await first.stop()).toBe(0)

  const second = await house.start()
  expect((await register(second.web)).status).toBe(409)
  expect(await second.stop()).toBe(0)
}, 30_000)

test('a bad setting ends it with 78 and one line that names the variable', async () => {
  using house = emptyHouse()
  const child = house.run(['serve'], { WEB_PORT: 'eighty' })
  expect(await child.exited).toBe(78)
  expect(await new Response(child.stderr).text()).toMatch(/^stead: WEB_PORT: [^\n]+\n$/)
})

test('it tells its version', async () => {
  using house = emptyHouse()
  const child = house.run(['version', '--json'])
  const { version } = await Bun.file(join(root, 'package.json')).json()
  expect(JSON.parse(await new Response(child.stdout).text())).toMatchObject({ stead: version })
})

/** An empty folder with nothing but the executable, run with nothing but its own settings. */
function emptyHouse() {
  const folder = tempFolder()
  const executable = folder.file('stead')
  copyFileSync(built, executable)
  chmodSync(executable, 0o755)
  const settings = {
    DATA_DIR: folder.file('data'),
    DEPLOYMENT_MODE: 'home',
    AGENT_RUNTIME: 'process',
    AI_ECHO: 'true',
    WEB_PORT: '0',
    BACKEND_PORT: '0',
    SUMMARIZER_PORT: '0',
    PATH: '/usr/bin:/bin',
    TMPDIR: folder.path,
  }
  const run = (args: string[], more: Record<string, string> = {}) =>
    Bun.spawn([...outOfReach(), executable, ...args], {
      cwd: folder.path,
      env: { ...settings, ...more },
      stdout: 'pipe',
      stderr: 'pipe',
    })
  return {
    ...folder,
    run,
    async start() {
      const child = run(['serve'])
      const urls: string[] = []
      for await (const line of readLines(child.stdout)) {
        const url = /^\s+(?:Dashboard|Backend|Summarizer)\s+(http\S+)$/.exec(line)?.[1]
        if (url && urls.push(url) === 3) break
      }
      const [web, backend, summarizer] = urls
      if (!web || !backend || !summarizer) throw new Error(await new Response(child.stderr).text())
      return {
        web,
        backend,
        summarizer,
        async stop(): Promise<number> {
          child.kill('SIGTERM')
          return child.exited
        },
      }
    },
  }
}

/** Where mounting is allowed, the program sees an empty folder in the place of the checkout. */
function outOfReach(): string[] {
  const hide = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none "$0" && exec "$@"', root]
  return Bun.spawnSync([...hide, 'true'], { stderr: 'ignore' }).exitCode === 0 ? hide : []
}

async function expectDashboard(web: string): Promise<void> {
  const page = await fetch(`${web}/agents`)
  expect(page.headers.get('content-type')).toStartWith('text/html')
  const [, script = ''] = /<script[^>]+src="(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? []
  const asset = await fetch(`${web}${script}`)
  expect(asset.status).toBe(200)
  expect(asset.headers.get('content-type')).toStartWith('text/javascript')
  expect(asset.headers.get('cache-control')).toContain('immutable')
}

function register(web: string): Promise<Response> {
  return fetch(`${web}/api/register`, {
    method: 'POST',
    body: JSON.stringify({ email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' }),
    headers: { 'content-type': 'application/json' },
  })
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status
}

function isOlderThanItsSource(file: string): boolean {
  if (!existsSync(file)) return true
  const builtAt = statSync(file).mtimeMs
  const sources = new Bun.Glob('{src,web,migrations,scripts}/**/*.{ts,tsx,css,html,sql}').scanSync(root)
  return [...sources].some((path) => !path.startsWith('web/dist') && statSync(join(root, path)).mtimeMs > builtAt)
}
