import { Argument, type Command } from 'commander'
import { addExample } from '../example.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** Words that may follow a command: `path` is its words, such as ` agents logs`, empty for the program itself. */
type Place = { path: string; words: readonly { name: string; description: string }[] }

/** Adds `completion`: prints a completion script generated from the commands. */
export function completionCommand(program: Command): void {
  addExample(
    program.command('completion'),
    `stead completion bash > /etc/bash_completion.d/stead
stead completion zsh > "\${fpath[1]}/_stead"
stead completion fish > ~/.config/fish/completions/stead.fish`,
  )
    .description('prints a script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'whose script').choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(WRITERS[shell](listPlaces(program)))
    })
}

const WRITERS: Readonly<Record<Shell, (places: readonly Place[]) => string>> = {
  bash: writeBash,
  zsh: writeZsh,
  fish: writeFish,
}

function listPlaces(command: Command, path = ''): Place[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const words = [
    ...commands.map((one) => ({ name: one.name(), description: one.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
      argChoices.map((name) => ({ name, description: '' })),
    ),
    ...help.visibleOptions(command).map(({ long, short, description }) => ({ name: long ?? short ?? '', description })),
  ]
  return [{ path, words }, ...commands.flatMap((one) => listPlaces(one, `${path} ${one.name()}`))]
}

/** Quotes a text for bash, zsh and fish. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns the longest command path at the start of the line, skipping options and their values. */
function walk(places: readonly Place[], words: string): string {
  const known = places.flatMap(({ path }) => (path === '' ? [] : [quote(path)]))
  return `  local at= word
  for word in ${words}; do
    case "$at $word" in
      ${known.join('|')}) at="$at $word" ;;
    esac
  done`
}

function writeBash(places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) => `    ${quote(path)}) words=${quote(words.map(({ name }) => name).join(' '))} ;;`,
  )
  return `# bash completion of stead
_stead() {
${walk(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  local words=
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _stead stead
`
}

function writeZsh(places: readonly Place[]): string {
  const toWord = ({ name, description }: Place['words'][number]) =>
    quote(`${name}:${description.replaceAll('\\', '\\\\').replaceAll(':', '\\:')}`)
  const cases = places.map(({ path, words }) => `    ${quote(path)}) known=(${words.map(toWord).join(' ')}) ;;`)
  return `#compdef stead
_stead() {
${walk(places, `"\${(@)words[2,CURRENT-1]}"`)}
  local -a known
  case "$at" in
${cases.join('\n')}
  esac
  _describe stead known || _files
}
if [ "$funcstack[1]" = _stead ]; then _stead "$@"; else compdef _stead stead; fi
`
}

function writeFish(places: readonly Place[]): string {
  const known = places.flatMap(({ path }) => (path === '' ? [] : [quote(path)]))
  const lines = places.flatMap(({ path, words }) =>
    words.map(
      ({ name, description }) =>
        `complete -c stead -n ${quote(`test "$(__stead_at)" = ${JSON.stringify(path)}`)} -a ${quote(name)} -d ${quote(description)}`,
    ),
  )
  return `# fish completion of stead
function __stead_at
  set -l at ''
  for word in (commandline -opc)[2..]
    if contains -- "$at $word" ${known.join(' ')}
      set at "$at $word"
    end
  end
  echo "$at"
end
complete -c stead -f
${lines.join('\n')}
`
}
