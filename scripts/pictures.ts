import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { CreatedKey } from '../src/features/accounts/keys/schemas.ts'
import { WebAgentList } from '../src/features/agents/registry/schemas.ts'
import { Swarm, SwarmRun } from '../src/features/conversations/swarms/schemas.ts'
import { listOwnPages } from '../tests/e2e/pages.ts'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../tests/harness/browser.ts'
import { createAgent, type Person, signUp } from '../tests/harness/client.ts'
import { startProvider } from '../tests/harness/doubles/provider.ts'
import { json, read } from '../tests/harness/requests.ts'
import { addPast } from '../tests/harness/rows/past.ts'
import { openInstallation } from '../tests/harness/server.ts'
import { until } from '../tests/harness/until.ts'

const SIZES = [
  { width: 360, height: 740 },
  { width: 1440, height: 900 },
]
const THEMES = ['light', 'dark'] as const
/** Pictures of the documentation, each in a window of this size. */
const DOCUMENTED = { width: 1120, height: 620 }
const DOCUMENTED_PAGES = { agents: '/agents', overview: '/', cost: '/cost' } as const
const IMAGES = join(import.meta.dir, '..', 'web/docs/images')
const PAINTED = 'new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => painted(null))))'
const MODEL = 'openai/gpt-4o-mini'

/** Addresses whose query changes the page. */
const OTHER_STATES = [
  '/agents?search=nobody-is-called-that',
  '/models?try=openai/gpt-4o&against=openai/gpt-4o-mini',
  '/no/such/page',
]
/** Pages without a session. */
const publicPages = [
  '/',
  '/login',
  '/signup',
  '/forgot-password',
  '/reset-password?token=none',
  '/docs',
  '/no/such/page',
]
/** Takes pictures of every page, or of the `wanted` ones, in both themes, on a phone and on a desktop. */
async function takePictures(folder: string, wanted: readonly string[]): Promise<void> {
  await buildDashboard()
  await using provider = await startProvider({ text: 'The harbour opens at **six**. I have put it into `plan.md`.' })
  await using installation = await openInstallation({
    environment: { OPENROUTER_API_KEY: 'sk-or-the-double-takes-any', OPENROUTER_BASE_URL: provider.baseUrl },
  })
  const { web } = (await installation.start()).urls
  await using browser = await openBrowser(web)
  const { page } = browser
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const isWanted = (path: string) =>
    wanted.length === 0 || wanted.some((each) => path === each || (each !== '/' && path.startsWith(`${each}/`)))
  const take = async (name: string, paths: readonly string[]) => {
    for (const path of paths.filter(isWanted)) await takeAll(page, web + path, join(folder, toFile(name, path)))
  }
  await take('first', ['/'])
  const ada = await signUp(web)
  await take('public', publicPages)
  await signInBrowser(page, web)
  await take('new', ['/', '/agents', '/cost', '/team/swarms', '/team/map', '/team/inbox'])
  const { agentId, keyId } = await furnish(ada)
  addPast(join(installation.dataDir, 'stead.db'), new Date())
  const swarmPages = await furnishSwarm(ada, agentId)
  await take('own', [...listOwnPages(agentId), ...OTHER_STATES, `/keys/${keyId}`, ...swarmPages])
  await takeDocumented(page, web)
}

/** Creates four agents, one with a conversation and one stopped, and a key. @returns the agent with the conversation, and the key. */
async function furnish(ada: Person): Promise<{ agentId: string; keyId: string }> {
  const names = ['Harbour master', 'Bookkeeper', 'Night watch', 'Librarian']
  const ids: string[] = []
  for (const name of names) ids.push(await createAgent(ada, { name, model: MODEL }))
  const [first = '', second = '', , last = ''] = ids
  const labels = json('PUT', { labels: ['coast', 'daily'] }, ada.cookie)
  for (const id of [first, second]) await fetch(`${ada.web}/api/agents/${id}/labels`, labels)
  await ada.post('/api/chat', { agentId: first, message: 'When does the harbour open?' })
  const key = await read(CreatedKey, ada.post('/api/keys', { name: 'Deploy script' }))
  await ada.post(`/api/agents/${last}/stop`, {})
  return { agentId: first, keyId: key.id }
}

/** Creates a swarm with a finished run. @returns the addresses of its pages. */
async function furnishSwarm(ada: Person, agentId: string): Promise<string[]> {
  const { agents } = await read(WebAgentList, ada.get('/api/agents'))
  const others = agents.filter(({ id, status }) => id !== agentId && status === 'running').map(({ id }) => id)
  const members = [agentId, ...others.map((id) => ({ id, role: 'critic' }))]
  const swarm = { name: 'Harbour council', description: 'Three opinions', agents: members, summarizer: agentId }
  const { id } = await read(Swarm, ada.post('/api/swarms', swarm))
  const run = await read(
    SwarmRun,
    ada.post(`/api/swarms/${id}/run`, { task: 'When should the harbour open in winter?' }),
  )
  const page = `/team/swarms/${id}`
  await until(
    'the run of the swarm to finish',
    async () => (await read(SwarmRun, ada.get(`/api/swarms/${id}/runs/${run.id}`))).state !== 'running',
  )
  return [page, `${page}/runs/${run.id}`]
}

/** Writes the pictures that the README and the documentation show to `web/docs/images`. */
async function takeDocumented(page: Page, web: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(DOCUMENTED)
  for (const [name, path] of Object.entries(DOCUMENTED_PAGES)) {
    await visit(page, `${web}${path}`)
    await page.screenshot({ path: join(IMAGES, `${name}.png`) })
  }
}

async function takeAll(page: Page, url: string, file: string): Promise<void> {
  for (const colorScheme of THEMES) {
    // Open the page again for each theme: an open page can keep colours of the previous one.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const size of SIZES) {
      await page.setViewportSize(size)
      await visit(page, url)
      await page.screenshot({ path: `${file}.${size.width}.${colorScheme}.png` })
    }
  }
}

async function visit(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  // Live pages never become idle, and loaded data can trigger further requests, such as those of a chart.
  await until('the page to be loaded', async () => {
    if ((await page.locator('[aria-busy="true"]').count()) > 0) return false
    await page.evaluate(PAINTED)
    return (await page.locator('[aria-busy="true"]').count()) === 0
  })
}

function toFile(name: string, path: string): string {
  return `${name}${path.replace(/agent-[a-z0-9-]+|[a-z-]+-[0-9a-f]{8}|(?:swarm|run|key)_[a-zA-Z0-9_-]+/g, 'one').replaceAll(/[^a-z0-9-]+/gi, '_')}`
}

if (import.meta.main) {
  const [folder = join(tmpdir(), 'stead-pictures'), ...wanted] = process.argv.slice(2)
  mkdirSync(folder, { recursive: true })
  if (!hasBrowser()) process.exit(1)
  await takePictures(folder, wanted)
  console.log(`The pictures are in ${folder}`)
  process.exit(0)
}
