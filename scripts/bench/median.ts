/** Returns the median, so that one disturbed round does not count. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

export type Contest = { ours: number; bare: number; ratio: number }

/**
 * Measures ours and the baseline in turns and compares within each turn, so that a machine that is busy for a while slows
 * both. The first turn warms up and does not count.
 * @returns the medians of both and of their ratios.
 */
export async function takeTurns(
  turns: number,
  measure: { ours: () => Promise<number>; bare: () => Promise<number> },
): Promise<Contest> {
  const rounds: Contest[] = []
  for (let turn = 0; turn <= turns; turn++) {
    const ours = await measure.ours()
    const bare = await measure.bare()
    if (turn > 0) rounds.push({ ours, bare, ratio: ours / bare })
  }
  return {
    ours: median(rounds.map((round) => round.ours)),
    bare: median(rounds.map((round) => round.bare)),
    ratio: median(rounds.map((round) => round.ratio)),
  }
}
