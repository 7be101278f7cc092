import { AppError } from '../../../core/errors.ts'
import text from './common-passwords.txt' with { type: 'text' }

let common: Set<string> | undefined

/**
 * Refuses the 10,000 passwords of at least 8 characters that are guessed first, in whatever case they are written.
 * @throws AppError `invalid`.
 */
export function requireUncommon(password: string): void {
  common ??= new Set(listCommonPasswords())
  if (common.has(password.normalize('NFKC').toLowerCase())) throw new AppError('invalid', 'Password is too common')
}

/** In lower case, the most common first. The file begins with its licence; an empty line ends that. */
export function listCommonPasswords(): string[] {
  return text
    .slice(text.indexOf('\n\n') + 2)
    .trimEnd()
    .split('\n')
}
