import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { CreatedKey } from '../src/features/accounts/keys/schemas.ts'
import { WebAgentList } from '../src/features/agents/registry/schemas.ts'
import { Run, Swarm } from '../src/features/conversations/swarms/schemas.ts'
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
/** The picture of the README: the agents page in a window of this size. */
const README = { width: 1120, height: 620 }
const PAINTED = 'new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(() => painted(null))))'
const MODEL = 'openai/gpt-4o-mini'

/** Pages with something in their address that changes what they show. */
const OTHER_STATES = [
  '/agents?search=nobody-is-called-that',
  '/models?try=openai/gpt-4o&against=openai/gpt-4o-mini',
  '/no/such/page',
]
const strangers = ['/', '/login', '/signup', '/forgot-password', '/reset-password?token=none', '/docs', '/no/such/page']
/** Takes a picture of every page in both themes, on a phone and on a desk; those named, or all. */
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
  await take('stranger', strangers)
  await signInBrowser(page, web)
  await take('new', ['/', '/agents', '/cost', '/team/swarms', '/team/map', '/team/inbox'])
  const { agentId, keyId } = await furnish(ada)
  addPast(join(installation.dataDir, 'stead.db'), new Date())
  const swarmPages = await furnishSwarm(ada, agentId)
  await take('own', [...listOwnPages(agentId), ...OTHER_STATES, `/keys/${keyId}`, ...swarmPages])
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.setViewportSize(README)
  await visit(page, `${web}/agents`)
  await page.screenshot({ path: join(folder, 'readme.png') })
}

/** Four agents as somebody would have them: one was talked to, one is off. And a key. @returns the one that was talked to, and the key. */
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

/** A swarm that has done a task. @returns its pages. */
async function furnishSwarm(ada: Person, agentId: string): Promise<string[]> {
  const { agents } = await read(WebAgentList, ada.get('/api/agents'))
  const others = agents.filter(({ id, status }) => id !== agentId && status === 'running').map(({ id }) => id)
  const members = [agentId, ...others.map((id) => ({ id, role: 'critic' }))]
  const swarm = { name: 'Harbour council', description: 'Three opinions', agents: members, summarizer: agentId }
  const { id } = await read(Swarm, ada.post('/api/swarms', swarm))
  const run = await read(Run, ada.post(`/api/swarms/${id}/run`, { task: 'When should the harbour open in winter?' }))
  const page = `/team/swarms/${id}`
  await until(
    'the swarm to be done',
    async () => (await read(Run, ada.get(`/api/swarms/${id}/runs/${run.id}`))).state !== 'running',
  )
  return [page, `${page}/runs/${run.id}`]
}

async function takeAll(page: Page, url: string, file: string): Promise<void> {
  for (const colorScheme of THEMES) {
    // A page that is there keeps a colour of the theme before at times; one that is opened has none to keep.
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
  // A page that follows events is never idle for long; what it reads at first is there by then.
  // What came may have something to load in its turn, such as a chart.
  await until('everything to be loaded', async () => {
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
