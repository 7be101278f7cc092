import { KEY_PROBLEMS } from './content.ts'

const PREFIX = 'rnd_'
const MIN_LENGTH = 20

/** Everything that is wrong with the form of a key (Interface 4.13); whether it works only its provider knows. */
export function findKeyProblems(apiKey: unknown): { errors: string[]; help: string } | null {
  const problems = listProblems(apiKey)
  const [first] = problems
  return first ? { errors: problems.map(({ error }) => error), help: first.help } : null
}

function listProblems(apiKey: unknown) {
  if (typeof apiKey !== 'string' || apiKey === '') return [KEY_PROBLEMS.missing]
  return [
    ...(apiKey.startsWith(PREFIX) ? [] : [KEY_PROBLEMS.prefix]),
    ...(apiKey.length >= MIN_LENGTH ? [] : [KEY_PROBLEMS.length]),
  ]
}
