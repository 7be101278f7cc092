import { cellClass } from '../ui/panel.tsx'
import type { Sums } from './explore.ts'
import { formatCompact, formatCost, formatCount, formatMissing } from './figures.ts'

/** Cells in the order cost, calls, tokens. */
export function UseCells({ costUsd, calls, tokens, unpricedCalls = 0 }: Sums) {
  return (
    <>
      <td className={`${cellClass('number')} font-medium`}>
        {formatCost(costUsd)}
        {unpricedCalls > 0 && costUsd !== null && (
          <span className="block text-xs font-normal text-muted">{formatMissing(unpricedCalls)}</span>
        )}
      </td>
      <td className={cellClass('number')}>{formatCount(calls)}</td>
      <td className={cellClass('number')} title={formatCount(tokens)}>
        {formatCompact(tokens)}
      </td>
    </>
  )
}
