import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { FileContent, GitLog } from '../../../src/features/web-tools/browse/schemas.ts'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent, type Person } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PATH = 'notes/plan.md'

type World = { page: Page; ada: Person; agentId: string }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the files page: edits files, resolves a conflict, restores a deleted file, commits, and loses nothing when disconnected',
  async () => {
    await using provider = await startProvider()
    await using dashboard = await openDashboard({ environment: withProvider(provider) })
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    const world = { page, ada, agentId }
    await page.goto(`${web}/agents/${agentId}/files`)
    await page.getByText('No Git repository yet').waitFor()
    await createFile(world)
    await uploadFiles(world)
    await replaceAndUndo(world)
    await deleteAndTakeBack(world)
    await findText(world)
    await startHistory(world)
    await commit(world)
    expect(complaints).toEqual([])
    await createConflict(world)
    await loseConnection(world)
  },
  LIMIT_MS,
)

function editorOf(page: Page, path = PATH) {
  return page.getByRole('textbox', { name: `Contents of ${path}` })
}

async function contentOf({ ada, agentId }: World, path = PATH): Promise<string | null> {
  const response = await ada.get(`/api/browse/read?${new URLSearchParams({ agentId, path })}`)
  return response.ok ? (await read(FileContent, response)).content : null
}

async function createFile(world: World): Promise<void> {
  const { page } = world
  await page.getByRole('button', { name: 'New file' }).click()
  await page.getByLabel('Path').fill(PATH)
  await page.getByRole('button', { name: 'Create file' }).click()
  await editorOf(page).click()
  await page.keyboard.type('# Tea at four')
  await page.getByText('Unsaved', { exact: true }).waitFor()
  await page.keyboard.press('Control+s')
  await page.getByText('Unsaved', { exact: true }).waitFor({ state: 'detached' })
  expect(await contentOf(world)).toBe('# Tea at four')
  await page.reload()
  await editorOf(page).getByText('# Tea at four').waitFor()
}

/** Uploads files: chosen ones go to the folder of the open file, dropped ones to the top folder. */
async function uploadFiles(world: World): Promise<void> {
  const { page } = world
  const files = page.getByRole('list', { name: 'Files', exact: true })
  const chosen = { name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('by hand') }
  await page.getByLabel('Files to upload').setInputFiles(chosen)
  await files.getByRole('button', { name: 'chosen.txt' }).waitFor()
  expect(await contentOf(world, 'notes/chosen.txt')).toBe('by hand')
  const dropped = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File(['let go'], 'dropped.txt'))
    return transfer
  })()`)
  await files.dispatchEvent('drop', { dataTransfer: dropped })
  await files.getByRole('button', { name: 'dropped.txt' }).waitFor()
  expect(await contentOf(world, 'dropped.txt')).toBe('let go')
}

/** Checks that an upload with an existing name replaces the file and offers undo, even if other files are rejected. */
async function replaceAndUndo(world: World): Promise<void> {
  const { page } = world
  const both = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File([new Uint8Array(1024 * 1024 + 1)], 'large.bin'))
    transfer.items.add(new File(['another'], 'dropped.txt'))
    return transfer
  })()`)
  await page.getByRole('list', { name: 'Files', exact: true }).dispatchEvent('drop', { dataTransfer: both })
  await page.getByText('large.bin is too large. Uploads are limited to 1 MB.').waitFor()
  await page.getByText('dropped.txt replaced.').waitFor()
  expect(await contentOf(world, 'dropped.txt')).toBe('another')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('dropped.txt replaced.').waitFor({ state: 'detached' })
  expect(await contentOf(world, 'dropped.txt')).toBe('let go')
}

