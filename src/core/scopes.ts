import { AppError } from './errors.ts'

/** What a key can be limited to. `read` looks and changes nothing; the others act, each in its own part. */
export const SCOPES = ['read', 'agents', 'models', 'payments'] as const
export type Scope = (typeof SCOPES)[number]

/** What `models` was called before: keys have it and may still be given it, and it opens the same. */
export const FORMER_MODELS = 'ai'

/**
 * A key with no scopes may do whatever its owner may. A stored scope that this version does not know limits all the same.
 * @throws AppError `forbidden` SCOPE_REQUIRED when `scopes` are given and `needed` is not among them.
 */
export function requireScope(scopes: readonly string[], needed: Scope | 'any' | null): void {
  if (scopes.length === 0 || needed === 'any' || (needed && scopes.some((scope) => toScope(scope) === needed))) return
  const reason = needed ? `the scope ${needed}` : 'a key without limits'
  throw new AppError('forbidden', `This key is not allowed to do that: it takes ${reason}`, {
    code: 'SCOPE_REQUIRED',
    scope: needed,
  })
}

/** The scope that a name stands for, under whichever of its names; null for one that this version does not know. */
export function toScope(name: string): Scope | null {
  return name === FORMER_MODELS ? 'models' : (SCOPES.find((scope) => scope === name) ?? null)
}
