import type { Tx } from '../../../db/open.ts'

/**
 * Takes an account away from whoever made it, in the closure that gives it to the one who proved its address. It reaches into
 * every room that keeps something for somebody, so it is handed in.
 */
export type TakeOver = (tx: Tx, userId: string) => void
