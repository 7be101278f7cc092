import { expect, test } from 'bun:test'
import { type Sandbox, toSandboxCommand } from './arguments.ts'

const SANDBOX: Sandbox = {
  bubblewrap: '/usr/bin/bwrap',
  mounts: [
    { kind: 'read-write', path: '/srv/data/agents/ada/state' },
    { kind: 'read-only', path: '/srv' },
    { kind: 'empty', path: '/srv/data', sizeBytes: 4096, isWritable: false },
    { kind: 'read-only', path: '/etc/passwd', source: '/srv/data/agents/ada/passwd' },
  ],
  network: 'host',
  uid: null,
  filterFd: null,
  folder: '/srv/data/agents/ada/state',
  command: ['stead', 'agent'],
}

test('toSandboxCommand mounts outer folders first, and makes the root read-only at the end', () => {
  const line = toSandboxCommand(SANDBOX).join(' ')
  expect(line).toContain(
    [
      '--ro-bind-try /srv /srv',
      '--perms 0755 --size 4096 --tmpfs /srv/data',
      '--perms 0755 --dir /etc --ro-bind-try /srv/data/agents/ada/passwd /etc/passwd',
      '--perms 0755 --dir /srv/data/agents --perms 0755 --dir /srv/data/agents/ada',
      '--bind-try /srv/data/agents/ada/state /srv/data/agents/ada/state',
      '--remount-ro / --chdir /srv/data/agents/ada/state -- stead agent',
    ].join(' '),
  )
})

test('toSandboxCommand creates a user namespace unless the agent has its own user', () => {
  const shared = toSandboxCommand(SANDBOX).join(' ')
  expect(shared).toContain('--unshare-user --disable-userns --cap-drop ALL')
  const own = toSandboxCommand({ ...SANDBOX, uid: 1_900_019_000 }).join(' ')
  expect(own).not.toContain('--unshare-user')
  expect(own).toContain('--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID')
  expect(own).toContain('setpriv --reuid 1900019000 --regid 1900019000 --clear-groups --no-new-privs -- /bin/sh -c')
})

test('toSandboxCommand creates a network namespace when the network is none, and passes the filter', () => {
  expect(toSandboxCommand(SANDBOX)).not.toContain('--unshare-net')
  const closed = toSandboxCommand({ ...SANDBOX, network: 'none', filterFd: 3 })
  expect(closed).toContain('--unshare-net')
  expect(closed.slice(closed.indexOf('--seccomp'), closed.indexOf('--seccomp') + 2)).toEqual(['--seccomp', '3'])
})