async function deleteAndTakeBack(world: World): Promise<void> {
  const { page } = world
  await page.getByRole('button', { name: 'dropped.txt' }).click()
  await editorOf(page, 'dropped.txt').waitFor()
  await page.getByRole('button', { name: 'Actions for dropped.txt' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('dropped.txt deleted.').waitFor()
  expect(await contentOf(world, 'dropped.txt')).toBeNull()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('dropped.txt deleted.').waitFor({ state: 'detached' })
  expect(await contentOf(world, 'dropped.txt')).toBe('let go')
}

async function findText({ page }: World): Promise<void> {
  await page.getByRole('searchbox', { name: 'Search files' }).fill('TEA AT')
  await page.getByRole('list', { name: 'Search results' }).getByText(`${PATH}:1`).click()
  await editorOf(page).getByText('# Tea at four').waitFor()
  await page.getByRole('searchbox', { name: 'Search files' }).fill('')
}

async function startHistory({ page, ada, agentId }: World): Promise<void> {
  await page.getByRole('button', { name: 'Start version history' }).click()
  await page.getByRole('heading', { name: 'main', exact: true }).waitFor()
  const { commits } = await read(GitLog, ada.get(`/api/browse/git-log?agentId=${agentId}`))
  expect(commits).toMatchObject([{ subject: 'Start version history', author: 'Ada' }])
  await ada.post(`/api/browse/write?agentId=${agentId}`, { path: PATH, content: '# Tea at four, with cake' })
}

async function commit(world: World): Promise<void> {
  const { page, ada, agentId } = world
  await page.reload()
  await page.getByRole('list', { name: 'Uncommitted changes' }).getByText(PATH).waitFor()
  await page.getByLabel('Commit message').fill('Plan the tea')
  await page.getByRole('button', { name: /^Commit 1 change$/ }).click()
  await page.getByRole('list', { name: 'Uncommitted changes' }).waitFor({ state: 'detached' })
  await page.getByText('History', { exact: true }).click()
  await page.getByRole('list', { name: 'Commits' }).getByText('Plan the tea').waitFor()
  const { commits } = await read(GitLog, ada.get(`/api/browse/git-log?agentId=${agentId}`))
  expect(commits.map(({ subject }) => subject)).toEqual(['Plan the tea', 'Start version history'])
}

/** Creates a conflict: the agent changes the open file. */
async function createConflict(world: World): Promise<void> {
  const { page, ada, agentId } = world
  await editorOf(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(', mine')
  await ada.post(`/api/browse/write?agentId=${agentId}`, { path: PATH, content: '# Tea at five' })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const notice = page.getByRole('alert').filter({ hasText: 'The file has changed on the server' })
  await notice.waitFor()
  expect(await contentOf(world)).toBe('# Tea at five')
  await notice.getByRole('button', { name: 'Compare' }).click()
  const patch = page.getByRole('group', { name: 'Unsaved changes' })
  await patch.getByText('-# Tea at five').waitFor()
  await patch.getByText('+# Tea at four, with cake, mine').waitFor()
  await notice.getByRole('button', { name: 'Overwrite' }).click()
  await notice.waitFor({ state: 'detached' })
  expect(await contentOf(world)).toBe('# Tea at four, with cake, mine')
  await page.getByRole('button', { name: 'Compare' }).click()
}

async function loseConnection(world: World): Promise<void> {
  const { page } = world
  await page.route('**/api/browse/**', (route) => route.abort())
  await editorOf(page).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type(' and kept')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  const problem = page.getByRole('alert').filter({ hasText: `Could not save ${PATH}` })
  await problem.getByText('The Stead server cannot be reached.').waitFor()
  await page.unroute('**/api/browse/**')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Unsaved', { exact: true }).waitFor({ state: 'detached' })
  expect(await problem.count()).toBe(0)
  expect(await contentOf(world)).toBe('# Tea at four, with cake, mine and kept')
  await page.route('**/api/browse/tree*', (route) => route.fulfill({ status: 500, json: { error: 'It broke' } }))
  await page.reload()
  await page.getByText('Could not load files').waitFor()
  await page.unroute('**/api/browse/tree*')
  await page.getByRole('button', { name: 'Retry' }).click()
  await until('the files', () => page.getByRole('list', { name: 'Files', exact: true }).isVisible())
}
