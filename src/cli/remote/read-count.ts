import { UsageError } from '../exit.ts'

/** Parses a positive count. @throws UsageError naming `option`. */
export function readCount(option: string, text: string, most: number): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= most) return count
  throw new UsageError(`${option}: must be a whole number from 1 to ${most}`)
}
