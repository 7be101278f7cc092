import { expect, test } from 'bun:test'
import { $ } from 'bun'
import { openInstallation } from '../../../tests/harness/server.ts'

/** Returns the completions of bash for the last word. */
async function complete(script: string, ...words: string[]): Promise<string[]> {
  const program = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stead; printf '%s\\n' "\${COMPREPLY[@]}"`
  return (await $`bash --norc -c ${program} bash ${words}`.text()).trim().split('\n')
}

test('stead completion bash: completes the commands, subcommands, options and choices of the program', async () => {
  await using installation = await openInstallation()
  const { stdout, exitCode } = await installation.run(['completion', 'bash'])
  expect(exitCode).toBe(0)
  expect(await complete(stdout, 'stead', 'agen')).toEqual(['agent', 'agent-image', 'agents'])
  expect(await complete(stdout, 'stead', 'agents', 'st')).toEqual(['start', 'stop'])
  expect(await complete(stdout, 'stead', 'agents', '--as', 'ada@example.com', 'logs', 'Ada', '--li')).toEqual([
    '--lines',
  ])
  expect(await complete(stdout, 'stead', 'backup', 'v')).toEqual(['verify'])
  expect(await complete(stdout, 'stead', 'completion', 'f')).toEqual(['fish'])
  // An unknown word has no completions.
  expect(await complete(stdout, 'stead', '$(touch /tmp/never)', 'agents', 'cha')).toEqual(['chat'])
})

test.each(['zsh', 'fish'])(
  'stead completion %s: prints a script, and a usage error when the shell is unknown',
  async (shell) => {
    await using installation = await openInstallation()
    const { stdout } = await installation.run(['completion', shell])
    expect(stdout).toContain("'lists the agents'".replaceAll("'", shell === 'fish' ? "'" : ''))
    expect(await installation.run(['completion', 'tcsh'])).toMatchObject({ exitCode: 2, stdout: '' })
  },
)
