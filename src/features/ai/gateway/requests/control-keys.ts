import { AppError } from '../../../../core/errors.ts'
import { listTopLevelKeys } from '../../../../core/json/json-keys.ts'

/** What decides who answers and how much it may cost. */
const CONTROL_KEYS = new Set([
  'fallbacks',
  'input',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'models',
  'n',
  'route',
  'stream',
  'stream_options',
  'taskType',
])
const FOLDED_KEYS = new Set([...CONTROL_KEYS].map(fold))

/**
 * A body that is passed on as its caller's own text is read here and again by the provider. Parsers differ in which of
 * two equal keys counts, and in whether `Model` is `model`: what limits a call must not leave them the choice.
 * @throws AppError `invalid` when a control key stands twice in `json`, or in another spelling.
 */
export function requirePlainControlKeys(json: string): void {
  const seen = new Set<string>()
  for (const key of listTopLevelKeys(json)) {
    if (CONTROL_KEYS.has(key)) {
      if (seen.has(key)) throw new AppError('invalid', `${key} stands twice in the body`)
      seen.add(key)
    } else if (FOLDED_KEYS.has(fold(key))) {
      throw new AppError('invalid', `${key} is not a field: names are written as the API writes them`)
    }
  }
}

/** Upper case first: some parsers take the long s and the Kelvin sign for the letters they look like. */
function fold(key: string): string {
  return key.toUpperCase().toLowerCase()
}
