import { AppError } from './errors.ts'

/** Scopes that restrict a key. `read` permits reading; the others permit actions in their area. */
export const SCOPES = ['read', 'agents', 'models', 'payments'] as const
export type Scope = (typeof SCOPES)[number]

/** The former name of `models`, still accepted. */
export const FORMER_MODELS = 'ai'

/**
 * Keys without scopes are unrestricted; an unknown stored scope restricts but permits nothing.
 * @throws AppError `forbidden` SCOPE_REQUIRED when `scopes` lacks `needed`.
 */
export function requireScope(scopes: readonly string[], needed: Scope | 'any' | null): void {
  if (scopes.length === 0 || needed === 'any' || (needed && scopes.some((scope) => toScope(scope) === needed))) return
  const reason = needed ? `the scope ${needed}` : 'a key without limits'
  throw new AppError('forbidden', `This key is not allowed to do that: it takes ${reason}`, {
    code: 'SCOPE_REQUIRED',
    scope: needed,
  })
}

/** Returns the scope for a current or former name, null for an unknown one. */
export function toScope(name: string): Scope | null {
  return name === FORMER_MODELS ? 'models' : (SCOPES.find((scope) => scope === name) ?? null)
}
