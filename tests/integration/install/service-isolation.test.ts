import { expect, test } from 'bun:test'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createAgent, PASSWORD, signIn } from '../../harness/client.ts'
import { findExecutable } from '../../harness/engines/platform-image.ts'
import { openSystemManager } from '../../harness/engines/system-manager.ts'
import { findAgentPorts, findFreePorts } from '../../harness/ports.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const executable = findExecutable()
const manager = executable === null || Bun.which('bwrap') === null ? null : await openSystemManager()
if (!manager)
  console.warn('No service of a machine is run here: that takes root, systemd, bubblewrap and the executable.')

const Answer = z.object({
  agent: z.object({
    isolation: z.object({ state: z.string(), by: z.string().nullable(), egressEnforced: z.boolean() }),
  }),
})
const DATA_DIR = '/var/lib/stead'
const UNIT = '/etc/systemd/system/stead.service'

test.skipIf(!manager)(
  'service install: agents of the service of a machine are isolated, and doctor names a unit that forbids it',
  async () => {
    if (!manager || !executable) return
    await using it = manager
    const { outside, run } = it
    const [web = 0, backend = 0, summarizer = 0] = await findFreePorts(3)
    const ports = `WEB_PORT=${web}\nBACKEND_PORT=${backend}\nSUMMARIZER_PORT=${summarizer}`
    const settings = `${ports}\nAGENTS_BASE_PORT=${await findAgentPorts()}\nAGENT_RUNTIME=process\nAI_ECHO=true\nDEPLOYMENT_MODE=home\n`
    copyFileSync(executable, join(outside, 'stead'))
    writeFileSync(join(outside, 'stead.env'), settings)
    const prepare = 'install -d -m 700 -o stead -g stead "$0" && install -m 600 -o stead /srv/stead.env "$0"'
    expect(run('sh', '-c', prepare, DATA_DIR)).toMatchObject({ exitCode: 0, stderr: '' })
    expect(run('/srv/stead', 'service', 'install')).toMatchObject({ exitCode: 0, stderr: '' })
    const url = `http://127.0.0.1:${web}`
    await until('the service', async () => (await fetch(`${url}/api/health`).catch(() => null))?.ok)
    const stead = (...args: string[]) =>
      run('env', `DATA_DIR=${DATA_DIR}`, `STEAD_SETTINGS=${DATA_DIR}/stead.env`, ...args)
    const doctor = () => stead('/srv/stead', 'doctor').stdout
    expect(doctor()).toContain('✓ agents: run as processes of this machine; isolated by bubblewrap')

    const create = `echo '${PASSWORD}' | setpriv --reuid stead --regid stead --clear-groups /srv/stead user create ada@example.com --password-stdin`
    expect(stead('sh', '-c', create)).toMatchObject({ exitCode: 0, stderr: '' })
    const owner = await signIn(url)
    const id = await createAgent(owner)
    const { agent } = Answer.parse(await (await owner.get(`/api/agents/${id}`)).json())
    expect(agent.isolation).toMatchObject({ state: 'isolated', by: 'bubblewrap', egressEnforced: true })

    const unit = run('cat', UNIT).stdout
    const older = unit.replace('NoNewPrivileges=yes', 'NoNewPrivileges=yes\nRestrictNamespaces=yes')
    writeFileSync(join(outside, 'older.service'), older)
    run('cp', '/srv/older.service', UNIT)
    expect(doctor()).toContain('Not isolated: the installed service forbids it (sudo stead service install allows it)')
  },
  PATIENCE_MS,
)
