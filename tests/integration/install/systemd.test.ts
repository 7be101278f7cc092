import { expect, test } from 'bun:test'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findExecutable } from '../../harness/engines/platform-image.ts'
import { openUserManager } from '../../harness/engines/user-manager.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const SCRIPT = join(import.meta.dir, '../..', '..', 'scripts/install.sh')
const executable = findExecutable()
const manager = executable === null ? null : await openUserManager()
if (!manager) console.warn('The unit is not run here: that takes root, systemd and the executable (bun run build).')

test.skipIf(!manager)(
  'install.sh --user under systemd: the service becomes ready, restarts when killed, is upgraded, rolled back and removed',
  async () => {
    if (!manager || !executable) return
    await using it = manager
    const { home, outside, run } = it
    const [web = 0, backend = 0, summarizer = 0] = await findFreePorts(3)
    const dataDir = join(outside, 'home/.local/share/stead')
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const ports = `WEB_PORT=${web}\nBACKEND_PORT=${backend}\nSUMMARIZER_PORT=${summarizer}\nAI_ECHO=true\n`
    writeFileSync(join(dataDir, 'stead.env'), ports, { mode: 0o600 })
    copyFileSync(executable, join(outside, 'stead'))
    copyFileSync(SCRIPT, join(outside, 'install.sh'))
    const install = (file: string) => run('sh', '/srv/install.sh', '--file', `/srv/${file}`, '--user')
    const isWell = async () => (await fetch(`http://127.0.0.1:${web}/api/health`).catch(() => null))?.ok === true
    const show = (name: string) => run('systemctl', '--user', 'show', '--value', '-p', name, 'stead').stdout.trim()
    const target = join(outside, 'home/.local/bin/stead')

    const installed = install('stead')
    expect(installed).toMatchObject({ exitCode: 0, stderr: '' })
    expect(installed.stdout).toContain(`Make the first account at http://localhost:${web}/setup?token=`)
    expect([await isWell(), show('ActiveState'), show('Type')]).toEqual([true, 'active', 'notify'])
    expect(run(`${home}/.local/bin/stead`, 'service', 'status', '--user').exitCode).toBe(0)

    const pid = show('MainPID')
    process.kill(Number(pid), 'SIGKILL')
    await until('it runs again', async () => show('ActiveState') === 'active' && show('MainPID') !== pid && isWell())

    writeVersion(join(outside, 'next'), '9.0.0', 'exec /srv/stead "$@"')
    expect(install('next')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Upgraded.') })
    expect([readFileSync(target, 'utf8').slice(0, 9), await isWell()]).toEqual(['#!/bin/sh', true])

    expect(run(`${home}/.local/bin/stead`, 'service', 'uninstall', '--user').exitCode).toBe(0)
    expect([show('ActiveState'), await isWell()]).toEqual(['inactive', false])
  },
  PATIENCE_MS,
)

/** Writes a program with this version whose `serve` runs the given script. */
function writeVersion(file: string, version: string, serve: string): void {
  writeFileSync(file, `#!/bin/sh\nif [ "$1" = version ]; then echo '{"stead":"${version}"}'; exit 0; fi\n${serve}\n`)
  chmodSync(file, 0o755)
}
