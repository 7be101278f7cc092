import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { signUp } from '../../harness/client.ts'
import { openInstallation } from '../../harness/server.ts'
import { openPostgres, POSTGRES_PROGRAMS } from '../../harness/services/postgres.ts'
import { openNode, startNodes } from '../../integration/cluster/nodes.ts'

const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const ROOT = 'root@example.com'

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser() || POSTGRES_PROGRAMS === null)(
  'the cluster page: shows the nodes, and marks a lost one',
  async () => {
    await using postgres = await openPostgres()
    const logUrl = await postgres.createDatabase()
    const local = { TRUSTED_PROXIES: '' }
    await using one = await openNode(logUrl, 'one', local)
    await using two = await openNode(logUrl, 'two', local)
    const [, second] = await startNodes([one, two])
    await signUp(one.web, ROOT)
    await using browser = await openBrowser(one.web)
    const { page, complaints } = browser
    await signInBrowser(page, one.web, ROOT)
    await page.goto(`${one.web}/admin/cluster`)
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) })
    await row('one').getByText('Leader').waitFor()
    await row('two').getByText('Follower').waitFor()
    await page.getByText('Writes can be lost').waitFor()
    await second?.kill()
    await row('two').getByText('Not reachable').waitFor()
    await resizePage(page, PHONE)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the cluster page: says that there is a single node and links to the set-up',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    await signUp(web, ROOT)
    await using browser = await openBrowser(web)
    await signInBrowser(browser.page, web, ROOT)
    await browser.page.goto(`${web}/admin/cluster`)
    await browser.page.getByText('This installation runs on one node.').waitFor()
    await browser.page.getByRole('link', { name: 'Set up a cluster' }).waitFor()
  },
  LIMIT_MS,
)
