import { z } from 'zod'

/**
 * The body of an action, which happens at once and may not be undone: a field that nobody knows is refused, because it was
 * meant to do something. Settings strip such fields instead (decisions, 11).
 */
export function action<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code, keys }) => (code === 'unrecognized_keys' ? `Unknown field: ${keys?.join(', ')}` : undefined),
  })
}

/** Of an action that takes nothing. */
export const NoBody = action({})
