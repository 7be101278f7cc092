import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { hasBrowser, openBrowser } from '../harness/browser.ts'
import { startTlsFront } from '../harness/doubles/tls-front.ts'

const LAUNCHER = join(import.meta.dir, '..', 'harness', 'programs', 'without-netlink.ts')
/** An unused address. */
const ADDRESS = '198.51.100.1/24'
const VISITS = 25
/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

/** Returns the output of a program that lists the network addresses of the machine. */
function readAddresses(...before: string[]) {
  const script = 'console.log(Object.keys(require("node:os").networkInterfaces()).length > 0)'
  return Bun.spawnSync([...before, process.execPath, '-e', script], { stderr: 'ignore' })
    .stdout.toString()
    .trim()
}

test('networks: a browser with networks blocked receives no traffic of the machine', () => {
  expect(readAddresses()).toBe('true')
  expect(readAddresses(process.execPath, LAUNCHER)).not.toBe('true')
})

/** Adds and removes the address of a network interface repeatedly, as an engine does with its networks. */
function changeNetworks(): AsyncDisposable {
  const name = `stb${process.pid}`
  run('ip', 'link', 'add', name, 'type', 'bridge')
  run('ip', 'link', 'set', name, 'up')
  const change = `while ip addr add ${ADDRESS} dev ${name}; do ip addr del ${ADDRESS} dev ${name}; sleep 0.01; done`
  const changing = Bun.spawn(['sh', '-c', change], { stdio: ['ignore', 'ignore', 'ignore'] })
  return {
    async [Symbol.asyncDispose]() {
      run('ip', 'link', 'del', name)
      await changing.exited
    },
  }
}

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command)
  if (!success) throw new Error(`${command.join(' ')}: ${stderr}`)
}

/** Returns whether network interfaces may be changed; in a container, even root often may not. */
function canChangeNetworks(): boolean {
  const name = `stc${process.pid}`
  if (process.getuid?.() !== 0 || Bun.which('ip') === null) return false
  const canAdd = Bun.spawnSync(['ip', 'link', 'add', name, 'type', 'bridge']).success
  if (canAdd) run('ip', 'link', 'del', name)
  return canAdd
}

test.skipIf(!canChangeNetworks() || !hasBrowser())(
  'networks: a page loads while networks of the machine come and go',
  async () => {
    using server = Bun.serve({
      port: 0,
      // A new connection for each page, because a network change aborts connections that are being opened.
      fetch: () => new Response('<p>Good morning', { headers: { 'content-type': 'text/html', connection: 'close' } }),
    })
    using front = await startTlsFront(server.url.href)
    await using browser = await openBrowser('https://page.stead.test', { tlsPort: front.port })
    await using _changes = changeNetworks()
    for (let visit = 0; visit < VISITS; visit += 1) {
      const response = await browser.page.goto(`https://page.stead.test/${visit}`)
      expect(response?.status()).toBe(200)
    }
    expect(browser.complaints.filter((complaint) => complaint.includes('NETWORK_CHANGED'))).toEqual([])
  },
  LIMIT_MS,
)
