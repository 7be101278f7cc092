import { beforeAll, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { Memory } from '../../../src/features/conversations/memory/schemas.ts'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the memory page: searches facts and conversations, previews an OpenClaw workspace before the import, and recovers from errors',
  async () => {
    await using provider = await startProvider({ text: 'The lighthouse was built in 1904.' })
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace', model: 'openai/gpt-4o-mini' })
    await ada.post('/api/memory', { agentId, key: 'favourite-building', memory: 'The lighthouse on the cape' })
    await ada.post('/api/chat', { agentId, message: 'When was it built?' })
    await page.goto(`${web}/agents/${agentId}/overview`)
    await search(page)
    expect(complaints).toEqual([])
    await failAndComeBack(page)
    using folder = tempFolder()
    await page.goto(`${web}/agents/${agentId}/settings`)
    await importWorkspace(page, writeWorkspace(folder.file('openclaw')))
    const { memory } = await read(Memory, ada.get(`/api/memory?agentId=${agentId}`))
    expect(memory['USER.md']).toBe('Ada, likes tea')
    expect(Object.keys(memory)).toContain('memory/2026-11-02.md')
  },
  LIMIT_MS,
)

async function search(page: Page): Promise<void> {
  const field = page.getByRole('searchbox', { name: 'Search memory and past conversations' })
  await field.fill('lighthouse')
  const found = page.getByRole('list', { name: 'Search results' })
  await found.getByText('favourite-building').waitFor()
  await found.getByText('Message from the agent').waitFor()
  expect(await found.locator('mark').allTextContents()).toEqual(['lighthouse', 'lighthouse'])
  await field.fill('lighthouse submarine')
  await page.getByText('No results contain all of these words.').waitFor()
}

async function failAndComeBack(page: Page): Promise<void> {
  await page.route('**/api/memory?*', (route) => route.abort())
  await page.getByRole('searchbox', { name: 'Search memory and past conversations' }).fill('cape')
  await page.getByText('Could not load search results').waitFor()
  await page.unroute('**/api/memory?*')
  await page.getByRole('button', { name: 'Retry' }).first().click()
  await page.getByRole('list', { name: 'Search results' }).getByText('favourite-building').waitFor()
}

/** Writes the files of an OpenClaw agent. @returns the folder to choose. */
function writeWorkspace(folder: string): string {
  mkdirSync(join(folder, 'workspace', 'memory'), { recursive: true })
  writeFileSync(join(folder, 'openclaw.json'), '{}')
  writeFileSync(join(folder, 'workspace', 'USER.md'), 'Ada, likes tea')
  writeFileSync(join(folder, 'workspace', 'memory', '2026-11-02.md'), 'We talked of tides.')
  return folder
}

async function importWorkspace(page: Page, folder: string): Promise<void> {
  const input = page.locator('input[aria-label="Choose workspace folder"]')
  await input.setInputFiles(folder)
  await page.getByText('2 files found in the workspace; 1 other file skipped.').waitFor()
  await page.getByRole('list', { name: 'Search results' }).getByText('USER.md').waitFor()
  await page.route('**/api/memory/import', (route) =>
    route.fulfill({ status: 500, body: '{"error":"The disk is full"}' }),
  )
  await page.getByRole('button', { name: 'Import 2 files' }).click()
  await page.getByText('Nothing was imported').waitFor()
  await page.getByText('The disk is full').waitFor()
  await page.unroute('**/api/memory/import')
  await page.getByRole('button', { name: 'Import 2 files' }).click()
  await page.getByText('Added facts: USER.md, memory/2026-11-02.md').waitFor()
  await input.setInputFiles(folder)
  await page.getByRole('button', { name: 'Import 2 files' }).click()
  await page.getByText('Nothing new to import').waitFor()
}
