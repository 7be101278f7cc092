import { chmodSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fill } from './installation.ts'
import { git, initRepository } from './repository.ts'

const HOOKS = [
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'pre-push',
  'post-index-change',
  'reference-transaction',
  'fsmonitor-watchman',
]

/** A way to make Git run a program. `runsInGit`: the real git runs it in common commands. */
type Vector = { name: string; arrange: (at: Place) => void; runsInGit: boolean }
/** `run` is a command that creates a marker file, `script` an executable that does the same. */
type Place = { folder: string; run: string; script: string; canary: string }

const set = (folder: string, ...pairs: [key: string, value: string][]) => {
  for (const [key, value] of pairs) git(folder, ['config', '--add', key, value])
}
const remote = (folder: string, url: string) => set(folder, ['remote.origin.url', url])

export const VECTORS: readonly Vector[] = [
  { name: 'core.fsmonitor', runsInGit: true, arrange: ({ folder, run }) => set(folder, ['core.fsmonitor', run]) },
  {
    name: 'hooks',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      for (const hook of HOOKS) addScript(join(folder, '.git/hooks', hook), run)
    },
  },
  {
    name: 'core.hooksPath',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      for (const hook of HOOKS) addScript(join(folder, 'tools', hook), run)
      set(folder, ['core.hooksPath', 'tools'])
    },
  },
  {
    name: 'filter clean and smudge',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      set(folder, ['filter.x.clean', run], ['filter.x.smudge', run])
      fill(folder, { '.gitattributes': '* filter=x\n' })
    },
  },
  {
    name: 'filter process',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      set(folder, ['filter.x.process', run], ['filter.x.required', 'false'])
      fill(folder, { '.gitattributes': '* filter=x\n' })
    },
  },
  { name: 'diff.external', runsInGit: true, arrange: ({ folder, script }) => set(folder, ['diff.external', script]) },
  {
    name: 'diff textconv and command',
    runsInGit: true,
    arrange: ({ folder, script }) => {
      set(folder, ['diff.x.textconv', script], ['diff.y.command', script])
      fill(folder, { '.gitattributes': '*.txt diff=x\n*.md diff=y\n' })
    },
  },
  {
    name: 'credential.helper',
    runsInGit: true,
    arrange: ({ folder, run, canary }) => {
      set(folder, ['credential.helper', `!${run}`], ['core.askPass', run])
      remote(folder, canary)
    },
  },
  {
    name: 'ext:: remote',
    runsInGit: true,
    arrange: ({ folder, script }) => {
      set(folder, ['protocol.ext.allow', 'always'])
      remote(folder, `ext::${script}`)
    },
  },
  {
    name: 'core.sshCommand',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      set(folder, ['core.sshCommand', run], ['ssh.variant', 'simple'])
      remote(folder, 'ssh://example.invalid/x')
    },
  },
  {
    name: 'gpg.program',
    runsInGit: true,
    arrange: ({ folder, script }) =>
      set(folder, ['gpg.program', script], ['commit.gpgSign', 'true'], ['log.showSignature', 'true']),
  },
  {
    name: 'include.path',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      fill(folder, { 'more.config': `[core]\n\tfsmonitor = ${JSON.stringify(run)}\n` })
      set(folder, ['include.path', '../more.config'])
    },
  },
  {
    name: 'url insteadOf ext::',
    runsInGit: true,
    arrange: ({ folder, script, canary }) => {
      set(folder, ['protocol.ext.allow', 'always'], [`url.ext::${script} .insteadOf`, 'http://'])
      remote(folder, canary)
    },
  },
  {
    name: 'remote.vcs, receivepack, editor, pager, alias',
    runsInGit: false,
    arrange: ({ folder, run, script, canary }) => {
      remote(folder, canary)
      set(folder, ['remote.origin.receivepack', script], ['core.editor', run], ['core.pager', run])
      set(folder, ['alias.status', `!${run}`], ['core.gitProxy', script], ['sequence.editor', run])
    },
  },
  {
    name: 'file remote with hooks',
    runsInGit: true,
    arrange: ({ folder, run }) => {
      const bare = join(folder, '.git', 'bare.git')
      initRepository(bare, '--bare')
      for (const hook of ['pre-receive', 'update', 'post-receive']) addScript(join(bare, 'hooks', hook), run)
      remote(folder, bare)
    },
  },
  {
    name: 'submodule that names commands',
    runsInGit: false,
    arrange: ({ folder, run }) => {
      fill(folder, { '.gitmodules': `[submodule "x"]\n\tpath = x\n\turl = ./x\n\tupdate = !${run}\n` })
      set(folder, ['submodule.x.update', `!${run}`], ['submodule.recurse', 'true'])
      initRepository(join(folder, 'x'))
      set(join(folder, 'x'), ['core.fsmonitor', run])
    },
  },
  {
    name: 'linked ignore and attribute files',
    runsInGit: false,
    arrange: ({ folder, run }) => {
      symlinkSync('/proc/self/environ', join(folder, '.gitignore'))
      symlinkSync('/dev/zero', join(folder, '.gitattributes'))
      set(folder, ['core.excludesFile', '/dev/zero'], ['core.attributesFile', '/dev/zero'], ['core.worktree', '/'])
      set(folder, ['core.fsmonitor', run])
    },
  },
]

/** Creates a repository with a change, and a folder for marker files next to it. */
export function openPlace(folder: string) {
  const markers = tempFolder()
  const script = markers.file('mark.sh')
  addScript(script, `touch ${markers.file('marker')}-$$`)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('', { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }),
  })
  initRepository(folder)
  fill(folder, { 'a.txt': 'one\n', 'b.md': 'one\n' })
  git(folder, ['add', '-A'])
  git(folder, ['commit', '-q', '-m', 'start'])
  fill(folder, { 'a.txt': 'two\n', 'b.md': 'two\n' })
  return {
    folder,
    script,
    run: `${script};true`,
    canary: `http://127.0.0.1:${server.port}/x`,
    markers: () => readdirSync(markers.path).filter((name) => name.startsWith('marker')),
    [Symbol.dispose]: () => {
      void server.stop(true)
      markers[Symbol.dispose]()
    },
  }
}

function addScript(path: string, command: string): void {
  fill(path.slice(0, path.lastIndexOf('/')), { [path.slice(path.lastIndexOf('/') + 1)]: `#!/bin/sh\n${command}\n` })
  chmodSync(path, 0o755)
}
